# SPDX-License-Identifier: Apache-2.0
"""A status page lists the sessions while another request opens one."""

from concurrent.futures import ThreadPoolExecutor

from expiringdict import ExpiringDict


def test_items_while_another_thread_adds():
    sessions = ExpiringDict(max_len=100, max_age_seconds=3600)
    for name in ("ann", "bob", "cat"):
        sessions[name] = name.upper()

    with ThreadPoolExecutor(max_workers=2) as requests:
        listing = requests.submit(sessions.items)
        opening = requests.submit(sessions.__setitem__, "dan", "DAN")

    opening.result(timeout=5)
    assert ("ann", "ANN") in listing.result(timeout=5)
    assert len(listing.result()) in (3, 4)
