/* SPDX-License-Identifier: Apache-2.0 */
/* Packs a text block by block: a consumer takes the blocks from a queue and packs them, a writer
 * puts the packed blocks together. */
#include <cassert>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

constexpr long BLOCKS = 4;
constexpr long LENGTH = 8;

struct Block {
    long number;
    const char *text;
};

// The blocks to be packed; a block without text is the end.
class BlockQueue {
  public:
    explicit BlockQueue(const char *text) : next(0), blocks(new Block[BLOCKS + 1]) {
        for (long i = 0; i < BLOCKS; i++)
            blocks[i] = {i, text + i * LENGTH};
        blocks[BLOCKS] = {BLOCKS, nullptr};
    }

    bool take(Block &block) {
        std::lock_guard<std::mutex> hold(mutex);
        Block *first = blocks;
        block = first[next];
        if (block.text == nullptr)
            return false;
        next = next + 1;
        return true;
    }

    void clear() {
        std::lock_guard<std::mutex> hold(mutex);
        delete[] blocks;
        blocks = nullptr;
    }

  private:
    std::mutex mutex;
    long next;
    Block *blocks;
};

class Output {
  public:
    void add(long number, long code) {
        std::lock_guard<std::mutex> hold(mutex);
        packed[number] = code;
        added.notify_one();
    }

    void writeAll() {
        std::unique_lock<std::mutex> hold(mutex);
        for (written = 0; written < BLOCKS; written++)
            while (packed[written] == 0)
                added.wait(hold);
    }

    long written = 0;

  private:
    std::mutex mutex;
    std::condition_variable added;
    long packed[BLOCKS] = {};
};

static void consume(BlockQueue &queue, Output &output) {
    Block block;
    while (queue.take(block)) {
        long code = 0;
        for (long i = 0; i < LENGTH; i++)
            code = code * 31 + block.text[i];
        output.add(block.number, code);
    }
}

int main() {
    BlockQueue queue("to be or not to be, that is the question");
    Output output;
    std::thread consumer(consume, std::ref(queue), std::ref(output));
    std::thread writer(&Output::writeAll, &output);
    writer.join();
    consumer.join();
    queue.clear();
    assert(output.written == BLOCKS);
    return 0;
}
