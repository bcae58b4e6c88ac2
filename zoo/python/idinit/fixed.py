# SPDX-License-Identifier: Apache-2.0
"""Start a node of a cluster: it gets its number from the manager and answers an operator."""

import threading


class Manager:
    """Hands out the numbers of the nodes."""

    def __init__(self, taken):
        self.lock = threading.Lock()
        self.nodes = dict(taken)

    def register(self, host):
        with self.lock:
            number = max(self.nodes) + 1
            self.nodes[number] = host
            return number


def run_node(host, manager, questions):
    """Run a node until all questions are answered; returns the answers."""
    node_id = 0
    answers = {}
    joined = threading.Event()

    def join_cluster():
        nonlocal node_id
        node_id = manager.register(host)
        joined.set()

    def answer_all():
        for question in questions:
            if question == "host":
                answers[question] = host
            elif question == "peers":
                with manager.lock:
                    answers[question] = len(manager.nodes)
            else:
                joined.wait()
                answers[question] = node_id

    member = threading.Thread(target=join_cluster, name="membership")
    console = threading.Thread(target=answer_all, name="console")
    member.start()
    console.start()
    member.join()
    console.join()
    return answers


def main():
    manager = Manager({1: "db1", 2: "db2"})
    answers = run_node("db3", manager, ["host", "peers", "id"])
    assert answers["id"] == 3, f"the node says that it is number {answers['id']}"
    print(answers)


if __name__ == "__main__":
    main()
