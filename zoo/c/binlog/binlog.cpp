/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a table and a binary log of its changes; the log goes on to a new file on request. */
#include <cassert>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

class BinaryLog {
  public:
    BinaryLog() { open(); }

    void rotate() {
        std::lock_guard<std::mutex> hold(mutex);
        close();
        open();
    }

    void write(long row) {
        if (kind == CLOSED)
            return;
        std::lock_guard<std::mutex> hold(mutex);
        files.back().push_back(row);
    }

    std::size_t changes() const {
        std::size_t count = 0;
        for (const auto &file : files)
            for (long row : file)
                count += row != CONTINUED;
        return count;
    }

  private:
    enum Kind { CLOSED, BINARY };
    static constexpr long CONTINUED = -1;

    void open() {
        files.emplace_back();
        kind = BINARY;
    }

    void close() {
        kind = CLOSED;
        files.back().push_back(CONTINUED);
    }

    std::mutex mutex;
    Kind kind;
    std::vector<std::vector<long>> files;
};

class Table {
  public:
    explicit Table(BinaryLog &log) : log(log) {}

    void insert(long row) {
        {
            std::lock_guard<std::mutex> hold(mutex);
            rows.push_back(row);
        }
        log.write(row);
    }

    std::size_t size() const { return rows.size(); }

  private:
    BinaryLog &log;
    std::mutex mutex;
    std::vector<long> rows;
};

static void insertThree(Table &table, long first) {
    for (long row = first; row < first + 3; row++)
        table.insert(row);
}

int main() {
    BinaryLog log;
    Table table(log);
    std::thread one(insertThree, std::ref(table), 10);
    std::thread two(insertThree, std::ref(table), 20);
    std::thread rotation(&BinaryLog::rotate, &log);
    one.join();
    two.join();
    rotation.join();
    assert(log.changes() == table.size());
    return 0;
}
