# SPDX-License-Identifier: Apache-2.0
"""The commands, end to end on the parent's side: the fork server is a fake one."""

import gc
import json
import os
import platform
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import pytest

from unsnarl.campaigns import store as stores
from unsnarl.campaigns.campaign import Campaign
from unsnarl.campaigns.store import Store
from unsnarl.campaigns.tally import KEPT_PASSING
from unsnarl.cli.main import cli, run
from unsnarl.errors import ToolError, UsageError
from unsnarl.execution import engine, interpreter, server, target
from unsnarl.execution.interpreter import Interpreter
from unsnarl.model.choices import METHODS, REPRODUCTIONS

FAKE = Path(__file__).with_name("fake_server.py")
PROGRAM = "import threading\n\nx.value\nx.value = 1\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    python = Interpreter(sys.executable, "3.11.7", sys.prefix)
    monkeypatch.setattr(interpreter, "ours", lambda **_: python)
    monkeypatch.setattr(server, "SERVER", (str(FAKE),))
    return tmp_path


def hunt(*arguments: str, mode: str = "mixed") -> int:
    return run(["hunt", *arguments, "--", "program.py", mode])


def test_an_unknown_python_is_run_by_force_and_says_what_is_not_known(project, monkeypatch, capsys):
    asked = []

    def ours(*, force: bool = False) -> Interpreter:
        asked.append(force)
        unknown = "Python 3.16.0 was never tried. Not known: all" if force else ""
        return Interpreter(sys.executable, "3.16.0", sys.prefix, unknown=unknown)

    monkeypatch.setattr(interpreter, "ours", ours)
    hunt("--force-python", "--max-runs", "2", mode="pass")
    assert asked and all(asked)
    assert "3.16.0 was never tried" in capsys.readouterr().out


def test_a_free_threaded_python_only_switches_freely(project, monkeypatch, capsys):
    python = Interpreter(sys.executable, "3.13.15t", sys.prefix, is_free_threaded=True)
    monkeypatch.setattr(interpreter, "ours", lambda **_: python)
    assert hunt("--fail", "5", "--pass", "5") == 1
    assert {one.record.switch for one in records(project)} == {"free"}
    assert "latent" not in capsys.readouterr().out


def records(project: Path) -> list:
    return Store.open(stores.campaigns(project)[-1]).runs()


def test_a_failure_is_found_ranked_and_stored(project, capsys):
    assert hunt("--fail", "5", "--pass", "5") == 1
    out = capsys.readouterr().out
    assert "ValueError: boom 7" in out and "program.py:3" in out
    folder = stores.campaigns(project)[-1]
    found = Store.open(folder).runs()
    signatures = {stored.record.signature for stored in found if stored.record.label == "fail"}
    assert signatures == {"ValueError in program.py:work [x.value]: boom N"}
    kept = [stored for stored in found if stored.kept]
    assert sum(s.record.label == "fail" for s in kept) >= 5
    assert 5 <= sum(s.record.label == "pass" for s in kept) <= 5 * KEPT_PASSING
    files = {path.stem for path in (folder / "runs").glob("*.run")}
    assert files == {f"{stored.record.number:06d}" for stored in kept}


def test_json_goes_to_standard_output_alone(project, capsys):
    assert hunt("--fail", "3", "--pass", "3", "--json") == 1
    captured = capsys.readouterr()
    report = json.loads(captured.out)
    assert report["version"] == 1 and report["command"] == ["program.py", "mixed"]
    assert report["runs"]["fail"] >= 3 and report["runs"]["pass"] >= 3
    assert report["instrumented"]["threads_controlled"] == 3
    assert report["failures"][0]["switch"] == "gil" and not report["failures"][0]["latent"]
    assert captured.err == ""


def test_json_goes_to_a_file_beside_the_text(project, capsys):
    assert hunt("--fail", "3", "--pass", "3", "--json", "answer.json") == 1
    assert json.loads((project / "answer.json").read_text())["failures"]
    assert "ValueError" in capsys.readouterr().out


def test_rank_and_show_answer_from_the_store(project, capsys):
    hunt("--fail", "4", "--pass", "4")
    capsys.readouterr()
    assert run(["rank", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["method"] == "joined" and document["findings"]
    assert run(["rank"]) == 0
    assert run(["show", "1"]) == 0
    assert "program.py" in capsys.readouterr().out
    assert run(["show", "99"]) == 2
    assert "[no-finding]" in capsys.readouterr().err


def test_nothing_failing_exits_with_0_and_the_bound(project, capsys):
    assert hunt("--max-runs", "60", "--switch", "gil", mode="pass") == 0
    assert "below 5 %" in capsys.readouterr().out
    assert run(["rank"]) == 2
    assert "[nothing-to-rank]" in capsys.readouterr().err


def test_too_few_runs_are_inconclusive(project, capsys):
    assert hunt("--time", "0.5", "--jobs", "1", "--pass", "25", mode="slow") == 4
    assert "[budget-out]" in capsys.readouterr().out


def test_a_thread_out_of_control_is_never_green(project, capsys):
    assert hunt("--max-runs", "40", mode="uncontrolled") == 4
    assert "[uncontrolled-threads]" in capsys.readouterr().out


def test_a_target_without_threads(project, capsys):
    assert hunt(mode="alone") == 3
    assert "[no-threads]" in capsys.readouterr().err


def test_a_target_that_fails_before_its_threads_start(project, capsys):
    assert hunt(mode="early") == 2
    err = capsys.readouterr().err
    assert "[fails-early]" in err and "Traceback: boom" in err


def test_a_target_that_always_fails(project, capsys):
    assert hunt(mode="fail") == 1
    assert "[always-fails]" in capsys.readouterr().out
    assert 40 <= len(records(project)) < 60


def test_a_hunt_that_cannot_begin_leaves_nothing_open(project):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert hunt(mode="refuse") == 2
        gc.collect()
    assert [one for one in seen if one.category is ResourceWarning] == []


def test_a_target_that_cannot_be_imported(project, capsys):
    assert hunt(mode="refuse") == 2
    assert "no module x [target-import-failed]" in capsys.readouterr().err


def test_auto_turns_to_free_and_supports_the_claim(project, capsys):
    assert hunt("--fail", "5", "--pass", "5", "--json", mode="latent") == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert failure["switch"] == "free" and failure["latent"]
    found = records(project)
    first = [stored.record.switch for stored in found[:20]]
    assert first == ["gil"] * 20
    support = [stored for stored in found if stored.phase == "support"]
    assert len(support) == 200 and {s.record.switch for s in support} == {"gil"}
    assert not any(stored.kept for stored in support)


def test_a_failure_that_the_lock_seldom_allows_is_not_called_latent(project, capsys):
    assert hunt("--fail", "5", "--pass", "5", "--json", mode="seldom") == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert failure["switch"] == "gil" and not failure["latent"] and failure["count"] >= 5


def test_switch_gil_stays_in_gil(project):
    assert hunt("--switch", "gil", "--max-runs", "40", mode="latent") == 0
    assert {stored.record.switch for stored in records(project)} == {"gil"}


def test_fail_if_looks_at_the_output(project, capsys):
    code = hunt("--fail-if", "says hello", "--max-runs", "50", "--json", mode="pass")
    assert code == 1
    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert failure["signature"] == "output: says hello"


def test_a_damaged_run_file_is_named_and_skipped(project, capsys):
    hunt("--max-runs", "30", "--switch", "gil", mode="cut")
    out = " ".join(capsys.readouterr().out.split())
    assert "000002.run" in out and "[damaged-runs]" in out
    assert not records(project)[1].kept


def test_runs_that_leave_no_file(project, capsys):
    assert hunt(mode="fileless") == 3
    assert "[no-run-files]" in capsys.readouterr().err


def test_a_server_that_dies_once_is_restarted(project, capsys):
    assert hunt("--max-runs", "30", mode="dies-once") == 0
    assert "[runs-lost]" in capsys.readouterr().out
    assert len(records(project)) == 30


def test_a_server_that_always_dies_is_an_error(project, capsys):
    assert hunt(mode="dead") == 3
    assert "[server-failed]" in capsys.readouterr().err


def test_a_run_past_its_limit_is_killed_from_outside(project, monkeypatch, capsys):
    monkeypatch.setattr(engine, "GRACE_SECONDS", 0.2)
    start = time.monotonic()
    code = hunt("--timeout", "0.1", "--time", "5", "--jobs", "1", mode="stuck")
    assert code == 4 and time.monotonic() - start < 60  # what one run would take
    assert "[always-hangs]" in capsys.readouterr().out
    assert {stored.record.label for stored in records(project)} == {"hang"}


def test_resume_goes_on_where_the_hunt_stopped(project):
    assert hunt("--max-runs", "12", "--fail", "50", "--pass", "50") == 1
    folder = stores.campaigns(project)[-1]
    (folder / "runs" / "000013.run").write_bytes(b"in progress")
    assert run(["hunt", "--resume", "--max-runs", "20"]) == 1
    found = Store.open(folder).runs()
    assert [stored.record.number for stored in found] == list(range(1, 21))
    assert len(stores.campaigns(project)) == 1


def test_resume_without_a_campaign(project, capsys):
    assert run(["hunt", "--resume", "--", "program.py"]) == 2
    assert "[no-campaign]" in capsys.readouterr().err


def test_an_interrupt_stores_what_there_is(project, monkeypatch, capsys):
    finish = Campaign._finish

    def interrupting(campaign, *arguments):
        finish(campaign, *arguments)
        if campaign.tally.total == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Campaign, "_finish", interrupting)
    assert hunt("--jobs", "1", mode="slow") == 130
    assert "--resume" in capsys.readouterr().err
    assert records(project)


def test_a_run_costs_the_parent_little(project, monkeypatch):
    """Counted in calls, which are the same on every machine; benchmarks have the times."""
    calls = []
    collect = Campaign.collect

    def counted(campaign, *arguments):
        events = Counter()
        sys.setprofile(lambda frame, event, argument: events.update((event,)))
        try:
            stop = collect(campaign, *arguments)
        finally:
            sys.setprofile(None)
        calls.append((events["call"] + events["c_call"]) / campaign.tally.total)
        return stop

    monkeypatch.setattr(Campaign, "collect", counted)
    assert hunt("--max-runs", "200", "--fail", "200", "--pass", "200", "--no-confirm") == 1
    assert calls[0] < 3000  # today 1400


def test_settings_come_from_pyproject(project, capsys):
    (project / "pyproject.toml").write_text("[tool.unsnarl]\nfail = 'x'\n")
    assert hunt() == 2
    assert "tool.unsnarl.fail" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "slug"),
    [
        (["hunt"], "command-missing"),
        (["hunt", "--", "no-such-program"], "command-not-found"),
        (["hunt", "--", "missing.py"], "command-not-found"),
        (["hunt", "--", "python", "missing.py"], "command-not-found"),
        (["hunt", "--", "sh", "-c", "true"], "program-without-probe"),
        (["hunt", "--", sys.executable, "-c", "pass"], "command-unsupported"),
        (["hunt", "--", sys.executable, "-m"], "command-unsupported"),
        (["hunt", "--fail-if", "(", "--", "program.py"], "bad-pattern"),
        (["hunt", "--fail", "0", "--", "program.py"], "bad-argument"),
        (["hunt", "--json", "program.py", "x"], "bad-argument"),
    ],
)
def test_wrong_usage(project, capsys, arguments, slug):
    assert run(arguments) == 2
    assert f"[{slug}]" in capsys.readouterr().err
    assert not stores.campaigns(project)


def test_unknown_options_and_commands_are_usage_errors(capsys):
    assert run(["hunt", "--cluster", "x", "--", "a.py"]) == 2
    assert run(["dance"]) == 2
    assert run(["rank", "--method", "astrology"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_bug_of_ours_is_not_a_failure_of_the_target(project, monkeypatch, capsys):
    monkeypatch.setattr(target, "parse", lambda *_: 1 / 0)
    assert hunt() == 3
    assert "[internal-error]" in capsys.readouterr().err


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom unsnarl.cli.main import run\nrun(['--help']); run(['hunt', '--help'])\n"
        "print([m for m in ('numpy', 'rich', 'msgspec') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.splitlines()[-1] == "[]"


VERBS = [name for names in cli._sections.values() for name in names]


def test_commands_are_listed_by_workflow_and_no_summary_is_cut(capsys):
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    headings = ["Find:", "Understand:", "Prove:", "Reproduce:", "Build and maintain:"]
    assert [line for line in text.splitlines() if line in headings] == headings
    for name in VERBS:
        (line,) = [line for line in text.splitlines() if line.split()[:1] == [name]]
        assert len(line) <= 78 and line.endswith(".") and not line.endswith("...")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example_in_its_help_and_fits_the_terminal(capsys, verb):
    assert run([verb, "--help"]) == 0
    text = capsys.readouterr().out
    assert f"unsnarl {verb}" in text.partition("Examples:")[2]
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize(
    ("system", "machine"), [("Darwin", "arm64"), ("Linux", "riscv64"), ("Windows", "AMD64")]
)
def test_other_platforms_are_refused_before_anything_runs(
    project, monkeypatch, capsys, system, machine
):
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    for arguments in (["hunt", "--", "program.py"], ["record", "--", "program.py"], ["demo"]):
        assert run(arguments) == 3
        assert "[platform-unsupported]" in capsys.readouterr().err
    assert not stores.campaigns(project)
    assert run(["hunt", "--help"]) == 0
    assert run(["doctor"]) == 3


def test_a_finding_is_named_by_its_id_wherever_a_number_is_allowed(project, capsys):
    hunt("--fail", "4", "--pass", "4")
    capsys.readouterr()
    run(["rank", "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    names = [finding["id"] for finding in findings]
    assert len(set(names)) == len(names) and all(names)
    run(["rank"])
    assert all(name in capsys.readouterr().out for name in names[:1])
    run(["show", "1", "--json"])
    first = capsys.readouterr().out
    for word in (names[0], names[0].rpartition("-")[2], f"another-word-{names[0][-4:]}"):
        assert run(["show", word, "--json"]) == 0
        assert capsys.readouterr().out == first
    assert run(["export", names[0]]) == 0
    assert run(["show", "length-0000"]) == 2
    assert "[no-finding]" in capsys.readouterr().err


def test_ids_survive_a_new_ranking(project, capsys):
    hunt("--fail", "4", "--pass", "4")
    capsys.readouterr()
    run(["rank", "--json"])
    before = {finding["id"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert run(["hunt", "--resume", "--fail", "12", "--pass", "12"]) == 1
    capsys.readouterr()
    run(["rank", "--json"])
    after = {finding["id"] for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert before & after


def test_workflows_return_values_and_print_nothing(project, capfd):
    from unsnarl.workflows.export import export
    from unsnarl.workflows.hunt import hunt as hunt_workflow
    from unsnarl.workflows.rank import rank
    from unsnarl.workflows.show import show

    seen = []
    flags = {"fail": 3, "pass": 3}
    result = hunt_workflow(("program.py", "mixed"), flags, on_progress=seen.append)
    assert (result.exit_code, result.ends_with) == (1, None)
    assert seen[-1].runs == result.report.runs.total
    hunting = [one for one in seen if not one.doing]
    assert [one.runs for one in hunting] == list(range(1, len(hunting) + 1))
    assert {"ranking", "naming and explaining"} <= {one.doing for one in seen}
    assert rank() == result.report
    report, chosen = show("1")
    assert report == result.report and chosen.failure == report.failures[0]
    assert export(chosen.finding.id).startswith(b"digraph")
    assert capfd.readouterr() == ("", "")


def test_a_report_that_cannot_be_stored_is_shown_all_the_same(project, monkeypatch, capsys):
    from unsnarl.workflows import campaign_report

    def full(*_):
        raise ToolError("disk-full", "no room left")

    monkeypatch.setattr(campaign_report, "save_report", full)
    assert hunt("--fail", "3", "--pass", "3") == 3
    captured = capsys.readouterr()
    assert "ValueError: boom 7" in captured.out and "[disk-full]" in captured.err


def test_doctor_answers(project, capsys):
    assert run(["doctor", "--json"]) in (0, 3)
    document = json.loads(capsys.readouterr().out)
    names = {check["name"] for check in document["checks"]}
    assert {"unsnarl", "platform", "python", "core", "pinning"} <= names
    assert run(["doctor"]) in (0, 3)


class TestTarget:
    def test_a_script(self, project):
        found = target.parse(["program.py", "a", "-b"], project)
        assert (found.kind, found.args) == ("script", ("program.py", "a", "-b"))
        assert found.root == project.resolve()

    def test_python_with_flags(self, project):
        found = target.parse([sys.executable, "-X", "dev", "-u", "program.py", "-m"], project)
        assert (found.kind, found.args) == ("script", ("program.py", "-m"))
        assert found.flags == ("-X", "dev", "-u")

    def test_a_module(self, project):
        found = target.parse([sys.executable, "-m", "pkg.mod", "x"], project)
        assert (found.kind, found.args) == ("module", ("pkg.mod", "x"))

    def test_pytest_in_its_three_forms(self, project):
        scripts = project / "bin"
        scripts.mkdir()
        (scripts / "pytest").write_text(f"#!{sys.executable}\n")
        (scripts / "pytest").chmod(0o755)
        found = target.parse(["bin/pytest", "-x"], project)
        assert (found.kind, found.args) == ("pytest", ("-x",))
        found = target.parse([sys.executable, "-m", "pytest", "-x"], project)
        assert (found.kind, found.args) == ("module", ("pytest", "-x"))

    def test_pytest_by_name_without_one_on_the_path(self, project, monkeypatch):
        monkeypatch.setenv("PATH", str(project))
        assert target.parse(["pytest"], project).python.executable == sys.executable

    def test_a_console_script(self, project, monkeypatch):
        script = project / "tool"
        script.write_text(f"#!{sys.executable}\n")
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(project))
        assert target.parse(["tool", "x"], project).args == (str(script), "x")
        assert target.parse(["./tool", "x"], project).args == ("./tool", "x")

    def test_a_console_script_with_a_long_shebang(self, project):
        script = project / "tool"
        script.write_text(f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\n")
        script.chmod(0o755)
        assert target.parse(["./tool"], project).python.executable == sys.executable

    def test_a_script_elsewhere_has_its_own_root(self, project, tmp_path_factory):
        other = tmp_path_factory.mktemp("other")
        (other / "setup.py").touch()
        (other / "main.py").touch()
        assert target.parse([str(other / "main.py")], project).root == other


def fake_python(
    folder: Path, version: list[int], core: str, *, free_threaded: bool = False
) -> Path:
    answer = {
        "prefix": "/opt/elsewhere",
        "version": version,
        "implementation": "CPython",
        "executable": "/opt/elsewhere/bin/python",
        "core": core,
        "free_threaded": free_threaded,
        "unclassified": ["LOAD_NEW"] if version > [3, 15, 99] else [],
    }
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    path.chmod(0o755)
    return path


class TestInterpreter:
    def test_an_unsupported_version(self, tmp_path):
        with pytest.raises(ToolError) as caught:
            interpreter.resolve(fake_python(tmp_path, [3, 10, 4], ""))
        assert caught.value.slug == "python-unsupported" and "3.10.4" in caught.value.message

    def test_a_version_that_nobody_has_seen(self, tmp_path):
        with pytest.raises(ToolError) as caught:
            interpreter.resolve(fake_python(tmp_path, [3, 16, 0], ""))
        assert caught.value.slug == "python-unsupported"
        assert "3.16.0; unsnarl needs CPython 3.11 to 3.15" in caught.value.message

    def test_a_free_threaded_build_is_named_as_such(self, tmp_path):
        found = interpreter.resolve(fake_python(tmp_path, [3, 13, 1], "", free_threaded=True))
        assert found.is_free_threaded and found.version == "3.13.1t" and not found.unknown

    def test_a_free_threaded_build_that_nobody_has_tried(self, tmp_path):
        with pytest.raises(ToolError) as caught:
            interpreter.resolve(fake_python(tmp_path, [3, 14, 0], "", free_threaded=True))
        assert caught.value.slug == "python-unsupported" and "3.14.0t" in caught.value.message

    def test_a_newer_version_by_force(self, tmp_path):
        found = interpreter.resolve(fake_python(tmp_path, [3, 16, 0], ""), force=True)
        assert found.version == "3.16.0"
        assert "what its instructions LOAD_NEW do" in found.unknown
        with pytest.raises(ToolError):
            interpreter.resolve(fake_python(tmp_path, [3, 10, 4], ""), force=True)

    def test_an_environment_without_unsnarl(self, tmp_path):
        with pytest.raises(ToolError) as caught:
            interpreter.resolve(fake_python(tmp_path, [3, 12, 1], "ImportError: no"))
        assert caught.value.slug == "python-without-unsnarl"
        assert "/opt/elsewhere/bin/python -m pip install unsnarl" in caught.value.hint

    def test_another_environment_that_has_it(self, tmp_path):
        found = interpreter.resolve(fake_python(tmp_path, [3, 12, 1], ""))
        assert found == Interpreter("/opt/elsewhere/bin/python", "3.12.1", "/opt/elsewhere")

    def test_something_that_does_not_answer(self, tmp_path):
        path = tmp_path / "python3"
        path.write_text("#!/bin/sh\nexit 3\n")
        path.chmod(0o755)
        with pytest.raises(UsageError) as caught:
            interpreter.resolve(path)
        assert caught.value.slug == "command-not-python"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_ranks_what_is_stored(project, capsys, method):
    hunt("--fail", "4", "--pass", "4")
    capsys.readouterr()
    run(["show", "1", "--json"])
    before = capsys.readouterr().out
    assert run(["rank", "--method", method, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["method"] == method
    assert {finding["method"] for finding in document["findings"]} <= {method, "bugaboo"}
    # Only the default ranking is the campaign's report.
    run(["show", "1", "--json"])
    assert capsys.readouterr().out == before


def test_the_names_of_the_methods_are_those_of_the_analyses():
    from unsnarl.analyses import methods
    from unsnarl.reproduce.methods import DEFAULT, MODULES

    assert tuple(methods.METHODS) == METHODS
    assert METHODS[0] == methods.DEFAULT
    assert tuple(MODULES) == REPRODUCTIONS
    assert REPRODUCTIONS[0] == DEFAULT


def test_what_is_rare_is_ranked_only_if_asked_for_and_says_what_it_means(project, capsys):
    assert hunt("--max-runs", "10", "--pass", "5", "--unlabelled") in (0, 1)
    assert "Rare is not wrong" in " ".join(capsys.readouterr().out.split())
    assert run(["rank", "--unlabelled"]) == 0
    assert "violation" not in capsys.readouterr().out


def test_a_finding_is_exported_for_graphviz(project, capsys, tmp_path):
    hunt("--fail", "4", "--pass", "4")
    capsys.readouterr()
    assert run(["export", "1"]) == 0
    assert capsys.readouterr().out.startswith("digraph finding {")
    target = tmp_path / "finding.dot"
    assert run(["export", "1", "-o", str(target)]) == 0
    assert target.read_text().startswith("digraph finding {")
    assert run(["export", "99"]) == 2
    assert run(["export", "1", "-o", str(tmp_path / "no" / "where.dot")]) == 2
