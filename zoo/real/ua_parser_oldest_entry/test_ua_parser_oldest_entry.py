# SPDX-License-Identifier: Apache-2.0
"""A web server reads the user agents of its visitors; its cache of them is full."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from ua_parser import user_agent_parser

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:{0}.0) Gecko/20100101 Firefox/{0}.0"


@pytest.fixture(autouse=True)
def full_cache(monkeypatch):
    monkeypatch.setattr(user_agent_parser, "_PARSE_CACHE", {})
    monkeypatch.setattr(user_agent_parser, "MAX_CACHE_SIZE", 4)
    for version in range(4):
        user_agent_parser.ParseUserAgent(FIREFOX.format(80 + version))


def test_visitors_at_once():
    visitors = [FIREFOX.format(version) for version in (101, 102)]
    with ThreadPoolExecutor(max_workers=2) as pool:
        answers = list(pool.map(user_agent_parser.ParseUserAgent, visitors))
    assert [answer["family"] for answer in answers] == ["Firefox", "Firefox"]
    assert [answer["major"] for answer in answers] == ["101", "102"]
