# SPDX-License-Identifier: Apache-2.0
import threading
import unittest

from session import Session


class SessionTest(unittest.TestCase):
    def test_all_bytes_are_counted(self):
        session = Session()
        speakers = [threading.Thread(target=session.say, args=("hello",)) for _ in range(2)]
        for one in speakers:
            one.start()
        for one in speakers:
            one.join()
        self.assertEqual(session.connection.bytes, 10)
