/* SPDX-License-Identifier: Apache-2.0 */
/* A worker takes tasks from one end of its deque, a thief steals from the other one. */
#include <array>
#include <atomic>
#include <cassert>
#include <optional>
#include <thread>

template <typename T, int Size> class Deque {
  public:
    void push(T task) {
        int bottom = bottom_.load();
        tasks_[bottom % Size] = task;
        bottom_.store(bottom + 1);
    }

    std::optional<T> pop() {
        int bottom = bottom_.load() - 1;
        bottom_.store(bottom);
        int top = top_.load();
        if (top < bottom)
            return tasks_[bottom % Size];
        bool mine = top == bottom && top_.compare_exchange_strong(top, top + 1);
        bottom_.store(bottom + 1);
        if (!mine)
            return std::nullopt;
        return tasks_[bottom % Size];
    }

    std::optional<T> steal() {
        int top = top_.load();
        if (top >= bottom_.load())
            return std::nullopt;
        T task = tasks_[top % Size];
        if (!top_.compare_exchange_strong(top, top + 1))
            return std::nullopt;
        return task;
    }

  private:
    std::atomic<int> top_{0};
    std::atomic<int> bottom_{0};
    std::array<T, Size> tasks_{};
};

static Deque<int, 8> tasks;
static std::atomic<int> runs[4];

static void run(std::optional<int> task) {
    if (task)
        runs[*task]++;
}

static void own() {
    tasks.push(1);
    tasks.push(2);
    run(tasks.pop());
    run(tasks.pop());
}

static void thief() {
    run(tasks.steal());
    run(tasks.steal());
}

int main() {
    std::thread worker(own), stealer(thief);
    worker.join();
    stealer.join();
    for (int task = 1; task <= 2; task++)
        assert(runs[task] <= 1);
    return 0;
}
