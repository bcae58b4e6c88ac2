# SPDX-License-Identifier: Apache-2.0
"""`__getattr__` looks once more before it says that there is no such attribute."""

import textwrap

import pytest
from tests.unit.test_patch_kinds import at, of_kind

LAZY = textwrap.dedent(
    """\
    class Lazy:
        def __getattr__(self, name):
            try:
                place = self.places.pop(name)
            except KeyError:
                raise AttributeError(name)
            value = load(place)
            setattr(self, name, value)
            return value
    """
)


def looked_up(text: str) -> list[str]:
    name = "Lazy.make" if "def make" in text else "Lazy.__getattr__"
    return of_kind(
        "recheck",
        text,
        at(text, "place = ", 1, "write", "Lazy.places", function=name),
        at(text, "place = ", 2, "read", "Lazy.places", function=name),
    )


def test_what_another_thread_has_set_is_found() -> None:
    (text,) = looked_up(LAZY)
    assert "        except KeyError:\n            return super().__getattribute__(name)\n" in text


def test_a_hook_may_have_another_name_and_way() -> None:
    text = LAZY.replace("def __getattr__", "def make") + "\n    __getattr__ = make\n"
    assert len(looked_up(text)) == 1
    assert len(looked_up(LAZY.replace("setattr(self, name, value)", "self.__dict__[name] = value")))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("setattr(self, name, value)", "pass"),  # every call makes one of its own
        ("setattr(self, name, value)", "setattr(self, place, value)"),
        ("setattr(self, name, value)", "setattr(self.other, name, value)"),
        ("raise AttributeError(name)", "raise LookupError(name)"),
        ("def __getattr__", "def make"),  # nobody has looked before
    ],
)
def test_near_misses(old: str, new: str) -> None:
    assert old in LAZY
    assert looked_up(LAZY.replace(old, new)) == []
