/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a table and a binary log of its changes; the log goes on to a new file on request. */
#include <cassert>
#include <functional>
#include <cstddef>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

class BinaryLog {
  public:
    BinaryLog() : number(0) { open(); }

    void rotate() {
        std::lock_guard<std::mutex> hold(mutex);
        close();
        open();
    }

    void write(long row) {
        std::lock_guard<std::mutex> hold(mutex);
        if (kind == CLOSED)
            return;
        changes.push_back({number, row});
    }

    std::size_t size() const { return changes.size(); }

  private:
    enum Kind { CLOSED, BINARY };
    struct Change {
        long file;
        long row;
    };

    void open() {
        number++;
        std::snprintf(name, sizeof name, "binlog.%06ld", number);
        kind = BINARY;
    }

    void close() {
        kind = CLOSED;
        name[0] = '\0';
    }

    std::mutex mutex;
    Kind kind;
    long number;
    char name[32];
    std::vector<Change> changes;
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
    assert(log.size() == table.size());
    return 0;
}
