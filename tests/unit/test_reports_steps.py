# SPDX-License-Identifier: Apache-2.0
"""Kinds of bugs, and the choice of steps that are shown."""

import msgspec
import pytest

from unsnarl.model.report import Finding, FindingPoint
from unsnarl.reports.patterns import classify, core
from unsnarl.reports.remarks import lock_remark, title
from unsnarl.reports.steps import (
    MOST_STEPS,
    all_steps,
    brief_steps,
    clean,
    core_steps,
    explanation,
)


def points(text, variable="x"):
    """`1R:source 2W:sink 1R:suffix`: thread, operation, region and optionally a variable."""
    made = []
    for line, word in enumerate(text.split(), 1):
        action, region, *rest = word.split(":")
        op = {"R": "read", "W": "write", "A": "acquire", "Q": "wait", "F": "fail", "C": "call"}
        made.append(
            FindingPoint(
                "m.py",
                line,
                "f",
                f"0.{action[0]}",
                int(action[0]),
                op[action[1]],
                rest[0] if rest else variable,
                region,
                1.0,
                text=f"line {line}",
            )
        )
    return made


def replaced(point, **changes):
    fields = {name: getattr(point, name) for name in point.__struct_fields__}
    return FindingPoint(**{**fields, **changes})


def finding(made, kind="atomicity"):
    return Finding(1, "recon", 1.0, {}, kind, ("x",), tuple(made), 5)


def checked(finding):
    """With locks that a capture has looked at."""
    return msgspec.structs.replace(finding, locks_checked=True)


@pytest.mark.parametrize("triple", ["RWR", "WWR", "WRW", "RWW", "WWW"])
def test_unserialisable_triples_are_atomicity_violations(triple):
    made = points("1{}:source 2{}:sink 1{}:suffix".format(*triple))
    assert classify(made) == "atomicity"
    assert core(made) == (0, 1, 2)


@pytest.mark.parametrize("triple", ["RRR", "RRW", "WRR"])
def test_serialisable_triples_are_not(triple):
    assert classify(points("1{}:source 2{}:sink 1{}:suffix".format(*triple))) != "atomicity"


def test_the_triple_must_hold_the_edge():
    made = points("1R:prefix:y 2W:prefix:y 1R:prefix:y 1W:source 3R:sink")
    assert classify(made) == "order"
    assert core(made) == (3, 4)


def test_the_triple_may_end_at_the_sink():
    made = points("1R:prefix 2W:source 1R:sink")
    assert (classify(made), core(made)) == ("atomicity", (0, 1, 2))


def test_the_tightest_triple_is_taken():
    made = points("1R:prefix 1R:prefix 2W:source 1R:sink 1R:suffix")
    assert core(made) == (1, 2, 3)


def test_two_variables_that_belong_together():
    made = points("1W:source:text 2R:sink:text 2R:suffix:length 1W:suffix:length")
    assert (classify(made), core(made)) == ("atomicity", (0, 1, 2, 3))


def test_two_variables_of_different_functions_are_plain_communication():
    made = points("1W:source:ready 2R:sink:ready 2W:suffix:answer 1R:suffix:answer")
    assert classify(made) == "atomicity"
    made[3] = replaced(made[3], function="g")
    assert classify(made) == "order"


def test_two_variables_without_conflict_on_the_second():
    made = points("1W:source:text 2R:sink:text 2R:suffix:length 1R:suffix:length")
    assert classify(made) == "order"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1W:source 2R:sink", "order"),
        ("1R:source 2W:sink", "order"),
        ("1C:source 2R:sink", "order"),
        ("1A:source 2A:sink", "order"),
        ("1R:source 2R:sink", "other"),
        ("1W:source 1R:sink", "other"),
        ("1Q:source:a 2Q:sink:b", "deadlock"),
        ("", "other"),
    ],
)
def test_kinds_of_pairs(text, kind):
    assert classify(points(text)) == kind


def test_a_pair_that_nothing_orders_is_a_race():
    assert classify(points("1W:source 2R:sink"), racing=True) == "race"
    assert classify(points("1A:source 2A:sink"), racing=True) == "order"


def test_the_bug_and_the_failing_line_are_always_shown():
    others = " ".join(f"1R:prefix:v{i}" for i in range(20))
    made = points(f"{others} 1R:source 2W:sink 1R:suffix 1F:suffix:")
    shown = explanation(finding(made))
    assert [p.region for p in shown][-4:] == ["source", "sink", "suffix", "suffix"]
    assert len(brief_steps(finding(made))) <= MOST_STEPS


def test_other_accesses_of_the_same_variable_come_before_others():
    body = " ".join(f"2R:body:v{i}" for i in range(9))
    made = points(f"1W:prefix 1R:source {body} 2W:sink 1R:suffix")
    assert made[0] in explanation(finding(made))
    assert len(brief_steps(finding(made))) == MOST_STEPS


def test_lock_operations_around_data_are_left_out_of_the_brief_view():
    made = points("1A:prefix:lock 1R:source 2W:sink")
    assert [p.op for p in explanation(finding(made))] == ["read", "write"]
    assert len(all_steps(finding(made))) == 3


def test_points_of_one_thread_on_one_line_are_one_step():
    read, write, fail = points("1R:source 1W:body 1F:body:")
    made = [
        replaced(read, value="1"),
        replaced(write, value="2", line=read.line),
        replaced(fail, line=read.line),
        *points("2R:sink"),
    ]
    first, second = all_steps(finding(made))
    assert (first.what, first.failing, first.number) == ("read 1, write 2", True, 1)
    assert (second.what, second.failing, second.number) == ("read x", False, 2)


def test_a_read_of_another_value_is_marked():
    values = ["1", "0", "0"]
    made = [
        replaced(p, value=v)
        for p, v in zip(points("1R:source 2W:sink 1R:suffix"), values, strict=True)
    ]
    assert [step.mark for step in all_steps(finding(made))] == ["", "", "was 1"]


def test_a_value_that_the_thread_wrote_itself_is_not_marked():
    made = [replaced(p, value=v) for p, v in zip(points("1W:a 1R:b"), "55", strict=True)]
    assert [step.mark for step in all_steps(finding(made))] == ["", ""]


def test_variables_are_named_where_there_are_several():
    made = points("1W:source:a 2R:sink:b")
    assert [step.what for step in all_steps(finding(made))] == ["write a", "read b"]


def test_parts_of_a_variable_are_shown():
    made = [
        replaced(points("1W:source")[0], part="['a']", value="1"),
        replaced(points("2C:sink")[0], part=".clear()"),
    ]
    assert [step.what for step in all_steps(finding(made))] == ["write ['a'] = 1", "call x.clear()"]


def test_values_of_different_parts_are_not_compared():
    made = [
        replaced(p, part=part, value=value)
        for p, part, value in zip(
            points("1W:a 1R:b"), ("['a']", ""), ("1", "{'a': 1}"), strict=True
        )
    ]
    assert [step.mark for step in all_steps(finding(made))] == ["", ""]


def test_one_name_is_enough_for_one_step():
    read, write, *others = points("1R:source:a 1W:body:a 1R:body:b 1C:body:b 2R:sink:a")
    made = [replaced(read, value="1"), replaced(write, value="2"), *others]
    made[:4] = [replaced(point, line=1) for point in made[:4]]
    first, second = all_steps(finding(made))
    assert (first.what, second.what) == ("read a = 1, write 2, call b", "read a")


def test_long_and_odd_values_are_made_fit():
    made = [replaced(points("1R:source")[0], value="x" * 99)]
    (step,) = all_steps(finding(made))
    assert step.what == "read " + "x" * 24 + "…" + "x" * 23
    assert clean("a\x1b[31m\nb") == "a [31m b"


def locked(text, *locks):
    return [replaced(p, locks=held) for p, held in zip(points(text), locks, strict=True)]


@pytest.mark.parametrize(
    ("made", "remark"),
    [
        (
            locked("1R:source 2W:sink 1R:suffix", ("L",), ("M", "L"), ("L",)),
            "Every access holds L, but steps 1 and 3 are in different critical sections.",
        ),
        (
            locked("1W:source 2R:sink", ("L",), ("L",)),
            "Every access holds L, which does not decide who comes first.",
        ),
        (
            locked("1W:source 2R:sink", ("L",), ()),
            "No common lock: step 1 holds L, step 2 holds none.",
        ),
        (locked("1W:source 2R:sink", (), ()), "No lock is held at these accesses."),
        (
            locked("1R:source 2W:sink 1R:suffix", (), ("L",), ()),
            "No common lock: steps 1 and 3 hold none, step 2 holds L.",
        ),
        (
            locked("1R:source 2W:sink 1R:suffix", ("B.l",), ("B.l #2",), ("B.l",)),
            "Steps 1, 2 and 3 hold locks of two different B objects.",
        ),
        (
            locked("1R:source 2W:sink", ("lock #2",), ("lock",)),
            "Steps 1 and 2 hold two different locks.",
        ),
        (
            locked("1R:source 2W:sink", ("B.l #2",), ()),
            "No common lock: step 1 holds B.l, step 2 holds none.",
        ),
        (
            locked("2W:prefix 1R:source 2W:sink 1R:suffix", (), ("l",), ("l #2",), ("l",)),
            "No common lock: step 1 holds none, step 2 holds l, step 3 holds l #2. "
            "l and l #2 are different locks.",
        ),
        (
            locked("1R:source 2W:sink 1R:suffix", ("B.l #2", "B.l"), ("B.l",), ("B.l #2", "B.l")),
            "Every access holds B.l, but steps 1 and 3 are in different critical sections.",
        ),
    ],
)
def test_remarks_on_locks(made, remark):
    value = finding(made)
    steps = all_steps(value)
    assert lock_remark(checked(value), steps) == remark
    assert lock_remark(value, steps) == ""


@pytest.mark.parametrize(
    ("sections", "remark"),
    [
        ((5, 5), "Steps 1 and 3 are in one critical section of L, but step 2 does not hold it."),
        ((5, 6), "No common lock: steps 1 and 3 hold L, step 2 holds none."),
        ((), "No common lock: steps 1 and 3 hold L, step 2 holds none."),
    ],
)
def test_a_critical_section_that_another_thread_does_not_respect(sections, remark):
    made = locked("1R:source 2W:sink 1R:suffix", ("L",), (), ("L",))
    for at, section in zip((0, 2), sections, strict=False):
        made[at] = replaced(made[at], sections=(section,))
    value = finding(made)
    assert lock_remark(checked(value), all_steps(value)) == remark


def test_of_an_access_that_was_not_seen_nothing_is_said():
    made = locked("1R:source 2W:sink 1W:suffix", ("B.l",), ("B.l #2",), ())
    made[2] = replaced(made[2], unseen=True)
    value = finding(made)
    remark = lock_remark(checked(value), all_steps(value))
    assert remark == "Steps 1 and 2 hold locks of two different B objects."
    made[1] = replaced(made[1], unseen=True)
    value = finding(made)
    assert lock_remark(checked(value), all_steps(value)) == ""


def test_the_core_is_found_again_among_the_steps():
    value = finding(points("1R:prefix:y 1W:source 2R:sink"))
    assert [step.number for step in core_steps(value, all_steps(value))] == [2, 3]


def test_titles_name_two_variables_at_most():
    value = Finding(1, "recon", 1.0, {}, "other", ("a", "b", "c", "d"), (), 1)
    assert title(value) == "suspicious interleaving on a, b and 2 more"


def test_a_step_without_a_value_names_its_variable():
    (step,) = all_steps(finding([replaced(points("1R:source")[0], value=None)]))
    assert step.what == f"read {step.points[0].variable}"


def test_a_call_and_what_was_done_in_it_may_be_one_step():
    call, inner, other = points("1W:source 1W:body 2R:sink")
    call = replaced(call, op="enter", value="Lock.release", variable="")
    inner = replaced(inner, value="None", within=True, text="")
    made = msgspec.structs.replace(
        finding([call, inner, other]), explanation=(call, inner, other), orders=((2, 3),)
    )
    first, second = brief_steps(made)
    assert (first.line, first.what) == (1, "calls Lock.release, write None at :2")
    assert second.line == 3
    elsewhere = msgspec.structs.replace(
        made, explanation=(call, replaced(inner, file="a/n.py"), other)
    )
    assert brief_steps(elsewhere)[0].what == "calls Lock.release, write None at a/n.py:2"


def test_what_was_done_in_a_call_is_shown_with_its_source():
    call, inner, other = points("1W:source 1R:body 2W:sink")
    call = replaced(call, op="enter", value="Lock.acquire", variable="", text="with lock:")
    inner = replaced(inner, value="<File>", within=True, text="if self.file is None:")
    made = msgspec.structs.replace(
        finding([call, inner, other]), explanation=(call, inner, other), orders=((2, 3),)
    )
    first, _ = brief_steps(made)
    assert first.what == "calls Lock.acquire, read <File> at :2: if self.file is None"


def test_a_wait_says_that_it_releases_the_lock():
    check, wait, other = points("1R:source 1A:body 2W:sink")
    wait = replaced(wait, op="release", variable="", text="self.cond.wait()")
    steps = brief_steps(finding([check, wait, other]))
    assert steps[1].what == "waits, and releases its lock meanwhile"
    lifted = replaced(wait, text="self.pause()", awaits="Desk.pause", variable="Desk.cond")
    steps = brief_steps(finding([check, lifted, other]))
    assert steps[1].what == "calls Desk.pause, which waits and releases Desk.cond meanwhile"


def test_taking_a_lock_that_is_the_variable_at_fault_is_a_step():
    check, taken, other, last = points("1R:source 2A:body 2W:sink 1W:suffix")
    lines = [step.line for step in brief_steps(finding([check, taken, other, last]))]
    assert lines == [1, 2, 3, 4]
    another = replaced(taken, variable="y")
    lines = [step.line for step in brief_steps(finding([check, another, other, last]))]
    assert lines == [1, 3, 4]


def test_what_a_call_returns_is_no_attribute():
    made = points("1R:source:json.loads(p.read_text())['n'] 2W:sink:Book.n")
    steps = brief_steps(finding(made))
    assert [step.what for step in steps] == ["read json.loads(p.read_text())['n']", "write n"]


def test_what_is_not_there_has_words_of_its_own():
    read, write, again = points("1R:source 2W:sink 1R:suffix", "Cache.data['a']")
    made = [
        replaced(read, value="<unset>"),
        replaced(write, value="<unset>"),
        replaced(again, value="1"),
    ]
    steps = brief_steps(finding(made))
    assert [step.what for step in steps] == [
        "read Cache.data['a'] = (not there)",
        "write Cache.data['a'] = (gone)",
        "read 1",
    ]
    assert steps[-1].mark == "was (not there)"
