# SPDX-License-Identifier: Apache-2.0
"""What a hunt says when it cannot do its work: one message with a slug, the right exit code."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ALONE = "print('hello')\n"
EARLY = "def main():\n    raise KeyError('settings')\n\nmain()\n"
THREADS = """
import threading

done = []

def work(number):
    {body}
    done.append(number)

def main():
    threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

main()
"""


def unsnarl(cwd: Path, *arguments: str, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "unsnarl", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, **options)


def script(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


def assert_error(answer: subprocess.CompletedProcess, code: int, slug: str) -> None:
    assert (answer.returncode, f"[{slug}]" in answer.stderr) == (code, True), answer.stderr
    assert "unsnarl: error: " in answer.stderr and "internal-error" not in answer.stderr


def test_a_command_that_does_not_exist(tmp_path):
    answer = unsnarl(tmp_path, "hunt", "--", "no-such-command", "--flag")
    assert_error(answer, 2, "command-not-found")
    assert "no-such-command" in answer.stderr and not list(tmp_path.iterdir())


def test_a_script_that_does_not_exist(tmp_path):
    answer = unsnarl(tmp_path, "hunt", "--", "python", "missing.py")
    assert_error(answer, 2, "command-not-found")


def test_a_module_that_does_not_exist(tmp_path):
    answer = unsnarl(tmp_path, "hunt", "--", sys.executable, "-m", "no_such_module")
    assert_error(answer, 2, "target-not-found")


def test_a_command_that_is_not_python(tmp_path):
    assert_error(unsnarl(tmp_path, "hunt", "--", "sh", "-c", "true"), 2, "program-without-probe")


def test_a_script_with_a_syntax_error(tmp_path):
    script(tmp_path, "def broken(:\n")
    answer = unsnarl(tmp_path, "hunt", "--", "program.py")
    assert_error(answer, 2, "target-import-failed")
    assert "SyntaxError" in answer.stderr


def test_a_target_that_never_starts_a_thread(tmp_path):
    script(tmp_path, ALONE)
    assert_error(unsnarl(tmp_path, "hunt", "--", "program.py"), 3, "no-threads")


def test_a_target_that_fails_before_any_thread_starts(tmp_path):
    script(tmp_path, EARLY)
    answer = unsnarl(tmp_path, "hunt", "--", "program.py")
    assert_error(answer, 2, "fails-early")
    assert "KeyError: 'settings'" in answer.stderr and "Traceback" in answer.stderr


def test_pytest_without_tests(tmp_path):
    script(tmp_path, ALONE)
    answer = unsnarl(tmp_path, "hunt", "--", sys.executable, "-m", "pytest", "program.py")
    assert_error(answer, 2, "no-tests")


def test_a_target_that_always_fails(tmp_path):
    script(tmp_path, THREADS.format(body="raise ValueError(number)"))
    answer = unsnarl(tmp_path, "hunt", "--", "program.py")
    assert answer.returncode == 1, answer.stderr
    lines = answer.stdout.splitlines()
    # First of all, and instead of findings.
    assert lines[1].startswith("warning: fails in every run (")
    text = " ".join(lines)
    assert "also in the 5 in which no thread was interrupted: not a matter of scheduling" in text
    assert "ValueError" in text and "threads: " not in text and "unsnarl show" not in text
    assert "SUSPECTED" not in text and "CONFIRMED" not in text


def test_a_target_that_never_fails(tmp_path):
    script(tmp_path, THREADS.format(body="pass"))
    answer = unsnarl(tmp_path, "hunt", "--max-runs", "60", "--", "program.py")
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "below 5 %" in answer.stdout


def test_a_target_that_only_hangs(tmp_path):
    script(tmp_path, THREADS.format(body="__import__('subprocess').run(['sleep', '60'])"))
    answer = unsnarl(tmp_path, "hunt", "--timeout", "0.2", "--time", "60", "--", "program.py")
    assert answer.returncode == 4, answer.stdout + answer.stderr
    assert "[always-hangs]" in answer.stdout


@pytest.fixture
def small_disk(tmp_path):
    """A folder with little room, and what to give to subprocess.run."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        yield folder, {}
        subprocess.run(["umount", str(folder)], check=True)
    else:
        limits = (40 << 10, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        yield (
            folder,
            {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits)},
        )


def test_a_full_disk_loses_nothing(tmp_path, small_disk):
    folder, options = small_disk
    program = script(tmp_path, THREADS.format(body="raise ValueError('x' * 3000)"))
    hunt = ("hunt", "--fail", "500", "--", str(program))
    answer = unsnarl(folder, *hunt, **options)
    assert_error(answer, 3, "disk-full")
    (campaign,) = (folder / ".unsnarl").glob("*/campaign.json")
    assert json.loads(campaign.read_text())["command"] == [str(program)]


def test_a_limit_on_file_sizes(tmp_path):
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    script(tmp_path, THREADS.format(body="raise ValueError('x' * 3000)"))
    answer = unsnarl(
        tmp_path,
        *("hunt", "--fail", "500", "--", "program.py"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40 << 10, limit)),
    )
    assert_error(answer, 3, "disk-full")
    resumed = unsnarl(tmp_path, "hunt", "--resume")
    assert resumed.returncode == 1, resumed.stderr


def test_a_place_that_cannot_be_written(tmp_path):
    program = script(tmp_path, ALONE)
    answer = unsnarl(Path("/proc"), "hunt", "--", str(program))
    assert_error(answer, 3, "not-writable")
    (tmp_path / ".unsnarl").write_text("in the way")
    assert_error(unsnarl(tmp_path, "hunt", "--", "program.py"), 3, "not-writable")


def fake_python(folder: Path, **answer) -> Path:
    fields = {
        "prefix": "/opt/other",
        "version": [3, 12, 0],
        "implementation": "CPython",
        "executable": "/opt/other/bin/python",
        "core": "",
        "free_threaded": False,
    } | answer
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\necho '{json.dumps(fields)}'\n")
    path.chmod(0o755)
    return path


def test_an_unsupported_python(tmp_path):
    script(tmp_path, ALONE)
    python = fake_python(tmp_path, version=[3, 9, 2])
    answer = unsnarl(tmp_path, "hunt", "--", str(python), "program.py")
    assert_error(answer, 3, "python-unsupported")
    assert "3.9.2" in answer.stderr


def test_a_python_without_unsnarl(tmp_path):
    script(tmp_path, ALONE)
    environment = tmp_path / "other"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    wrapper = tmp_path / "python3"  # an environment of its own, whatever ours is made of
    wrapper.write_text(f'#!/bin/sh\nexec env -u PYTHONPATH "{python}" "$@"\n')
    wrapper.chmod(0o755)
    answer = unsnarl(tmp_path, "hunt", "--", str(wrapper), "program.py")
    assert_error(answer, 3, "python-without-unsnarl")
    assert f"{python} -m pip install unsnarl" in answer.stderr
