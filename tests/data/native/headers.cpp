/* SPDX-License-Identifier: Apache-2.0 */
/* Without optimisation all that is done here is done in functions of system headers. */
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Item {
    long price = 0;
};

static std::atomic<int> count{0};
static std::mutex lock;
static std::map<int, int> pages;
static std::vector<int> numbers;
static std::shared_ptr<Item> item;

static void work(int me) {
    count++;
    {
        std::lock_guard<std::mutex> guard(lock);
        pages[me] += count.load();
        numbers.push_back(me);
    }
    std::lock_guard<std::mutex> guard(lock);
    item = std::make_shared<Item>();
}

int main() {
    std::thread one(work, 1), other(work, 2);
    one.join();
    other.join();
    return numbers.size() == 2 && pages.size() == 2 ? 0 : 1;
}
