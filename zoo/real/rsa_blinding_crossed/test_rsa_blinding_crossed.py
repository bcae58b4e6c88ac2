# SPDX-License-Identifier: Apache-2.0
"""Letters to one recipient are opened by several threads with the same private key."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import rsa

LETTERS = [b"the first letter", b"the second letter"]
P = 4737356905432283944190220800074627250001189890503220748837701176422161837385982727
Q = 1498947739251657713980908997286767632636173956700703492473523443620036091


@pytest.fixture
def key():
    """Small, and always the same: a test need not look for primes."""
    exponent = 65537
    return rsa.PrivateKey(P * Q, exponent, pow(exponent, -1, (P - 1) * (Q - 1)), P, Q)


def test_letters_are_opened_at_the_same_time(key):
    sealed = [rsa.encrypt(letter, rsa.PublicKey(key.n, key.e)) for letter in LETTERS]
    assert rsa.decrypt(sealed[0], key) == LETTERS[0]

    with ThreadPoolExecutor(len(sealed)) as pool:
        opened = list(pool.map(lambda letter: rsa.decrypt(letter, key), sealed))

    assert opened == LETTERS
