/* SPDX-License-Identifier: Apache-2.0 */
/* Pages are kept in a map by their number; the first one who asks for a page loads it. */
#include <cassert>
#include <map>
#include <mutex>
#include <thread>

class Pages {
  public:
    bool has(int number) {
        std::lock_guard<std::mutex> guard(lock);
        return pages.count(number) > 0;
    }

    void load(int number) {
        std::lock_guard<std::mutex> guard(lock);
        pages[number] += 1;
    }

    int loaded(int number) {
        std::lock_guard<std::mutex> guard(lock);
        return pages.at(number);
    }

  private:
    std::mutex lock;
    std::map<int, int> pages;
};

static void ask(Pages &pages) {
    if (!pages.has(7))
        pages.load(7);
}

int main() {
    Pages pages;
    std::thread one(ask, std::ref(pages)), other(ask, std::ref(pages));
    one.join();
    other.join();
    assert(pages.loaded(7) == 1);
    return 0;
}
