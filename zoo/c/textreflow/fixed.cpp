/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out the rest of a text in a frame while another thread paints the frame. */
#include <cassert>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <thread>

class TextFrame {
  public:
    explicit TextFrame(const char *text) : text(text), offset(0), length(lettersFrom(0)) {}

    void reflow(long start) {
        std::lock_guard<std::mutex> hold(mutex);
        offset = start;
        length = lettersFrom(start);
    }

    // The place behind the last letter that is painted.
    long paint() const {
        std::lock_guard<std::mutex> hold(mutex);
        long first = offset;
        long count = length;
        return first + count;
    }

    long lettersFrom(long start) const {
        long end = start;
        while (text[end] != '\0')
            end++;
        return end - start;
    }

  private:
    mutable std::mutex mutex;
    const char *text;
    long offset;
    long length;
};

class Painter {
  public:
    explicit Painter(const TextFrame &frame) : frame(frame), end(frame.lettersFrom(0)) {}

    void run() {
        for (int picture = 0; picture < 4; picture++)
            if (frame.paint() > end)
                overruns++;
    }

    long overruns = 0;

  private:
    const TextFrame &frame;
    const long end;
};

static void scroll(TextFrame &frame) {
    for (long start : {6L, 14L, 20L})
        frame.reflow(start);
}

int main() {
    TextFrame frame("a frame shows the rest of its text");
    Painter painter(frame);
    std::thread scroller(scroll, std::ref(frame));
    std::thread screen(&Painter::run, &painter);
    scroller.join();
    screen.join();
    assert(!painter.overruns);
    return 0;
}
