/* SPDX-License-Identifier: Apache-2.0 */
/* Settings are read from a file when they are first asked for. */
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

template <typename T> class Lazy {
  public:
    template <typename Make> T &get(Make make) {
        if (!ready_) {
            std::lock_guard<std::mutex> guard(mutex_);
            if (!ready_) {
                ready_ = true;
                value_ = std::make_unique<T>(make());
            }
        }
        return *value_;
    }

  private:
    std::mutex mutex_;
    bool ready_ = false;
    std::unique_ptr<T> value_;
};

using Settings = std::map<std::string, int>;

static Lazy<Settings> settings;

static Settings load() {
    return Settings{{"port", 8080}, {"workers", 4}};
}

static void serve(const char *key) {
    int value = settings.get(load)[key];
    if (value == 0)
        std::abort();
}

int main() {
    std::vector<std::thread> servers;
    servers.emplace_back(serve, "port");
    servers.emplace_back(serve, "workers");
    for (auto &server : servers)
        server.join();
    std::puts("served");
    return 0;
}
