/* SPDX-License-Identifier: Apache-2.0 */
/* Double-checked locking as it should be: the pointer is atomic and is set last. */
#include <atomic>
#include <cassert>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Registry {
  public:
    static Registry &instance() {
        Registry *known = instance_.load(std::memory_order_acquire);
        if (!known) {
            std::lock_guard<std::mutex> guard(mutex_);
            known = instance_.load(std::memory_order_relaxed);
            if (!known) {
                known = new Registry;
                instance_.store(known, std::memory_order_release);
            }
        }
        return *known;
    }

    const std::string &name() const { return name_; }

  private:
    Registry() { made++; }

    static std::atomic<Registry *> instance_;
    static std::mutex mutex_;
    std::string name_ = "registry";

  public:
    static int made;
};

std::atomic<Registry *> Registry::instance_{nullptr};
std::mutex Registry::mutex_;
int Registry::made;

static void use() {
    assert(Registry::instance().name() == "registry");
}

int main() {
    std::vector<std::thread> users;
    for (int i = 0; i < 3; i++)
        users.emplace_back(use);
    for (auto &user : users)
        user.join();
    assert(Registry::made == 1);
    return 0;
}
