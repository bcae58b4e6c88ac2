/* SPDX-License-Identifier: Apache-2.0 */
/* A cache with a shared lock for readers and a limit on its size. */
#include <cstdio>
#include <functional>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

template <typename Key, typename Value> class Cache {
  public:
    explicit Cache(std::size_t limit) : limit_(limit) {}

    Value get(const Key &key, const std::function<Value(const Key &)> &load) {
        if (auto found = find(key))
            return *found;
        Value value = load(key);
        std::unique_lock lock(mutex_);
        auto again = values_.find(key);
        if (again != values_.end())
            return again->second;
        auto [place, fresh] = values_.emplace(key, value);
        if (!fresh)
            throw std::logic_error("loaded twice: " + key);
        return place->second;
    }

  private:
    std::optional<Value> find(const Key &key) const {
        std::shared_lock lock(mutex_);
        auto place = values_.find(key);
        if (place == values_.end())
            return std::nullopt;
        return place->second;
    }

    mutable std::shared_mutex mutex_;
    std::unordered_map<Key, Value> values_;
    std::size_t limit_;
};

static Cache<std::string, int> cache(16);

static int length(const std::string &key) {
    return static_cast<int>(key.size());
}

static void visit(const char *page) {
    cache.get(page, length);
}

int main() {
    std::vector<std::thread> visitors;
    for (const char *page : {"home", "home", "news"})
        visitors.emplace_back(visit, page);
    for (auto &visitor : visitors)
        visitor.join();
    std::puts("visited");
    return 0;
}
