# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from unsnarl import config, errors
from unsnarl.config import Settings
from unsnarl.errors import UsageError


def project(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_defaults_are_those_of_the_contract(tmp_path):
    settings = config.load(tmp_path, {}, {})
    assert (settings.fail, settings.passed, settings.max_runs) == (25, 25, 1000)
    assert (settings.time, settings.timeout, settings.switch) == (60.0, 10.0, "auto")
    assert settings.jobs >= 1


def test_a_given_time_is_used_unless_a_number_of_runs_is_given_too(tmp_path):
    for environ, flags in (({}, {"time": 9}), ({"UNSNARL_TIME": "9"}, {})):
        settings = config.load(tmp_path, environ, flags)
        assert (settings.time, settings.max_runs) == (9, None)
    assert config.load(tmp_path, {}, {"time": 9, "max-runs": 3}).max_runs == 3
    for stored, overridden in ((1000, None), (7, 7), (None, None)):
        options = {"max_runs": stored, "time": 60.0}
        assert config.override(options, {}).max_runs == stored
        assert config.override(options, {"time": 9}).max_runs == overridden


def test_flags_beat_the_environment_beats_pyproject(tmp_path):
    root = project(tmp_path, "[tool.unsnarl]\nfail = 1\npass = 2\nmax-runs = 3\n")
    environ = {"UNSNARL_PASS": "20", "UNSNARL_MAX_RUNS": "30"}
    settings = config.load(root, environ, {"max-runs": 300, "fail": None})
    assert (settings.fail, settings.passed, settings.max_runs) == (1, 20, 300)


def test_include_from_every_source(tmp_path):
    root = project(tmp_path, '[tool.unsnarl]\ninclude = ["a", "b"]\n')
    assert config.load(root, {}, {"include": ()}).include == ("a", "b")
    assert config.load(root, {"UNSNARL_INCLUDE": "c, d"}, {}).include == ("c", "d")
    assert config.load(root, {}, {"include": ("e",)}).include == ("e",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fail = 0", "tool.unsnarl.fail: expected a whole number of 1 or more, got 0"),
        ("fail = true", "tool.unsnarl.fail: expected a whole number"),
        ('time = "soon"', "tool.unsnarl.time: expected a number of seconds"),
        ("time = inf", "tool.unsnarl.time: expected a number of seconds"),
        ('switch = "often"', "tool.unsnarl.switch: expected one of auto, gil, free"),
        ("include = [1]", "tool.unsnarl.include: expected a list of package names"),
        ("max_runs = 3", "tool.unsnarl.max_runs: unknown setting"),
    ],
)
def test_errors_name_the_key(tmp_path, text, words):
    root = project(tmp_path, f"[tool.unsnarl]\n{text}\n")
    with pytest.raises(UsageError) as caught:
        config.load(root, {}, {})
    assert words in caught.value.message
    assert (caught.value.slug, caught.value.exit_code) == ("bad-setting", 2)


def test_an_unknown_key_gets_a_suggestion(tmp_path):
    root = project(tmp_path, "[tool.unsnarl]\nmax_runs = 3\n")
    with pytest.raises(UsageError) as caught:
        config.load(root, {}, {})
    assert caught.value.hint == "did you mean max-runs?"


def test_a_bad_flag_and_a_bad_variable_are_named(tmp_path):
    with pytest.raises(UsageError, match="--jobs: expected"):
        config.load(tmp_path, {}, {"jobs": -1})
    with pytest.raises(UsageError, match="UNSNARL_JOBS: expected"):
        config.load(tmp_path, {"UNSNARL_JOBS": "many"}, {})


def test_an_unreadable_pyproject_is_an_error_with_its_name(tmp_path):
    with pytest.raises(UsageError, match=r"pyproject\.toml"):
        config.load(project(tmp_path, "[tool"), {}, {})


def test_stored_settings_come_back_and_flags_override_them():
    stored = {"fail": 3, "include": ["a"], "time": 5.0, "gone": 1}
    assert config.override(stored, {"time": 9.0}) == Settings(fail=3, include=("a",), time=9.0)


def test_the_root_is_the_nearest_project_or_the_start(tmp_path):
    inner = tmp_path / "project" / "src"
    inner.mkdir(parents=True)
    (tmp_path / "project" / "setup.py").touch()
    assert config.find_root(inner) == tmp_path / "project"
    alone = tmp_path / "alone"
    alone.mkdir()
    assert config.find_root(alone) in (alone, *alone.parents)


def test_a_project_file_in_a_folder_of_everybodys_is_somebody_elses(tmp_path: Path) -> None:
    inner = tmp_path / "mine"
    inner.mkdir()
    (tmp_path / "setup.py").touch()
    assert config.find_root(inner) == tmp_path
    tmp_path.chmod(0o1777)  # as /tmp
    assert config.find_root(inner) == inner
    assert config.find_root(tmp_path) == tmp_path


def test_the_messages_page_is_up_to_date():
    page = Path(__file__).parents[2] / "docs" / "messages.md"
    assert page.read_text() == errors.messages_page(), "python -m unsnarl.errors > docs/messages.md"


def test_no_slug_is_both_error_and_warning():
    assert not set(errors.ERRORS) & set(errors.WARNINGS)


def test_good_exit_statuses_come_as_numbers_or_as_a_text(tmp_path):
    assert config.load(tmp_path, {}, {"ok-exit": (3, 4)}).ok_exit == (3, 4)
    assert config.load(tmp_path, {"UNSNARL_OK_EXIT": "3, 4"}, {}).ok_exit == (3, 4)
    with pytest.raises(UsageError):
        config.load(tmp_path, {}, {"ok-exit": (256,)})


def test_a_time_bounds_the_answer_but_does_not_put_it_off(tmp_path):
    settings = config.load(tmp_path, {}, {"time": 300})
    assert (settings.time, settings.answer) == (300.0, config.ANSWER_SECONDS)
    assert config.load(tmp_path, {"UNSNARL_ANSWER": "90"}, {"time": 300}).answer == 90.0
