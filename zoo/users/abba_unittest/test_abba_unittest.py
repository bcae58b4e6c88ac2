# SPDX-License-Identifier: Apache-2.0
import threading
import unittest

from warehouse import Warehouse, transfer


class TransferTest(unittest.TestCase):
    def setUp(self):
        self.north = Warehouse("north", tea=5)
        self.south = Warehouse("south", salt=5)

    def test_too_few(self):
        with self.assertRaises(ValueError):
            transfer(self.north, self.south, "tea", 6)

    def test_in_both_directions(self):
        lorries = [
            threading.Thread(target=transfer, args=(self.north, self.south, "tea", 2), daemon=True),
            threading.Thread(target=transfer, args=(self.south, self.north, "salt", 3), daemon=True),
        ]
        for lorry in lorries:
            lorry.start()
        for lorry in lorries:
            lorry.join(timeout=5)
            self.assertFalse(lorry.is_alive(), "a lorry is stuck")
        self.assertEqual(self.north.stock, {"tea": 3, "salt": 3})
        self.assertEqual(self.south.stock, {"tea": 2, "salt": 2})


if __name__ == "__main__":
    unittest.main()
