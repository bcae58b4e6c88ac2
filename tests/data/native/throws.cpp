// An exception that nobody catches, in a thread.
#include <stdexcept>
#include <thread>

static int shared;

struct OutOfLuck : std::runtime_error {
    using std::runtime_error::runtime_error;
};

static void work() {
    shared++;
    throw OutOfLuck("no more luck");
}

int main() {
    std::thread thread(work);
    thread.join();
}
