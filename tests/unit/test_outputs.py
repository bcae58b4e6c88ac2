# SPDX-License-Identifier: Apache-2.0
from unsnarl.execution.outputs import HEAD_BYTES, TAIL_BYTES, shorten


def test_a_long_output_keeps_its_beginning_and_its_end(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"a" * HEAD_BYTES + b"x" * 1234567 + b"z" * TAIL_BYTES)
    shorten(path)
    text = path.read_bytes()
    assert text.startswith(b"a" * HEAD_BYTES) and text.endswith(b"z" * TAIL_BYTES)
    middle = text[HEAD_BYTES:-TAIL_BYTES]
    assert middle == b"\n[unsnarl: 1,234,567 bytes left out here]\n"


def test_one_that_fits_is_left_alone(tmp_path):
    path = tmp_path / "out"
    whole = bytes(range(256)) * ((HEAD_BYTES + TAIL_BYTES) // 256)
    path.write_bytes(whole)
    shorten(path)
    assert path.read_bytes() == whole


def test_no_output_is_no_problem(tmp_path):
    shorten(tmp_path / "none")
