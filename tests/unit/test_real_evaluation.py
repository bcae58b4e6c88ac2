# SPDX-License-Identifier: Apache-2.0
"""The pure parts of the evaluation of real bugs: cases, what a finding names, bars, the page."""

import argparse

import msgspec
import pytest
from evaluation import real, real_environments, real_page
from evaluation.real_cases import CasePoint, load_case, load_cases, named, sources_under
from evaluation.real_forms import as_script
from evaluation.real_page import MeasuredCases
from evaluation.real_results import (
    Applied,
    Checked,
    Costs,
    Ended,
    FixedHunt,
    Measured,
    SimulatedFix,
)

from unsnarl.model.report import FindingPoint

CASE = """
package = "pool"
version = "1.0"
fixed_version = "1.1"
requires = ["six==1.16.0"]
kind = "check-then-act"
form = "{form}"
set = "{set}"
include = ["pool"]

[[point]]
file = "pool/core.py"
function = "Pool.take"
line = "if self.free:"

[[point]]
file = "pool/core.py"
function = "Pool.take"
line = ["return self.free.pop()", "return self.free.popleft()"]

[[point]]
file = "pool/core.py"
function = "Pool.put"
line = "self.free.append(one)"
role = "context"
"""


def write_case(folder, name="leak", form="pytest", set="work", text=CASE):
    (folder / name).mkdir(parents=True)
    (folder / name / "case.toml").write_text(text.format(form=form, set=set))
    (folder / name / f"test_{name}.py").touch()
    (folder / name / f"{name}.py").touch()
    return folder / name


def test_a_case_knows_its_command_and_what_each_release_needs(tmp_path):
    case = load_case(write_case(tmp_path))
    assert case.command == ("python", "-m", "pytest", "test_leak.py")
    assert case.pins(fixed=False) == ("pool==1.0", "six==1.16.0")
    assert case.pins(fixed=True) == ("pool==1.1", "six==1.16.0")
    assert [point.function for point in case.must] == ["Pool.take"] * 2
    assert case.label == "pool 1.0"


@pytest.mark.parametrize(
    ("form", "command"),
    [
        ("script", ("python", "leak.py")),
        ("unittest", ("python", "-m", "unittest", "test_leak")),
    ],
)
def test_a_case_may_be_a_script_or_a_unittest(tmp_path, form, command):
    assert load_case(write_case(tmp_path, form=form)).command == command


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('form = "{form}"', 'form = "notebook"', "notebook"),
        ('package = "pool"', "", "a package or a twin"),
        ('fixed_version = "1.1"', "", "fixed_version"),
        ('include = ["pool"]', 'driver = "gone.py"', "gone.py"),
        ("[[point]]", "[[other]]", "point"),
    ],
)
def test_a_case_that_is_not_well_formed_is_refused(tmp_path, old, new, complaint):
    folder = write_case(tmp_path, text=CASE.replace(old, new))
    with pytest.raises(ValueError, match=complaint):
        load_case(folder)


def test_a_case_without_a_point_that_must_be_named_is_refused(tmp_path):
    text = CASE.replace("line = ", 'role = "context"\nline = ', 2)
    with pytest.raises(ValueError, match="must"):
        load_case(write_case(tmp_path, text=text))


def test_cases_are_listed_by_set_and_name(tmp_path):
    write_case(tmp_path, "b", set="held-out")
    write_case(tmp_path, "c")
    write_case(tmp_path, "a")
    assert [case.name for case in load_cases([tmp_path])] == ["a", "c", "b"]


def chosen(tmp_path, *words):
    options = real._parser().parse_args(["--cases", str(tmp_path), *words])
    return [case.name for case in real.chosen(options)]


def test_held_out_cases_are_measured_only_if_asked_for(tmp_path):
    write_case(tmp_path, "mine")
    write_case(tmp_path, "unseen", set="held-out")
    write_case(tmp_path, "undecided", set="?")
    assert chosen(tmp_path) == ["mine"]
    assert chosen(tmp_path, "--set", "held-out") == ["unseen"]
    assert chosen(tmp_path, "--set", "all") == ["mine", "unseen"]
    assert chosen(tmp_path, "unseen") == ["unseen"]
    with pytest.raises(SystemExit, match="typo"):
        chosen(tmp_path, "typo")


def shown(text="", *, function="Pool.take", file="pool/core.py", line=3, op="read", stack=()):
    return FindingPoint(
        file, line, function, "0.1", 1, op, "free", "body", 1.0, text=text, stack=stack
    )


CHECK = CasePoint("pool/core.py", "Pool.take", "if self.free:")
TAKE = CasePoint("pool/core.py", "Pool.take", ("return self.free.pop()", "return self.pick()"))


def count(lines, callers=False, source=lambda file, line: ""):
    return named([CHECK, TAKE], lines, source, callers)


@pytest.mark.parametrize(
    ("point", "points"),
    [
        (shown("if self.free:"), 1),
        (shown("if  self.free:  # any?"), 1),
        (shown("return self.pick()"), 1),
        (shown("if self.free:", file="/v/site-packages/pool/core.py"), 1),
        (shown("if self.free:", file="core.py"), 1),
        (shown("if self.free:", file="/v/spool/core.py"), 0),
        (shown("if self.free:", function="make.<locals>.Pool.take"), 1),
        (shown("if self.free:", function="Pool.take.<genexpr>"), 1),
        (shown("if self.free:", function="Pool.take.inner"), 1),
        (shown("if self.free:", function="Pool.takes"), 0),
        (shown("if self.free:", function="SpoolPool.take"), 0),
        (shown("if self.free:", function="Pool.put"), 0),
        (shown("if self.used:"), 0),
        (shown("if self.free:", op="fail"), 0),
    ],
)
def test_a_point_is_named_by_file_function_and_text(point, points):
    assert count([point]) == points


def test_functions_in_functions_are_named_as_reports_write_them():
    true = CasePoint("pool/core.py", "cached.<locals>.wrapper", "return cache[k]")
    line = shown("return cache[k]", function="cached.wrapper")
    assert named([true], [line], lambda *_: "", callers=False) == 1


def test_every_true_point_counts_once():
    assert count([shown("if self.free:")] * 3) == 1
    assert count([shown("if self.free:"), shown("return self.pick()")]) == 2
    assert count([]) == 0


def test_a_line_without_text_is_read_from_the_source(tmp_path):
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "core.py").write_text("\n\n    if self.free:\n")
    source = sources_under([tmp_path / "elsewhere", tmp_path])
    assert count([shown()], source=source) == 1
    assert count([shown(line=2)], source=source) == 0
    assert count([shown(line=9, file="gone.py")], source=source) == 0


def test_a_caller_names_a_point_only_where_callers_count():
    inner = shown("pop()", function="helper", stack=("pool/core.py:3 in Pool.take", "odd"))
    assert count([inner], source=lambda file, line: "if self.free:") == 0
    assert count([inner], callers=True, source=lambda file, line: "if self.free:") == 1


GOOD = Measured(
    case="leak",
    label="pool 1.0",
    set="work",
    form="pytest",
    kind="check-then-act",
    seed=1,
    ended=Ended(8.0, 1),
    must=3,
    runs=50,
    failing=25,
    signature="IndexError",
    status="confirmed",
    named=3,
    called=3,
    explained=3,
    in_three=3,
    steps=4,
    shape="check-then-act",
    shapes=("check-then-act", "stale read"),
    fix=SimulatedFix("region", 0, 0, 200),
    patch="lock",
    patch_runs=260,
    applied=Applied(0, 1000),
    timings={"hunt": 5.0, "confirm": 2.0},
    trials={"confirm": 40},
    replayed=20,
    replays=20,
    same=Checked(Ended(1.0, 1), ("fails",)),
    fixed=Checked(Ended(1.0, 0), ("impossible",)),
    fixed_hunt=FixedHunt(Ended(9.0, 0), runs=1000, latent=("free only",), others=("other",)),
    costs=Costs(0.02, 0.01),
)


def changed(**fields):
    return msgspec.structs.replace(GOOD, **fields)


def missed(row):
    return [bar.text for bar in real_page.bars([row]) if bar.part < bar.whole]


def test_a_good_answer_misses_no_bar():
    assert missed(GOOD) == []
    assert all(bar.whole for bar in real_page.bars([GOOD]))


@pytest.mark.parametrize(
    ("fields", "bar"),
    [
        ({"signature": ""}, "found"),
        ({"named": 1}, "most true points in the first finding"),
        ({"named": 2}, "all of them in the first finding"),
        ({"in_three": 2}, "all of them in one of the first three"),
        ({"explained": 2}, "all of them in its explanation"),
        ({"steps": 9}, "explanation of at most 8 steps"),
        ({"steps": 0}, "explanation of at most 8 steps"),
        ({"shape": "lost update"}, "called what an engineer would call it"),
        ({"status": "inconclusive"}, "first finding confirmed"),
        ({"fix": None}, "a fix that works in simulation"),
        ({"fix": SimulatedFix("region", 0, 1, 200)}, "a fix that works in simulation"),
        ({"fix": SimulatedFix("region", 0, 0, 0)}, "a fix that works in simulation"),
        ({"patch": "", "patch_runs": 0}, "a patch that 200 runs survive"),
        ({"patch_runs": 199}, "a patch that 200 runs survive"),
        ({"applied": Applied(1, 1000)}, "no wrong patch shown"),
        ({"applied": Applied(0, 0)}, "no wrong patch shown"),
        ({"ended": Ended(8.0, 3)}, "no internal error"),
        ({"ended": Ended(8.0, -11)}, "no internal error"),
        ({"same": Checked(Ended(1.0, 3))}, "no internal error"),
        ({"complaint": "not installed"}, "no internal error"),
        ({"ended": Ended(70.5, 1)}, "time limit of 60 s kept"),
        ({"ended": Ended(9.0, None)}, "time limit of 60 s kept"),
        ({"ended": Ended(31.0, 1)}, "explained within 30 s"),
        ({"ended": Ended(41.0, 1), "early": 20.0}, "answer with its patch within 40 s"),
        ({"ended": Ended(11.0, 1)}, "explained, median at most 10 s"),
        ({"ended": Ended(13.0, 1), "early": 5.0}, "answer with its patch, median at most 12 s"),
        ({"replayed": 19}, "replays in new processes that fail as recorded"),
        ({"same": Checked(Ended(1.0, 0), ())}, "`verify` says that the bug is still there"),
        ({"same": Checked(Ended(1.0, 1), ("differs",))}, "`verify` says that the bug is still"),
        ({"fixed": Checked(Ended(1.0, 4))}, "`verify` accepts the fixed release or twin"),
        ({"fixed": Checked(Ended(1.0, 1))}, "`verify` does not reject it"),
        ({"fixed_hunt": FixedHunt(Ended(1.0, 1), 9, ("x",))}, "fixed releases and twins without"),
        ({"fixed_hunt": FixedHunt(Ended(1.0, None))}, "fixed releases and twins without"),
        ({"costs": Costs(0.03, 0.01)}, "a run by pytest costs at most twice"),
    ],
)
def test_every_bar_can_be_missed(fields, bar):
    assert any(text.startswith(bar) for text in missed(changed(**fields)))


def test_most_points_are_more_than_half():
    assert not changed(must=2, named=1).points_at_bug
    assert changed(must=3, named=2).points_at_bug
    assert changed(must=1, named=1).points_at_bug


@pytest.mark.parametrize(
    ("driver", "test"),
    [
        ("def test_a(tmp_path): pass\ndef test_b(): pass", "test_b"),
        ("@mark\ndef test_a(): pass", None),
        ("class TestA:\n  def test_a(self): pass", None),
        ("def helper(): pass", None),
        ("def test_a(*, x=1): pass", None),
    ],
)
def test_a_test_that_needs_no_pytest_is_a_script(tmp_path, driver, test):
    (tmp_path / "test_pool.py").write_text(driver)
    script = as_script(tmp_path / "test_pool.py")
    assert (script.test if script else None) == test
    assert script is None or script.text == f"import test_pool\n\ntest_pool.{test}()\n"


def test_an_inconclusive_verify_is_no_rejection():
    row = changed(fixed=Checked(Ended(1.0, 4)))
    assert "`verify` does not reject it" not in missed(row)


def whole_page(*rows, **fields):
    return real_page.page(MeasuredCases("cmd", "2026-01-01", "3.11", 2, rows, **fields))


def test_the_page_has_a_column_per_set_and_a_row_per_case():
    text = whole_page(GOOD, changed(case="other", set="users", ended=Ended(12.0, 1)))
    assert "| bar | wanted | work | seen | held-out | users |" in text
    assert "| found | 95% | 1 of 1 (100.0 %) | – | – | 1 of 1 (100.0 %) |" in text
    shares = "100% | 1 of 1 (100.0 %) | – | – | **0 of 1 (0.0 %)** |"
    assert f"| explained, median at most 10 s | {shares}" in text
    assert "| leak | pool 1.0 | pytest | check-then-act | 25 of 50 | confirmed |" in text
    assert "### Users" in text and "### Held-out" not in text
    assert "| work, pytest | 1 | 8.0 | 5.0 | 2.0 | 1.0 | 100.0 |" in text
    assert "| set and form | hunt | confirm |" in text and "| work, pytest | 50 | 40 |" in text


def test_a_page_of_hunts_has_no_bars_of_what_was_not_measured():
    text = whole_page(changed(same=None, fixed=None, fixed_hunt=None, replays=0), whole=False)
    assert "verify` accepts" not in text and "| found |" in text


def test_a_page_of_a_busy_machine_says_so():
    assert "not quiet" not in whole_page(changed(load=1.5))
    assert "load was 3.0 (median), at most 5.0, on 2 cores" in whole_page(
        changed(load=1.0), changed(load=5.0)
    )


def test_nothing_measured_makes_a_page():
    assert "# Real bugs" in whole_page()


def test_a_row_on_the_terminal_names_what_went_wrong():
    row = changed(same=Checked(Ended(9.0, 3, "IndexError: pop from empty list")))
    assert "IndexError" in real_page.line(row)
    wrong = changed(applied=Applied(2, 1000, ("KeyError in pool.py",)))
    assert "applied 2 of 1000" in real_page.line(wrong)
    assert "KeyError in pool.py" in real_page.line(wrong)
    assert "\n" not in real_page.line(GOOD)


def options_for(folder, **more):
    fields = {"results": folder, "seed": 1, "only_hunt": False, "patches": False, "resume": False}
    return argparse.Namespace(**{**fields, **more})


def test_a_stored_result_is_used_only_if_asked_for(tmp_path, monkeypatch):
    case = load_case(write_case(tmp_path))
    monkeypatch.setattr(real, "measure", lambda case, seed, only: changed(seed=seed))
    folder = tmp_path / "results"
    assert real.measure_or_load(case, options_for(folder)) == GOOD
    monkeypatch.setattr(real, "measure", lambda case, seed, only: changed(runs=99))
    assert real.measure_or_load(case, options_for(folder, resume=True)) == GOOD
    assert real.measure_or_load(case, options_for(folder, resume=True, seed=2)).runs == 99
    assert real.measure_or_load(case, options_for(folder)).runs == 99


def test_the_command_on_the_page_has_no_paths(tmp_path):
    words = ["--set", "users", "--seed", "7", "--results", "/x", "--cases", "/y", "leak"]
    options = real._parser().parse_args(words)
    assert real._command(options) == "python -m evaluation.real --set users --seed 7 leak"


def test_an_environment_is_made_once_for_the_same_pins(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(
        real_environments, "_make", lambda path, pins: made.append(pins) or path.mkdir() or path
    )
    first = real_environments.environment(["a==1"], [tmp_path])
    assert real_environments.environment(["a==1"], [tmp_path]) == first
    assert real_environments.environment(["a==2"], [tmp_path]) != first
    assert made == [["a==1"], ["a==2"]]
