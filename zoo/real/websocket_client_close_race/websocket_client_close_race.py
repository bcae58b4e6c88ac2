# SPDX-License-Identifier: Apache-2.0
"""Close a WebSocketApp from the main thread while run_forever() works in another."""

import base64
import hashlib
import socket
import sys
import threading

import websocket

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def polite_server(listener):
    """Accept one client, shake hands, answer its close frame with one of our own."""
    peer, _ = listener.accept()
    with peer:
        peer.settimeout(5)
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            request += peer.recv(1024)
        headers = dict(line.split(b": ", 1) for line in request.split(b"\r\n")[1:] if b": " in line)
        key = base64.b64encode(hashlib.sha1(headers[b"Sec-WebSocket-Key"] + GUID).digest())
        peer.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + key + b"\r\n\r\n"
        )
        if peer.recv(1024):
            peer.sendall(b"\x88\x02\x03\xe8")


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=polite_server, args=(listener,), daemon=True).start()
    opened = threading.Event()
    app = websocket.WebSocketApp(
        "ws://127.0.0.1:%d/" % listener.getsockname()[1], on_open=lambda app: opened.set()
    )
    runner = threading.Thread(target=app.run_forever, daemon=True)
    runner.start()
    try:
        if not opened.wait(timeout=5):
            raise RuntimeError("no connection")
        app.close()
    except AttributeError as error:
        print("close() failed:", error)
        return 1
    finally:
        listener.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
