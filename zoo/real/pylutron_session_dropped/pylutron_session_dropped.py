# SPDX-License-Identifier: Apache-2.0
"""A lighting controller accepts the login and drops the session soon, as it does while it restarts."""

import asyncio
import logging
import socket
import sys
import threading

from pylutron import LutronConnection


class Session:
    """Both ends of a telnet session with the controller, which hangs up after the login."""

    def __init__(self):
        self.socket = socket.socket()

    def get_extra_info(self, name):
        return self.socket

    def write(self, data):
        pass

    async def drain(self):
        pass

    async def readuntil(self, separator):
        return separator

    async def readuntil_pattern(self, pattern):
        return b"GNET>"

    async def readline(self):
        await asyncio.sleep(0.05)
        return b""

    def close(self):
        self.socket.close()


async def open_session(host, port, **options):
    session = Session()
    return session, session


def main():
    logging.disable(logging.CRITICAL)
    connection = LutronConnection("controller", "lutron", "integration", print, open_session)
    home = threading.Thread(target=connection.connect, daemon=True)
    home.start()
    home.join(timeout=3)
    if home.is_alive():
        print("connect() waits for a session that has been there")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
