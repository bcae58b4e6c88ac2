# SPDX-License-Identifier: Apache-2.0
"""One parser reads the settings that two threads have to hand."""

import sys
import threading

from lark import Lark

PARSER = Lark(
    r"""
    start: setting+
    setting: NAME "=" (NUMBER | WORDS) ";"
    NAME: /[a-z]+/
    WORDS: /"[^"]*"/
    NUMBER: /[0-9]+/
    %ignore " "
    """,
    parser="lalr",
)
TEXTS = {
    "window": 'width = 80; title = "main";',
    "server": 'host = "local"; port = 8080; tries = 3;',
}


def read(name, settings):
    try:
        tree = PARSER.parse(TEXTS[name])
        settings[name] = [
            tuple(str(token) for token in setting.children) for setting in tree.children
        ]
    except Exception as error:
        settings[name] = repr(error)


def main():
    settings = {}
    readers = [threading.Thread(target=read, args=(name, settings)) for name in TEXTS]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    wanted = {
        "window": [("width", "80"), ("title", '"main"')],
        "server": [("host", '"local"'), ("port", "8080"), ("tries", "3")],
    }
    if settings != wanted:
        print("settings:", settings)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
