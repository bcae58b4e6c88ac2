# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import pty

import pytest

from unsnarl.campaigns import stdin
from unsnarl.campaigns.stdin import keep_stdin
from unsnarl.errors import UsageError


@pytest.fixture
def pipe():
    ends = os.pipe()
    yield ends
    for end in ends:
        with contextlib.suppress(OSError):
            os.close(end)


def test_a_file_is_copied_from_where_it_stands_and_not_moved(tmp_path):
    (tmp_path / "in").write_text("first\nsecond\n")
    fd = os.open(tmp_path / "in", os.O_RDONLY)
    os.lseek(fd, 6, os.SEEK_SET)
    kept = keep_stdin(tmp_path, fd)
    assert kept is not None and kept.read_text() == "second\n"
    assert os.lseek(fd, 0, os.SEEK_CUR) == 6
    os.close(fd)


def test_a_pipe_is_read_to_its_end(tmp_path, pipe):
    os.write(pipe[1], b"data")
    os.close(pipe[1])
    kept = keep_stdin(tmp_path, pipe[0])
    assert kept is not None and kept.read_bytes() == b"data"


def test_a_pipe_without_anything_in_it_is_nothing(tmp_path, pipe):
    assert keep_stdin(tmp_path, pipe[0]) is None


def test_a_pipe_that_does_not_end_is_refused(tmp_path, pipe, monkeypatch):
    monkeypatch.setattr(stdin, "PIPE_SECONDS", 0.0)
    os.write(pipe[1], b"data")
    with pytest.raises(UsageError, match="does not end"):
        keep_stdin(tmp_path, pipe[0])


def test_too_much_is_refused(tmp_path, pipe, monkeypatch):
    monkeypatch.setattr(stdin, "MOST_BYTES", 3)
    (tmp_path / "in").write_text("four")
    with (tmp_path / "in").open() as file, pytest.raises(UsageError, match="more than"):
        keep_stdin(tmp_path, file.fileno())
    os.write(pipe[1], b"four")
    with pytest.raises(UsageError, match="more than"):
        keep_stdin(tmp_path, pipe[0])


def test_a_terminal_and_a_closed_one_are_nothing(tmp_path):
    ours, theirs = pty.openpty()
    os.write(ours, b"typed\n")
    assert keep_stdin(tmp_path, theirs) is None
    os.close(ours)
    os.close(theirs)
    assert keep_stdin(tmp_path, theirs) is None
