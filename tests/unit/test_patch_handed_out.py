# SPDX-License-Identifier: Apache-2.0
"""Views and containers that leave their lock."""

import textwrap

from tests.unit.test_patch_kinds import CHANGED, at, of_kind

METRICS = textwrap.dedent(
    """\
    class Metrics:
        def set(self, name, value):
            with self._lock:
                self._values[name] = value

        def snapshot(self):
            with self._lock:
                return self._values.items()

        def other(self):
            return self._names.items()

    def export(metrics):
        return {k: v for k, v in metrics.snapshot()}
    """
)


def handed(text: str, iterated: str = "metrics.snapshot()", message: str = CHANGED) -> list[str]:
    return of_kind(
        "copy",
        text,
        at(text, iterated, 1, "read", "Metrics._values", function="export"),
        at(text, "self._values[name] =", 2, "write", "Metrics._values", function="Metrics.set"),
        message=message,
    )


def test_a_view_is_copied_where_it_is_handed_out() -> None:
    (text,) = handed(METRICS)
    assert "            return list(self._values.items())\n" in text
    assert "return self._names.items()" in text


def test_a_container_is_copied_itself() -> None:
    (text,) = handed(METRICS.replace("_values.items()", "_values"))
    assert "            return self._values.copy()\n" in text


def test_what_is_used_in_another_way_stays() -> None:
    assert not handed(METRICS, message="KeyError: 1")
    assert not handed(METRICS.replace("metrics.snapshot()", "metrics.others()"), "metrics.others()")
    assert not handed(METRICS.replace("_values.items()", "_values.get(1)"))
