# SPDX-License-Identifier: Apache-2.0
import threading

from mailbox import Mailbox


def test_letters_arrive_in_order():
    box = Mailbox()
    postman = threading.Thread(target=lambda: [box.put(n) for n in (1, 2)], daemon=True)
    postman.start()
    assert [box.get(), box.get()] == [1, 2]
    postman.join(timeout=5)
