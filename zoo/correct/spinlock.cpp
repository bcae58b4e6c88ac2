/* SPDX-License-Identifier: Apache-2.0 */
/* A lock of one's own by atomic_flag; what it protects looks unprotected. */
#include <atomic>
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

class Spin {
  public:
    void lock() {
        while (flag_.test_and_set(std::memory_order_acquire))
            std::this_thread::yield();
    }
    void unlock() { flag_.clear(std::memory_order_release); }

  private:
    std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

template <typename T> class Guarded {
  public:
    template <typename Change> void with(Change change) {
        std::lock_guard<Spin> guard(spin_);
        change(value_);
    }

  private:
    Spin spin_;
    T value_{};
};

static Guarded<std::vector<int>> numbers;

static void add(int number) {
    for (int i = 0; i < 3; i++)
        numbers.with([&](std::vector<int> &all) { all.push_back(number); });
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 1; i <= 2; i++)
        threads.emplace_back(add, i);
    for (auto &thread : threads)
        thread.join();
    numbers.with([](std::vector<int> &all) {
        int sum = 0;
        for (int number : all)
            sum += number;
        assert(sum == 9);
    });
    return 0;
}
