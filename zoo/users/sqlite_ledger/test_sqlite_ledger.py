# SPDX-License-Identifier: Apache-2.0
import threading

import pytest

from ledger import Ledger, Overdrawn


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open("ann", 100)
    yield ledger
    ledger.close()


def test_no_credit(ledger):
    with pytest.raises(Overdrawn):
        ledger.withdraw("ann", 101)


def test_two_cash_machines(ledger):
    machines = [
        threading.Thread(target=ledger.withdraw, args=("ann", amount), daemon=True) for amount in (30, 50)
    ]
    for machine in machines:
        machine.start()
    for machine in machines:
        machine.join(timeout=5)
    assert ledger.balance("ann") == 20
