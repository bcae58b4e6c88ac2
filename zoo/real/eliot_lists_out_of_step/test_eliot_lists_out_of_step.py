# SPDX-License-Identifier: Apache-2.0
import threading
import unittest

from eliot import Field, MessageType
from eliot import MemoryLogger

ORDER = MessageType("shop:order", [Field.for_types("customer", [str], "Who buys.")], "An order.")
STOCK = MessageType("shop:stock", [Field.for_types("pieces", [int], "What is left.")], "The stock.")


class MemoryLoggerThreads(unittest.TestCase):
    def log_from_threads(self, *messages):
        logger = MemoryLogger()
        ready = threading.Barrier(len(messages))

        def log(message):
            ready.wait(5)
            message.write(logger)

        threads = [threading.Thread(target=log, args=(message,)) for message in messages]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return logger

    def test_every_message_has_its_own_serializer(self):
        logger = self.log_from_threads(ORDER(customer="ann"), STOCK(pieces=3))
        logger.validate()
        self.assertEqual(len(logger.serialize()), 2)
