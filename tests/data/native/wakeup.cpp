// A thread that looks, and waits only later: the notice may come in between.
#include <condition_variable>
#include <mutex>
#include <thread>

static std::mutex mutex;
static std::condition_variable changed;
static int ready;

static void work() {
    if (!ready) {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock);
    }
}

int main() {
    std::thread thread(work);
    ready = 1;
    changed.notify_one();
    thread.join();
}
