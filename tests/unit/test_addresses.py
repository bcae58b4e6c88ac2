# SPDX-License-Identifier: Apache-2.0
"""Two processes of one program have the same addresses, where the system allows it."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

from unsnarl.execution.addresses import ADDR_NO_RANDOMIZE, ASK, steady_addresses

# In the order of a set of objects that are hashed by address.
PROGRAM = "print([type(one).__name__ for one in {object(), Exception(), iter(())}], id(object()))"


def personality():
    return ctypes.CDLL(None).personality(ASK)


def printed():
    command = [sys.executable, "-S", "-c", PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_processes_have_the_same_addresses():
    with steady_addresses():
        if not personality() & ADDR_NO_RANDOMIZE:
            pytest.skip("this sandbox does not allow it")
        assert len({printed() for _ in range(3)}) == 1


def test_what_was_set_before_is_set_again():
    before = personality()
    with pytest.raises(ZeroDivisionError), steady_addresses():
        raise ZeroDivisionError
    assert personality() == before


@pytest.mark.parametrize("refused", [1, 2])
def test_a_sandbox_that_refuses_is_no_error(monkeypatch, refused):
    answers = iter([*[0, 0][: refused - 1], -1])

    class Refusing:
        def personality(self, _):
            return next(answers)

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Refusing())
    with steady_addresses():
        pass
