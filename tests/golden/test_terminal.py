# SPDX-License-Identifier: Apache-2.0
"""Whole terminal reports, from fixed values, at two widths."""

import io

import msgspec
import pytest

from unsnarl.model.report import (
    Arm,
    FailureReport,
    Finding,
    FindingPoint,
    Fix,
    Instrumented,
    Notice,
    PassingRun,
    Replay,
    Report,
    RunCounts,
    SourceLine,
    SwallowedException,
    numbered,
)
from unsnarl.reports import finding_ids
from unsnarl.reports.patterns import classify, core
from unsnarl.reports.remarks import causes_note
from unsnarl.reports.render.terminal import make_console, print_finding, print_ranking, print_report

THREADS = {"0": "MainThread", "0.1": "Thread-1 (worker)", "0.2": "Thread-2 (worker)"}


def point(place, thread, what, region, text, *, value=None, locks=()):
    """`what` is the operation and the variable: `read Queue.qsize`."""
    file, line = place.split(":")
    role = {"0.1": 1, "0.2": 2}.get(thread, 3)
    op, _, variable = what.partition(" ")
    return FindingPoint(
        file, int(line), "work", thread, role, op, variable, region, 1.0, value, locks, text
    )


def finding(points, *, score=26.0, runs=25, passing=0):
    kind = classify(points)
    variables = tuple(dict.fromkeys(points[i].variable for i in core(points)))
    return Finding(
        rank=1,
        method="recon",
        score=score,
        features={"B": 26.0, "C": 1.0, "R": 1.0},
        kind=kind,
        variables=variables,
        points=tuple(points),
        runs=runs,
        passing=passing,
        locks_checked=True,
        id=f"{finding_ids.word(variables, kind)}-7c1e",
    )


def failure(
    *findings, message, where, kind="exception", latent=False, count=25, replay=None, chain=()
):
    return FailureReport(
        signature="signature",
        kind=kind,
        switch="free" if latent else "gil",
        latent=latent,
        count=count,
        rate=count / 50,
        message=message,
        where=where,
        findings=findings,
        threads=THREADS,
        failing=count,
        passing=25,
        run="000044",
        replay=replay,
        chain=chain,
    )


def report(*failures, runs=None, warnings=(), instrumented=None):
    return Report(
        version=1,
        campaign="queue",
        command=("pytest", "test_queue.py"),
        seconds=3.14,
        runs=runs or RunCounts(50, 25, 25, 0),
        instrumented=instrumented or Instrumented(4, 112, 3, 3),
        failures=failures,
        warnings=warnings,
    )


def atomicity():
    file, lock = "src/spider.py", ("Queue.lock",)
    read, write = "read Queue.qsize", "write Queue.qsize"
    size, take, test = "return self.qsize", "self.qsize -= 1", "if self.qsize == 0:"
    return finding(
        [
            point(f"{file}:8", "0.2", "acquire Queue.lock", "prefix", "with self.lock:"),
            point(f"{file}:14", "0.1", read, "source", size, value="1", locks=lock),
            point(f"{file}:19", "0.2", read, "body", take, value="1", locks=lock),
            point(f"{file}:19", "0.2", write, "sink", take, value="0", locks=lock),
            point(f"{file}:17", "0.1", read, "suffix", test, value="0", locks=lock),
            point(f"{file}:29", "0.1", "fail", "suffix", "item.get_d()"),
        ]
    )


def swallowed():
    """The second thread's exception is caught by a helper; the test fails later."""
    items = "Cache.items['tea']"
    points = [
        point("src/cache.py:13", "0.2", f"read {items}", "source", "if key in self.items:"),
        point("src/cache.py:14", "0.1", f"write {items}", "sink", "del self.items[key]"),
        point("src/cache.py:14", "0.2", f"write {items}", "suffix", "del self.items[key]"),
        point("src/cache.py:14", "0.2", "fail", "suffix", "del self.items[key]", value="KeyError"),
        point("tests/test_cache.py:33", "0", "fail", "suffix", "assert not errors"),
    ]
    points[3] = msgspec.structs.replace(points[3], caught="src/helpers.py:18")
    return finding(points)


def order():
    use, make = "limit = pool.config.limit", "pool.config = load(path)"
    made = "Config(limit=4)"
    return finding(
        [
            point("app/pool.py:40", "0.2", "read Pool.config", "source", use, value="None"),
            point("app/pool.py:40", "0.2", "fail", "body", use),
            point("app/main.py:12", "0", "write Pool.config", "sink", make, value=made),
        ],
        score=13.5,
        runs=9,
        passing=1,
    )


def deadlock():
    line, place = "with target.lock:", "bank.py:14"
    return finding(
        [
            point(place, "0.1", "wait b.lock", "source", line, locks=("a.lock",)),
            point(place, "0.2", "wait a.lock", "sink", line, locks=("b.lock",)),
        ]
    )


def multi_variable():
    lock, text, length = ("Cache.write_lock",), "Cache.text", "Cache.length"
    lines = [
        "self.text = text",
        "text = self.text",
        "return text[: self.length] + self.ending_of_the_line_when_it_was_cut",
        "self.length = len(text)",
    ]
    hello = "'hello'"
    return finding(
        [
            point("m.py:21", "0.1", f"write {text}", "source", lines[0], value=hello, locks=lock),
            point("m.py:30", "0.2", f"read {text}", "sink", lines[1], value=hello),
            point("m.py:31", "0.2", f"read {length}", "suffix", lines[2], value="0"),
            point("m.py:22", "0.1", f"write {length}", "suffix", lines[3], value="5", locks=lock),
            point("test_m.py:9", "0", "fail", "suffix", 'assert got == ["hello"]'),
        ],
        score=8.25,
        runs=20,
        passing=3,
    )


def confirmed():
    tested = {"forced": Arm(20, 20, 20), "forbidden": Arm(0, 20, 20), "control": Arm(19, 20)}
    return msgspec.structs.replace(atomicity(), status="confirmed", p_value=7.3e-12, **tested)


def proved():
    """The whole way: confirmed, minimised, set beside a passing run, mended."""
    known = confirmed()
    size, take, test, failed = (known.points[i] for i in (1, 3, 4, 5))
    later = msgspec.structs.replace(test, value="1")
    here = (
        SourceLine("src/spider.py", 25, "Spider.run"),
        SourceLine("src/spider.py", 27, "Spider.run"),
    )
    return msgspec.structs.replace(
        known,
        explanation=(size, take, test, failed),
        orders=((1, 2), (2, 3)),
        nearest=PassingRun((size, later, take), (2, 3), 1),
        fix=Fix("region", *here, "Queue.lock", "src/spider.py:13", runs=200, tried=1),
    )


def several_causes():
    """The same symptom for two reasons, each confirmed without the other."""
    one = proved()
    other = msgspec.structs.replace(
        order(),
        status="confirmed",
        forced=Arm(11, 11, 11),
        forbidden=Arm(0, 13, 13),
        p_value=4e-7,
        given=(one.id,),
        orders=((1, 3),),
        explanation=order().points,
        replay=Replay("000017", 1, 100, 100, 20),
    )
    fix = msgspec.structs.replace(one.fix, runs=40)
    first = msgspec.structs.replace(one, given=(other.id,), fix=fix)
    shown = failure(first, other, swallowed(), replay=REPLAY, **SPIDER)
    ids = (first.id, other.id)
    return msgspec.structs.replace(shown, causes=ids, causes_note=causes_note(2))


def proved_deadlock():
    """Who took what, then who waits."""
    first, second = (
        point("bank.py:13", thread, f"acquire {lock}", "body", "with source.lock:")
        for thread, lock in (("0.1", "a.lock"), ("0.2", "b.lock"))
    )
    told = (first, second, *deadlock().points)
    tested = {"forced": Arm(20, 20, 20), "forbidden": Arm(0, 20, 20), "control": Arm(20, 20)}
    here = SourceLine("bank.py", 13, "move"), SourceLine("bank.py", 14, "move")
    return msgspec.structs.replace(
        deadlock(),
        points=told,
        explanation=told,
        orders=((1, 4), (2, 3)),
        fix=Fix("region", *here, function="move", runs=200, tried=1),
        status="confirmed",
        p_value=7.3e-12,
        **tested,
    )


def native():
    """zoo/c/pbzip2: fields of an object on the main thread's stack, and a signal."""
    file, lock, blocks = "pbzip2.cpp", ("main::queue.mutex",), "main::queue.blocks"
    take, clear, use = "Block *first = blocks;", "blocks = nullptr;", "block = first[next];"
    known = (
        point(f"{file}:29", "0.1", f"read {blocks}", "source", take, value="0x55a0", locks=lock),
        point(f"{file}:40", "0", f"write {blocks}", "body", clear, value="NULL", locks=lock),
        point(f"{file}:29", "0.1", f"read {blocks}", "sink", take, value="NULL", locks=lock),
        point(f"{file}:30", "0.1", "fail", "suffix", use, value="SIGSEGV"),
    )
    here = SourceLine(file, 28, "BlockQueue::take"), SourceLine(file, 77, "consume")
    tested = {"forced": Arm(20, 20, 20), "forbidden": Arm(0, 15, 15), "control": Arm(15, 15)}
    return msgspec.structs.replace(
        finding(known),
        explanation=known,
        orders=((1, 2), (2, 3)),
        fix=Fix("region", *here, "main::queue.mutex", "pbzip2.cpp:28", runs=200, tried=1),
        status="confirmed",
        p_value=7.3e-10,
        **tested,
    )


ATTRIBUTE_ERROR = "AttributeError: 'NoneType' object has no attribute 'get_d'"
WARNINGS = (
    Notice("uncontrolled-threads", "1 of 4 threads was started by C code and ran free"),
    Notice("budget-out", "the time ran out after 9 of 25 failing runs"),
)
SPIDER = {"message": ATTRIBUTE_ERROR, "where": "src/spider.py:29 in work"}
POOL = {"message": "AttributeError: 'NoneType' has no 'limit'", "where": "app/pool.py:40 in run"}
BANK = {"message": "deadlock of 2 threads", "where": "bank.py:14 in move", "kind": "deadlock"}
DROPPED = {
    "message": "AssertionError: assert not [KeyError('tea')]",
    "where": "tests/test_cache.py:33 in test_drop",
    "kind": "assertion",
}
CACHE = {"message": "AssertionError: got ['']", "where": "test_m.py:9 in test"}
PBZIP2 = {"message": "SIGSEGV", "where": "pbzip2.cpp:30 in BlockQueue::take", "kind": "signal"}
REPLAY = Replay("000044", 2, 100, 100, 31)
SWALLOWED = SwallowedException(
    "KeyError",
    "'tea'",
    "0.2",
    SourceLine("src/cache.py", 14, "Cache.drop", "del self.items[key]"),
    SourceLine("src/helpers.py", 18, "collect", "except Exception as error:"),
    25,
    0,
)
KEPT = SwallowedException(
    "RuntimeError",
    "dictionary changed size during iteration",
    "0.1",
    SourceLine("src/cache.py", 30, "Cache.names", "for key in self.items:"),
    SourceLine("/usr/lib/python3.11/concurrent/futures/thread.py", 59, "_WorkItem.run"),
    25,
    3,
)
REPORTS = {
    "swallowed": report(failure(swallowed(), chain=(SWALLOWED,), **DROPPED)),
    "swallowed-twice": report(failure(swallowed(), chain=(SWALLOWED, KEPT), **DROPPED)),
    "confirmed": report(failure(confirmed(), order(), **SPIDER)),
    "proved": report(failure(proved(), order(), replay=REPLAY, **SPIDER)),
    "several-causes": report(several_causes()),
    "proved-deadlock": report(failure(proved_deadlock(), replay=REPLAY, **BANK)),
    "native": report(failure(native(), replay=REPLAY, **PBZIP2)),
    "atomicity": report(failure(atomicity(), order(), **SPIDER)),
    "order": report(failure(order(), **POOL)),
    "deadlock": report(failure(deadlock(), **BANK)),
    "multi-variable": report(failure(multi_variable(), **CACHE)),
    "no-failure": report(runs=RunCounts(500, 500, 0, 0)),
    "latent": report(
        failure(atomicity(), latent=True, **SPIDER),
        warnings=(Notice("latent", "only with free switching"),),
    ),
    "warnings": report(
        failure(order(), count=9, **POOL),
        failure(message="ValueError: bad", where="", count=2),
        runs=RunCounts(40, 25, 11, 4),
        warnings=WARNINGS,
        instrumented=Instrumented(1, 1, 3, 4),
    ),
}


def printed(function, *arguments, width, encoding="utf-8"):
    stream = io.TextIOWrapper(io.BytesIO(), encoding, newline="\n")
    function(*arguments, make_console(stream, width))
    stream.seek(0)
    return stream.read()


def first(name):
    """A report and its first finding."""
    return REPORTS[name], numbered(REPORTS[name])[0]


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", REPORTS)
def test_report(name, width, golden):
    text = printed(print_report, REPORTS[name], width=width)
    assert all(len(line) <= width for line in text.splitlines())
    golden(f"{name}-{width}", text)


@pytest.mark.parametrize("width", [80, 120])
def test_show(width, golden):
    golden(f"show-{width}", printed(print_finding, *first("atomicity"), width=width))


@pytest.mark.parametrize("width", [80, 120])
def test_show_compares_the_nearest_passing_run_with_the_failing_one(width, golden):
    golden(f"show-proved-{width}", printed(print_finding, *first("proved"), width=width))


def test_rank(golden):
    golden("rank-80", printed(print_ranking, REPORTS["atomicity"], width=80))


def test_a_terminal_without_unicode_gets_plain_characters(golden):
    text = printed(print_report, REPORTS["atomicity"], width=80, encoding="latin-1")
    golden("ascii-80", text)


def test_scrub_removes_what_differs_between_machines(scrub):
    assert scrub("3.1 s  /home/me/x/spider.py:3  <Q at 0x7f00deadbeef>  ") == (
        "N.N s  ROOT/spider.py:3  <Q at 0xADDRESS>"
    )
