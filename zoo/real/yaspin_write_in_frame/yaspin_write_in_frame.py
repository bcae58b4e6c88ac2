# SPDX-License-Identifier: Apache-2.0
"""Log lines written through a running spinner must come out whole."""

import io
import sys

from yaspin import yaspin
from yaspin.base_spinner import Spinner

CLEAR_LINE = "\033[K"


def broken_lines(screen, wanted):
    lines = [line.rsplit("\r", 1)[-1] for line in screen.split("\n")[:-1]]
    return [line for line in lines if line.replace(CLEAR_LINE, "") not in wanted]


def main():
    messages = ["step %d done" % n for n in range(120)]
    terminal, sys.stdout = sys.stdout, io.StringIO()
    try:
        with yaspin(Spinner("|/-", 1), text="working") as spinner:
            for message in messages:
                spinner.write(message)
        screen = sys.stdout.getvalue()
    finally:
        sys.stdout = terminal
    broken = broken_lines(screen, messages)
    if broken:
        print("mixed with a frame of the spinner: %r" % broken)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
