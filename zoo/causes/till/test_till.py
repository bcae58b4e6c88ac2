# SPDX-License-Identifier: Apache-2.0
import threading

import pytest
from till import Till


@pytest.fixture
def till():
    return Till()


def test_everything_is_in_the_till(till):
    def customer():
        till.pay_cash(5)
        till.pay_by_card(7)

    customers = [threading.Thread(target=customer) for _ in range(2)]
    for one in customers:
        one.start()
    for one in customers:
        one.join()
    assert till.total() == 2400
