/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets are counted down by several tills; none may be sold twice. */
#include <atomic>
#include <cassert>
#include <thread>
#include <vector>

class Tickets {
  public:
    explicit Tickets(int many) : left(many) {}

    bool sell() {
        int found = left.load();
        while (found > 0)
            if (left.compare_exchange_weak(found, found - 1))
                return true;
        return false;
    }

    int remaining() const { return left.load(); }

  private:
    std::atomic<int> left;
};

static void till(Tickets &tickets) {
    while (tickets.sell()) {
    }
}

int main() {
    Tickets tickets(3);
    std::vector<std::thread> tills;
    for (int i = 0; i < 2; i++)
        tills.emplace_back([&] { till(tickets); });
    for (auto &one : tills)
        one.join();
    assert(tickets.remaining() == 0);
    return 0;
}
