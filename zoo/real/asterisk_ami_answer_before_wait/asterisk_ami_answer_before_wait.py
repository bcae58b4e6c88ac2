# SPDX-License-Identifier: Apache-2.0
"""A call centre's script logs in to its exchange and asks whether it is there."""

import socketserver
import sys
import threading

from asterisk.ami import AMIClient, SimpleAction


class Exchange(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"Asterisk Call Manager/5.0.1\r\n")
        action = {}
        for line in self.rfile:
            name, _, value = line.decode().strip().partition(": ")
            if name:
                action[name] = value
            elif action:
                answer = f"Response: Success\r\nActionID: {action['ActionID']}\r\n\r\n"
                self.wfile.write(answer.encode())
                action = {}


def ask(client, answers):
    answers.append(client.login("ann", "secret").response.status)
    answers.append(client.send_action(SimpleAction("Ping")).response.status)


def main():
    answers = []
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Exchange) as exchange:
        exchange.daemon_threads = True
        threading.Thread(target=exchange.serve_forever, args=(0.05,), daemon=True).start()
        client = AMIClient("127.0.0.1", exchange.server_address[1], timeout=None)
        asking = threading.Thread(target=ask, args=(client, answers), daemon=True)
        asking.start()
        asking.join(timeout=5)
        exchange.shutdown()
    if asking.is_alive():
        print("no answer; answers so far:", answers)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
