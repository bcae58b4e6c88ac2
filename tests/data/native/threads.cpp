// What C++ has for threads: prints ok.
#include <atomic>
#include <barrier>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static std::mutex mutex;
static std::recursive_mutex again;
static std::shared_mutex shared;
static std::condition_variable changed;
static std::once_flag once, thrice;
static int ready, total, made, tries, destroyed, statics;

struct Local {
    int used = 0;
    ~Local() {
        std::lock_guard<std::mutex> guard(mutex);
        destroyed += used;
    }
};
static thread_local Local local;

struct Static {
    Static() {
        std::this_thread::yield();
        statics++;
    }
};

static void fails_twice() {
    if (++tries < 3)
        throw std::runtime_error("not yet");
}

static void work() {
    static Static made_once;
    local.used = 1;
    std::call_once(once, [] { made++; });
    for (int i = 0; i < 3; i++)
        try {
            std::call_once(thrice, fails_twice);
        } catch (const std::runtime_error &) {
        }
    {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [] { return ready; });
    }
    std::lock_guard<std::recursive_mutex> outer(again);
    std::lock_guard<std::recursive_mutex> inner(again);
    std::unique_lock<std::shared_mutex> writer(shared);
    total++;
}

static void waits_on_words() {
    std::atomic<int> word{0};
    std::latch done{2};
    std::counting_semaphore<4> items{0};
    std::barrier<> meeting{2};
    std::thread other([&] {
        word.wait(0);
        items.acquire();
        meeting.arrive_and_wait();
        done.count_down();
    });
    word = 1;
    word.notify_all();
    items.release();
    meeting.arrive_and_wait();
    done.arrive_and_wait();
    other.join();
}

static void promises() {
    auto twice = std::async(std::launch::async, [](int n) { return 2 * n; }, 21);
    std::promise<std::string> promise;
    std::thread giver([&] { promise.set_value("given"); });
    assert(promise.get_future().get() == "given");
    giver.join();
    assert(twice.get() == 42);
    std::promise<int> never;
    assert(never.get_future().wait_for(50ms) == std::future_status::timeout);
}

int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(work);
    {
        std::lock_guard<std::mutex> guard(mutex);
        ready = 1;
    }
    changed.notify_all();
    for (auto &thread : threads)
        thread.join();
    std::unique_lock<std::mutex> lock(mutex);
    assert(!changed.wait_for(lock, 30ms, [] { return false; }));
    lock.unlock();
    std::timed_mutex timed;
    assert(timed.try_lock_for(1ms));
    timed.unlock();
    {
        std::jthread stopped([](std::stop_token token) {
            while (!token.stop_requested())
                std::this_thread::sleep_for(1ms);
        });
    }
    waits_on_words();
    promises();
    std::shared_lock<std::shared_mutex> reader(shared);
    assert(total == 3 && made == 1 && tries == 3 && destroyed == 3 && statics == 1);
    std::puts("ok");
}
