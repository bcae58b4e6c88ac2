/* SPDX-License-Identifier: Apache-2.0 */
/* Sends messages over a connection that another thread may shut down at any time. */
#include <cassert>
#include <initializer_list>
#include <mutex>
#include <thread>

class Endpoint {
  public:
    void write(unsigned long packet) {
        packets[count] = packet;
        count = count + 1;
    }

    long sent() const { return count; }

  private:
    long count = 0;
    unsigned long packets[8] = {};
};

class Connection {
  public:
    explicit Connection(Endpoint *endpoint) : valid(true), endpoint(endpoint) {}

    bool send(const char *text) {
        std::lock_guard<std::mutex> hold(mutex);
        if (!valid)
            return false;
        unsigned long packet = checksum(text);
        endpoint->write(packet);
        return true;
    }

    void shutDown() {
        std::lock_guard<std::mutex> hold(mutex);
        valid = false;
        endpoint = nullptr;
    }

  private:
    static unsigned long checksum(const char *text) {
        unsigned long sum = 5381;
        while (*text != '\0')
            sum = sum * 33 + static_cast<unsigned char>(*text++);
        return sum;
    }

    std::mutex mutex;
    bool valid;
    Endpoint *endpoint;
};

struct Mailer {
    Connection &connection;
    long sent = 0;
    long unsent = 0;

    void run() {
        for (const char *text :
             {"hello", "are you there", "all is well", "more tomorrow", "goodbye"})
            if (connection.send(text))
                sent++;
            else
                unsent++;
    }
};

int main() {
    Endpoint endpoint;
    Connection connection(&endpoint);
    Mailer mailer{connection};
    std::thread sender(&Mailer::run, &mailer);
    std::thread breaker(&Connection::shutDown, &connection);
    sender.join();
    breaker.join();
    assert(endpoint.sent() == mailer.sent);
    return 0;
}
