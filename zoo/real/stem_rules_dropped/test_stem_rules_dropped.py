# SPDX-License-Identifier: Apache-2.0
"""Exit policies are parsed when they are first used, by whichever thread that is."""

import threading

from stem.exit_policy import ExitPolicy

RULES = ["reject 10.0.0.0/8:*", "accept *:80", "accept *:443", "reject *:*"]


def test_policy_is_read_by_two_threads():
    policy = ExitPolicy(*RULES)
    ready = threading.Barrier(2)
    answers = {}

    def ask(port):
        ready.wait(timeout=5)
        answers[port] = policy.can_exit_to("93.184.216.34", port)

    threads = [threading.Thread(target=ask, args=(port,)) for port in (80, 25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=5)

    assert answers == {80: True, 25: False}
