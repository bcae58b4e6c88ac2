/* SPDX-License-Identifier: Apache-2.0 */
/* A page is put on view by a flag before its text is complete. */
#include <atomic>
#include <cassert>
#include <string>
#include <thread>
#include <vector>

struct Page {
    std::vector<int> lines;
    int words = 0;
};

static Page page;
static std::atomic<bool> visible{false};

static void write() {
    page.lines.push_back(1);
    visible.store(true);
    page.words = 7;
}

static void view() {
    if (!visible.load())
        return;
    int seen = page.words;
    assert(seen == 7);
}

int main() {
    std::thread writer(write), viewer(view);
    writer.join();
    viewer.join();
    return 0;
}
