# SPDX-License-Identifier: Apache-2.0
"""Paths with variables are expanded in several threads; the environment of the program stays what it is."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from plumbum import local

PATHS = {"$PROJECT/src": "/srv/shop/src", "${PROJECT}/logs": "/srv/shop/logs", "$PROJECT-old": "/srv/shop-old"}


@pytest.fixture
def environment(monkeypatch):
    environment = os.environ
    with local.env(PROJECT="/srv/shop"):
        yield environment
    os.environ = environment


def test_environment_is_left_alone(environment):
    with ThreadPoolExecutor(max_workers=2) as pool:
        expanded = list(pool.map(local.env.expand, PATHS))
    assert expanded == list(PATHS.values())
    assert os.environ is environment
