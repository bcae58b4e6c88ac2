# SPDX-License-Identifier: Apache-2.0
"""Patches that fill something in a local variable before others can see it."""

from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.patches.drafts import drafts

HINTS = """\
cache = {}


class Call:
    def __init__(self, function):
        self.hints = cache.get(function)
        if self.hints is None:
            self.hints = cache[function] = dict()  # of its own
            for name, kind in function.items():
                if kind:
                    self.hints[name] = kind
        self.done = True
"""
RATES = """\
rates = None


def load(file):
    global rates
    rates = {}
    for name in file:
        rates[name] = 1
    return rates
"""


def published(text: str, *parts: str, function: str, shape: str = "two variables out of step"):
    file = source(text)
    early, late = (line_of(file, part) for part in parts)
    points = [
        point(early, 1, "write", "cache", function=function),
        point(early - 2, 2, "read", "cache", function=function),
        point(late, 1, "write", "hints", function=function),
    ]
    found = drafts(conflict(text, *points, shape=shape))
    return [draft.texts["a.py"] for draft in found if draft.kind == "publish"]


def test_an_entry_is_filled_before_it_is_published() -> None:
    (text,) = published(HINTS, "cache[function] =", "[name] = kind", function="Call.__init__")
    assert text == HINTS.replace(
        "            self.hints = cache[function] = dict()", "            entry = dict()"
    ).replace("self.hints[name] = kind", "entry[name] = kind").replace(
        "        self.done",
        "            self.hints = cache[function] = entry\n        self.done",
    )


def test_a_variable_of_the_module_is_set_when_its_value_is_complete() -> None:
    (text,) = published(RATES, "rates = {}", "rates[name]", function="load")
    assert "    new_rates = {}\n    for name in file:\n        new_rates[name] = 1\n" in text
    assert "    rates = new_rates\n    return rates\n" in text


def test_what_has_a_local_name_keeps_it() -> None:
    text = HINTS.replace("self.hints = cache[function] =", "own = cache[function] =")
    text = text.replace("self.hints[name]", "own[name]")
    (found,) = published(text, "cache[function] =", "[name] = kind", function="Call.__init__")
    assert "            own = dict()  # of its own\n" in found
    assert "                    own[name] = kind\n            cache[function] = own\n" in found


def test_what_may_never_be_published_is_left_alone() -> None:
    for other in ("return", "raise ValueError"):
        text = HINTS.replace(
            "if kind:", f"if not kind:\n                    {other}\n                else:"
        )
        found = published(text, "cache[function] =", "[name] = kind", function="Call.__init__")
        assert len(found) == (other != "return")


def test_what_is_not_filled_there_is_left_alone() -> None:
    text = HINTS.replace("self.hints[name] = kind", "self.fill(name)")
    assert not published(text, "cache[function] =", "self.fill", function="Call.__init__")


def test_a_lost_update_needs_more() -> None:
    parts = "cache[function] =", "[name] = kind"
    assert not published(HINTS, *parts, function="Call.__init__", shape="lost update")
