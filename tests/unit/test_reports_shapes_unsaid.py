# SPDX-License-Identifier: Apache-2.0
"""Shapes by what the accesses alone do not say: work left undone, pools, other names."""

from msgspec.structs import replace
from tests.unit.test_reports_output import detailed
from tests.unit.test_reports_shapes import NAMES, point, shape

from unsnarl.model.report import Finding, SourceLine, SwallowedException, UndoneWork
from unsnarl.reports.aliases import as_written
from unsnarl.reports.program_text import ProgramText
from unsnarl.reports.shapes import shape_and_summary


def test_work_that_was_left_undone_is_said_with_its_numbers():
    points = (
        point("1 write stopping", "self.stopping = True"),
        point("2 read stopping", "while not self.stopping:"),
    )
    line = SourceLine("lib/m.py", 8, "Writer.run")
    finding = Finding(
        1, "joined", 1.0, {}, "order", ("stopping",), points, 2, explanation=points,
        orders=((1, 2),), undone=UndoneWork(line, "0.2", 1, 4),
    )  # fmt: skip
    failure = replace(detailed(finding).failures[0], threads=NAMES)
    found, summary = shape_and_summary(failure, finding, ProgramText(lambda _: ""))
    assert found == "stopped too early"
    assert summary.startswith(f"reader stopped writer by stopping at m.py:{points[0].line} ")
    ends = "lib/m.py:8 only once; in every passing run it gets there at least 4 times."
    assert summary.endswith(ends)


def test_an_iteration_that_failed_was_not_stopped():
    """Who keeps the writer back until the iteration is done forbids it, and asks for no more."""
    points = (
        point("2 read rows", "for row in self.rows:"),
        point("1 write rows", "self.rows[key] = 1"),
        point("2 read rows", "for row in self.rows:"),
        point("2 fail ", "for row in self.rows:"),
    )
    line = SourceLine("m.py", 8, "total")
    finding = Finding(
        1, "joined", 1.0, {}, "order", ("rows",), points, 2, explanation=points,
        undone=UndoneWork(line, "0.2", 1, 4),
    )  # fmt: skip
    said = "RuntimeError: dictionary changed size during iteration"
    failure = replace(detailed(finding).failures[0], threads=NAMES, message=said)
    found, _ = shape_and_summary(failure, finding, ProgramText(lambda _: ""))
    assert found == "changed while iterated"


def test_workers_of_a_pool_starve_whoever_waits_for_them():
    points = (
        point("1 wait pool", "sum(pool.map(f, jobs))", awaits="for the results of pool"),
        point("2 wait f", "return f.result()", awaits="for the result of f"),
    )
    assert shape(*points, orders=((1, 2),))[0] == "missed signal"  # of a Future of its own, say
    pool = {"0.1": "reader", "0.2": "report_0"}
    assert shape(*points, orders=((1, 2),), threads=pool)[0] == "starvation"


def test_what_is_gone_through_may_have_another_name_where_it_is_changed():
    points = (
        point("1 read Core.handlers", "for handler in core.handlers.values():"),
        point("2 write handlers[2]", "handler = handlers.pop(number)"),
        point("1 read Core.handlers", "for handler in core.handlers.values():"),
    )
    line = SourceLine("m.py", points[0].line, "work")
    said = "dictionary changed size during iteration"
    caught = SwallowedException("RuntimeError", said, "0.1", line, line, 2, 0)
    finding = Finding(1, "joined", 1.0, {}, "atomicity", ("d",), points, 2, explanation=points)
    failure = replace(detailed(finding).failures[0], threads=NAMES, chain=(caught,))
    found, summary = shape_and_summary(failure, finding, ProgramText(lambda _: ""))
    assert found == "changed while iterated"
    assert summary.startswith("reader was iterating over Core.handlers")
    other = replace(failure, chain=(replace(caught, thread="0.2"),))
    assert shape_and_summary(other, finding, ProgramText(lambda _: ""))[0] != found


def test_an_object_is_called_by_the_attribute_that_another_thread_assigns():
    text = "def look(ctx):\n    if key in ctx.features:\n        return ctx.features[key]\n"
    points = (
        replace(point("1 read Client._features", "if key in ctx.features:"), line=2),
        point("2 write Context.features", "self.ctx.features = found"),
        replace(point("1 read Context.features", "return ctx.features[key]"), line=3),
    )
    points = tuple(replace(one, function="look") if one.role == 1 else one for one in points)
    assert shape(*points, text=text)[0] == "check-then-act"
    own = (replace(points[0], text="if key in self._features:"), *points[1:])
    assert [one.variable for one in as_written(own)] == [one.variable for one in own]
    assert as_written(points)[0].variable == "Context.features"
