# SPDX-License-Identifier: Apache-2.0
"""A loop that polls for some seconds does not give up because a rule keeps the other one back."""

import textwrap

from tests.integration.in_process import called

PROGRAM = """
    import socket, threading, time

    def serve(listener):
        client, _ = listener.accept()
        with client:
            while data := client.recv(1024):
                client.sendall(data)

    class Port:
        def __init__(self, port):
            self.seen = set()
            self.sock = socket.create_connection(("127.0.0.1", port), timeout=5)
            self.reader = threading.Thread(target=self.read, daemon=True)
            self.reader.start()
            for number in range(3):
                self.sock.sendall(bytes([number]))
            end = time.monotonic() + 3
            while time.monotonic() < end:
                time.sleep(0.05)
                if len(self.seen) == 3:
                    break
            else:
                raise RuntimeError("no answer")

        def read(self):
            while data := self.sock.recv(1024):
                self.seen.update(data)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,), daemon=True)
        server.start()
        port = Port(listener.getsockname()[1])
        port.sock.shutdown(socket.SHUT_RDWR)
        server.join(5)
        port.reader.join(5)
"""


def test_no_run_gives_up(tmp_path):
    (tmp_path / "poll.py").write_text(textwrap.dedent(PROGRAM))
    done = called(tmp_path, "hunt", "--no-confirm", "--max-runs", 120, "--", "python", "poll.py")
    assert done.returncode == 0, done.stdout
