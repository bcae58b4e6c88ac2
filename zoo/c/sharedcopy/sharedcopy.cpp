/* SPDX-License-Identifier: Apache-2.0 */
/* A server replaces its settings while a request takes them: each has a std::shared_ptr. */
#include <memory>
#include <string>
#include <thread>

struct Settings {
    std::string name;
    int limit;
};

class Server {
  public:
    Server() : settings(std::make_shared<Settings>(Settings{"first", 10})) {}

    void reload() { settings = std::make_shared<Settings>(Settings{"second", 20}); }

    int limit() {
        Settings *seen = settings.get();
        return seen->limit;
    }

  private:
    std::shared_ptr<Settings> settings;
};

int main() {
    Server server;
    std::thread request([&] { server.limit(); });
    std::thread reloader([&] { server.reload(); });
    request.join();
    reloader.join();
    return 0;
}
