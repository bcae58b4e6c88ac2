# SPDX-License-Identifier: Apache-2.0
import threading

from checkout import Checkout


class TestCheckout:
    def test_books(self):
        desk = Checkout()

        def clerk(item):
            desk.sell(item)
            desk.redeem("C7")
            desk.next_number()

        clerks = [threading.Thread(target=clerk, args=(item,)) for item in ("tea", "jam")]
        for one in clerks:
            one.start()
        for one in clerks:
            one.join(10)
        assert desk.books() == (7, 1, 2), "the books do not add up"
