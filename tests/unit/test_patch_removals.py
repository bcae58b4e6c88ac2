# SPDX-License-Identifier: Apache-2.0
"""Removals of what another thread may have removed."""

import textwrap

import pytest
from tests.unit.conflicts import conflict, line_of, point, source

from unsnarl.patches.drafts import drafts

METHOD = """\
class Store:
    def drop(self, key):
        value = self.load(key)
        {statement}
        {after}
"""


def dropped(statement: str, after: str = "return value", *, roles: tuple[int, ...] = (1, 2)):
    """The new statements of all drafts for a removal that threads of these roles make."""
    text = METHOD.format(statement=statement, after=after)
    line = line_of(source(text), statement.splitlines()[-1].strip())
    points = [point(line, role, "write", "Store.items", function="Store.drop") for role in roles]
    made = [one for one in drafts(conflict(text, *points)) if one.kind == "removal"]
    rest = len(textwrap.indent(after, " " * 8).splitlines())
    return [
        textwrap.dedent("".join(one.texts["a.py"].splitlines(keepends=True)[3:-rest])).strip()
        for one in made
    ]


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("del self.items[key]", ["self.items.pop(key, None)"]),
        ("self.items.pop(key)", ["self.items.pop(key, None)"]),
        ("path.unlink()", ["path.unlink(missing_ok=True)"]),
        (
            "delattr(self, key)",
            ["try:\n    delattr(self, key)\nexcept AttributeError:\n    pass"],
        ),
        ("os.remove(key)", ["try:\n    os.remove(key)\nexcept FileNotFoundError:\n    pass"]),
        (
            "self.items.remove(key)",
            [
                "self.items.discard(key)",
                "try:\n    self.items.remove(key)\nexcept ValueError:\n    pass",
            ],
        ),
        ("self.items.append(key)", []),
        ("del self.items[1:]", []),
        ("gone = self.items.pop(key)", []),
    ],
)
def test_what_is_gone_already_is_fine(statement: str, wanted: list[str]) -> None:
    assert dropped(statement) == wanted


def test_both_threads_must_remove_it() -> None:
    assert dropped("del self.items[key]", roles=(1,)) == []


@pytest.mark.parametrize(
    "after", ["self.free += 1", "self.last = key", "self.tell(key)", "raise KeyError"]
)
def test_who_does_more_with_it_must_be_the_only_one(after: str) -> None:
    assert dropped("del self.items[key]", after) == []


def test_what_is_used_before_it_is_removed_must_not_be_removed_by_others() -> None:
    """The use fails, too, but so rarely that 200 runs may not show it."""
    used = "use(self.items[key])\n        del self.items[key]"
    assert len(dropped("del self.items[key]")) == 1
    assert dropped(used) == []
    assert dropped("use(self.key)\n        del self.key") == []
