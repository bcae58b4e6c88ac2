/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of workers is told to stop. */
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

class Pool {
  public:
    explicit Pool(int workers) {
        for (int i = 0; i < workers; i++)
            workers_.emplace_back([this] { work(); });
    }

    ~Pool() {
        stopping_ = true;
        wake_.notify_all();
        for (auto &worker : workers_)
            worker.join();
    }

    template <typename Job> void submit(Job &&job) {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            jobs_.emplace(std::forward<Job>(job));
        }
        wake_.notify_one();
    }

  private:
    void work() {
        for (;;) {
            std::function<void()> job;
            {
                std::unique_lock<std::mutex> lock(mutex_);
                wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
                if (jobs_.empty())
                    return;
                job = std::move(jobs_.front());
                jobs_.pop();
            }
            job();
        }
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::atomic<bool> stopping_{false};
    std::queue<std::function<void()>> jobs_;
    std::vector<std::thread> workers_;
};

int main() {
    std::atomic<int> done{0};
    {
        Pool pool(2);
        pool.submit([&done] { done++; });
        pool.submit([&done] { done++; });
    }
    std::printf("%d jobs done\n", done.load());
    return 0;
}
