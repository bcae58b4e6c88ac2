# SPDX-License-Identifier: Apache-2.0
"""The JSON contract, and the terminal's behaviour beyond the golden texts."""

import io
import json
import sys

import msgspec
import pytest
from rich.cells import cell_len

from unsnarl.cli.hunt import hunt_and_print
from unsnarl.model.report import (
    Arm,
    FailureReport,
    Finding,
    FindingPoint,
    Fix,
    Instrumented,
    Patch,
    PatchChecks,
    Report,
    RunCounts,
    SourceLine,
    numbered,
)
from unsnarl.reports.remarks import causes_note, failure_bound, title
from unsnarl.reports.render import json as report_json
from unsnarl.reports.render.lanes import cut
from unsnarl.reports.render.terminal import (
    make_console,
    print_answer,
    print_finding,
    print_ranking,
    print_repairs,
    print_report,
    print_timings,
)
from unsnarl.workflows.hunt import HuntResult


def point(line, thread, op, region, text="x = self.value", **more):
    role = int(thread[-1])
    return FindingPoint(
        "m.py", line, "f", thread, role, op, "C.value", region, 1.0, text=text, **more
    )


POINTS = (point(1, "0.1", "read", "source", value="1"), point(2, "0.2", "write", "sink"))


def finding(points=POINTS, rank=1):
    features = {"B": 3.0, "C": 1.0, "R": 1.0}
    made = Finding(rank, "recon", 3.0, features, "order", ("C.value",), points, 2)
    return msgspec.structs.replace(made, explanation=points)


def detailed(*findings, message="ValueError: boom"):
    failure = FailureReport(
        signature="s",
        kind="exception",
        switch="gil",
        latent=False,
        count=2,
        rate=0.5,
        message=message,
        where="m.py:3 in f",
        findings=findings or (finding(),),
        threads={"0.1": "reader", "0.2": "writer"},
        failing=2,
        passing=2,
    )
    return Report(
        1,
        "c",
        ("python", "m.py"),
        1.0,
        RunCounts(4, 2, 2, 0),
        Instrumented(1, 2, 2, 2),
        (failure,),
        (),
    )


def chosen(report, number=1):
    return report, numbered(report)[number - 1]


def printed(function, *arguments, width=80, terminal=False):
    stream = io.StringIO()
    if terminal:
        stream.isatty = lambda: True
    function(*arguments, make_console(stream, width))
    return stream.getvalue()


CONTRACT = {
    "report": [
        "version", "campaign", "command", "seconds", "runs", "instrumented", "failures", "warnings",
    ],
    "failure": ["signature", "kind", "switch", "latent", "count", "rate", "findings", "replay"],
    "finding": [
        "rank", "method", "score", "features", "kind", "variables", "points", "status", "forced",
        "forbidden", "p_value", "explanation", "fix",
    ],
    "point": [
        "file", "line", "function", "thread", "role", "op", "variable", "value", "region",
        "confidence", "locks",
    ],
}  # fmt: skip


def test_every_field_of_the_contract_is_there():
    document = json.loads(report_json.encode(detailed()))
    failure = document["failures"][0]
    levels = {
        "report": document,
        "failure": failure,
        "finding": failure["findings"][0],
        "point": failure["findings"][0]["points"][1],
    }
    for level, fields in CONTRACT.items():
        assert set(fields) <= set(levels[level]), level
    assert document["runs"] == {"total": 4, "pass": 2, "fail": 2, "hang": 0}
    assert levels["finding"]["status"] == "untested"
    assert levels["point"]["value"] is None
    assert levels["point"]["locks"] == []


def test_the_explanation_is_what_is_shown():
    document = json.loads(report_json.encode(detailed()))
    finding_document = document["failures"][0]["findings"][0]
    assert finding_document["explanation"] == finding_document["points"]


def test_a_report_survives_the_round_trip():
    report = detailed()
    assert report_json.decode(report_json.encode(report)) == report


def test_rank_gives_the_findings_of_one_method():
    document = json.loads(report_json.encode_findings("recon", (finding(),)))
    assert (document["version"], document["method"]) == (1, "recon")
    assert document["findings"][0]["explanation"]


def test_plain_model_values_are_enough():
    plain = Finding(1, "recon", 3.0, {}, "order", ("C.value",), POINTS, 2)
    failure = FailureReport("s", "exception", "gil", False, 2, 0.5, "boom", "", (plain,))
    report = Report(
        1, "c", ("m.py",), 1.0, RunCounts(4, 2, 2, 0), Instrumented(1, 2, 2, 2), (failure,), ()
    )
    text = printed(print_report, report)
    assert "in 2/2 failing runs" in text
    assert "thread 0.1" in text
    assert json.loads(report_json.encode(report))["failures"][0]["findings"]


def test_no_colour_when_not_on_a_terminal():
    assert "\x1b" not in printed(print_report, detailed())


def test_colour_on_a_terminal_unless_the_user_declines(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "36m" in printed(print_report, detailed(), terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "36m" not in printed(print_report, detailed(), terminal=True)


def test_the_target_cannot_steer_the_terminal():
    nasty = point(1, "0.1", "read", "source", text="\x1b[2J\x07", value="\x1b]0;x\x07")
    text = printed(print_report, detailed(finding((nasty, POINTS[1])), message="E: \x1b[2J\r"))
    assert not {"\x1b", "\x07", "\r"} & set(text)


def test_markup_in_the_source_is_printed_as_it_is():
    lines = (point(1, "0.1", "read", "source", text="x = a[bold][/bold]"), POINTS[1])
    assert "x = a[bold][/bold]" in printed(print_report, detailed(finding(lines)))


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_steps_never_exceed_the_width(width):
    wide = (
        point(1, "0.1", "read", "source", text="名前 = " + "日本" * 60, value="'" + "値" * 30),
        point(2, "0.2", "write", "body", text="y" * 300),
        point(3, "0.3", "write", "sink", text="z"),
    )
    text = printed(print_finding, *chosen(detailed(finding(wide))), width=width)
    steps = [line for line in text.splitlines() if line[:3].strip().isdigit()]
    assert len(steps) == 3
    assert all(cell_len(line) <= width for line in steps)


def test_files_of_the_same_name_keep_their_folders():
    lines = (
        FindingPoint("a/m.py", 1, "f", "0.1", 1, "read", "v", "source", 1.0),
        FindingPoint("b/m.py", 2, "f", "0.2", 2, "write", "v", "sink", 1.0),
    )
    text = printed(print_report, detailed(finding(lines)))
    assert "a/m.py:1" in text
    assert "b/m.py:2" in text


def test_findings_are_numbered_through():
    report = detailed(finding(), finding(rank=2))
    assert [number for number, _, _ in numbered(report)] == [1, 2]
    assert "unsnarl show 2" in printed(print_report, report)


def test_a_ranking_without_failures_gives_the_bound():
    report = Report(1, "c", ("m.py",), 1.0, RunCounts(3, 3, 0, 0), Instrumented(1, 2, 1, 1), (), ())
    assert "0 failures in 3 runs" in printed(print_ranking, report)


def test_rows_of_the_same_lines_say_what_is_done_there():
    def about(op):
        return (
            FindingPoint("m.py", 1, "f", "0.1", 1, "read", "v", "source", 1.0),
            FindingPoint("m.py", 2, "f", "0.2", 2, op, "v", "sink", 1.0),
        )

    alike = detailed(finding(about("read")), finding(about("write"), rank=2))
    text = printed(print_ranking, alike)
    assert "m.py:1 read → :2 read" in text
    assert "m.py:1 read → :2 write" in text
    assert "m.py:1 → :2" in printed(print_ranking, detailed(finding(about("write"))))


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        (RunCounts(500, 500, 0, 0), "0 failures in 500 runs: failure rate below 0.6 %"),
        (RunCounts(1, 1, 0, 0), "0 failures in 1 run: failure rate below 100 %"),
        (RunCounts(9, 5, 0, 4), "0 failures in 9 runs (4 reached the time limit): failure rate"),
        (RunCounts(4, 0, 0, 4), "0 failures in 4 runs, of which none passed: nothing is known"),
    ],
)
def test_the_bound_of_runs_without_a_failure(runs, text):
    assert failure_bound(runs).startswith(text)


@pytest.mark.parametrize(
    ("width", "text"), [(9, "self.size"), (5, "self…"), (1, "…"), (0, ""), (-3, "")]
)
def test_cut(width, text):
    assert cut("self.size", width) == text


def test_every_second_is_in_one_phase():
    report = msgspec.structs.replace(detailed(), seconds=10.0, timings={"hunt": 4.0, "fix": 5.5})
    rows = [line.split() for line in printed(print_timings, report).split("time\n")[1].splitlines()]
    assert rows == [
        ["hunt", "4.0", "s", "40", "%"],
        ["fix", "5.5", "s", "55", "%"],
        ["other", "0.5", "s", "5", "%"],
        ["all", "10.0", "s", "100", "%"],
    ]


def test_a_long_position_does_not_cut_names_into_pieces():
    text = "return self._instrument_id_instrument[status.instrument_id]"
    files = [f"opentelemetry/{part}metrics/_internal/__init__.py" for part in ("", "sdk/")]
    points = tuple(
        msgspec.structs.replace(one, file=file, text=text)
        for one, file in zip(POINTS, files, strict=True)
    )
    report = detailed(finding(points))
    stream = io.StringIO()
    print_finding(report, numbered(report)[0], make_console(stream, 80))
    lines = stream.getvalue().splitlines()
    assert sum(text in line for line in lines) == 2
    assert max(map(cell_len, lines)) <= 80


def test_a_title_names_what_the_steps_name_and_no_element_twice():
    points = tuple(
        msgspec.structs.replace(one, variable=name)
        for one, name in zip(POINTS, ("Meter.ids['a']", "Meter.ids"), strict=True)
    )
    names = ("Meter.ids['a']", "Meter.ids", "Other.name")
    assert title(msgspec.structs.replace(finding(points), variables=names)).endswith("on Meter.ids")
    assert title(msgspec.structs.replace(finding(points), variables=("x",))).endswith("on x")


def several(count=2):
    """A failure with several causes, and one more finding."""
    ids = [f"value-000{number}" for number in range(1, count + 1)]
    arms = {"forced": Arm(10, 10), "forbidden": Arm(0, 15), "p_value": 1e-7, "status": "confirmed"}
    causes = [
        msgspec.structs.replace(finding(rank=number), id=own, given=tuple(set(ids) - {own}), **arms)
        for number, own in enumerate(ids, start=1)
    ]
    report = detailed(*causes, finding(rank=count + 1))
    (failure,) = report.failures
    failure = msgspec.structs.replace(failure, causes=tuple(ids), causes_note=causes_note(count))
    return msgspec.structs.replace(report, failures=(failure,))


def test_all_of_several_causes_are_shown():
    text = printed(print_report, several(), width=120)
    assert text.index("2 independent causes: both must be mended.") < text.index("CONFIRMED")
    assert text.count("CONFIRMED") == 2
    assert text.count("· without the other cause)") == 2


def test_one_patch_of_several_causes_is_shown_once():
    patch = Patch("--- a/m.py\n", ("m.py",), "lock", "hold m", PatchChecks(runs=200), works=True)
    report = several()
    (failure,) = report.failures
    findings = [msgspec.structs.replace(one, patch=patch) for one in failure.findings[:2]]
    failure = msgspec.structs.replace(failure, findings=(*findings, failure.findings[2]))
    report = msgspec.structs.replace(report, failures=(failure,))
    assert printed(print_report, report).count("patch (hold m)") == 1


def test_three_causes_in_words():
    assert causes_note(3) == "3 independent causes: all must be mended."
    assert "· without the other causes)" in printed(print_report, several(3), width=120)


def test_json_names_the_causes_and_what_each_was_tested_without():
    (failure,) = json.loads(report_json.encode(several()))["failures"]
    assert failure["causes"] == ["value-0001", "value-0002"]
    assert failure["causes_note"] == "2 independent causes: both must be mended."
    assert [one["given"] for one in failure["findings"]] == [["value-0002"], ["value-0001"], []]


# In two parts, for a person who waits.

FIXED = Fix("region", SourceLine("m.py", 1, "f"), SourceLine("m.py", 2, "f"), runs=200)
PATCHED = Patch("--- a/m.py\n", ("m.py",), "lock", "hold m", PatchChecks(runs=200), works=True)


def repaired(**fields):
    return detailed(msgspec.structs.replace(finding(), **fields))


def test_what_is_only_screened_is_not_in_the_first_part():
    text = printed(print_answer, repaired(fix=FIXED))
    assert "ValueError: boom" in text and "1 failure" in text
    assert "200" not in text and text.splitlines()[-1] == "what repairs it is being looked for"


def test_one_patch_of_two_failures_is_shown_once():
    report = repaired(patch=PATCHED)
    other = msgspec.structs.replace(PATCHED, checks=PatchChecks(runs=260, replayed=46))
    failures = (*report.failures, *repaired(patch=other).failures)
    text = printed(print_report, msgspec.structs.replace(report, failures=failures))
    assert text.count("--- a/m.py") == 1
    same = "The same patch repairs finding {}: 0/260 runs fail, no deadlock, nor do 46 replays"
    assert same.format(1 + len(report.failures[0].findings)) in " ".join(text.split())


@pytest.mark.parametrize("fields", [{"fix": FIXED}, {"fix": FIXED, "patch": PATCHED}, {}])
def test_both_parts_have_all_that_one_piece_has(fields):
    report = repaired(**fields)
    both = printed(print_answer, report) + printed(print_repairs, report)
    whole = " ".join(printed(print_report, report).split())
    assert all(word in " ".join(both.split()) for word in whole.split())
    assert both.count("patch (hold m)") == ("patch" in fields)
    assert both.count("200") == whole.count("200")


def test_a_terminal_has_the_answer_before_the_patch(monkeypatch, capsys):
    """A file or a pipe gets the report in one piece."""
    monkeypatch.setenv("TERM", "dumb")

    def hunt(command, flags, *, on_answer, **_):
        on_answer(repaired())
        seen.append(capsys.readouterr().out)
        return HuntResult(repaired(patch=PATCHED), 1)

    monkeypatch.setattr("unsnarl.workflows.hunt.hunt", hunt)
    for at_terminal, first, last in ((True, "1 failure", "hold m"), (False, "", "1 failure")):
        seen = []
        monkeypatch.setattr(sys.stdout, "isatty", lambda shown=at_terminal: shown)
        assert hunt_and_print(("m.py",), {}, None) == 1
        rest = capsys.readouterr().out
        assert first in seen[0] and last in rest
        assert (seen[0] + rest).count("1 failure") == 1
