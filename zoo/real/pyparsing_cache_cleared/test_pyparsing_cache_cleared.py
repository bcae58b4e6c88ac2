# SPDX-License-Identifier: Apache-2.0
"""Two threads parse at the same time, with a small packrat cache."""

import threading

import pyparsing as pp
import pytest


@pytest.fixture
def expression():
    pp.ParserElement.enable_packrat(cache_size_limit=2, force=True)
    number = pp.Word(pp.nums)
    parser = pp.infix_notation(number, [(pp.one_of("+ -"), 2, pp.OpAssoc.LEFT)])
    assert parser.parse_string("0").as_list() == ["0"]
    yield parser
    pp.ParserElement.disable_memoization()


def parse_all(expression, texts, gate, errors):
    gate.wait(timeout=10)
    for text in texts:
        try:
            expression.parse_string(text)
        except Exception as exc:
            errors.append(exc)


def test_parse_in_two_threads(expression):
    errors, gate = [], threading.Barrier(2)
    threads = [
        threading.Thread(target=parse_all, args=(expression, texts, gate, errors))
        for texts in (["1+2", "3"], ["4", "5", "6"])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert errors == []
