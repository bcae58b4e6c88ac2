/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the visits of a page, which several threads serve; the count has to be right, for the
 * advertisers pay by it. */
#include <atomic>
#include <cassert>
#include <functional>
#include <thread>
#include <vector>

constexpr int SERVERS = 3;
constexpr int VISITS = 4;

class Page {
  public:
    void visit() {
        long seen = visits.load();
        visits.store(seen + 1);
    }

    long count() const { return visits.load(); }

  private:
    std::atomic<long> visits{0};
};

static void serve(Page &page) {
    for (int i = 0; i < VISITS; i++)
        page.visit();
}

int main() {
    Page page;
    std::vector<std::thread> servers;
    for (int i = 0; i < SERVERS; i++)
        servers.emplace_back(serve, std::ref(page));
    for (auto &server : servers)
        server.join();
    assert(page.count() == SERVERS * VISITS);
    return 0;
}
