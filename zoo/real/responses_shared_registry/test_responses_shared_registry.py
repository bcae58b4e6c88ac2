# SPDX-License-Identifier: Apache-2.0
"""A queue of canned answers, consumed by several threads."""

import threading

import pytest
import requests
import responses

URL = "http://stock.example/next"


@pytest.fixture
def stock():
    with responses.RequestsMock() as mock:
        for ticket in ("a", "b", "c"):
            mock.add(responses.GET, URL, body=ticket)
        yield mock


def test_every_answer_is_given_once(stock):
    tickets, errors = [], []
    guard = threading.Lock()

    def fetch():
        try:
            text = requests.get(URL).text
        except Exception as error:
            errors.append(error)
        else:
            with guard:
                tickets.append(text)

    buyers = [threading.Thread(target=fetch) for _ in range(3)]
    for buyer in buyers:
        buyer.start()
    for buyer in buyers:
        buyer.join()

    assert not errors
    assert sorted(tickets) == ["a", "b", "c"]
