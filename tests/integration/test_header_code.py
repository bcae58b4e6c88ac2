# SPDX-License-Identifier: Apache-2.0
"""What happens in functions of system headers is an affair of the line that called them."""

import shutil
from array import array
from pathlib import Path

import pytest
from tests.integration.native_programs import PROGRAMS, build, run

from unsnarl import _core
from unsnarl.probes.binaries import sites

pytestmark = pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++")
SOURCE = PROGRAMS / "headers.cpp"
HEADERS = {"atomic_base.h", "gthr-default.h", "shared_ptr_base.h", "stl_tree.h", "stl_vector.h"}


@pytest.fixture
def program(tmp_path):
    """The program without optimisation, and by site the file and the line of what is listed."""
    made = build(tmp_path, SOURCE.name, "-g", "-O0")
    found = sites.Program(made)
    codes = found.codes()["codes"]
    lines = array("I", range(found.limit))
    sites.add_lines(lines, 0, found.limit, codes)
    _core.set_first_sites(lines)
    yield (
        made,
        {
            code["base"] + offset: (Path(file).name, line)
            for code in codes
            for offset, _, _, line, *_, file, _ in code["sites"]
        },
    )
    _core.set_first_sites(array("I"))


def test_events_in_headers_are_those_of_the_lines_that_call_them(program):
    made, listed = program
    texts = SOURCE.read_text().splitlines()
    done = run(made, "walk", 1, switch="free")
    assert done.status == 0, done.errors
    # The main thread ends with what libc calls: destructors, which no line of the program does.
    counts = done.file.counts[done.file.counts["thread"] != 0]
    seen = {listed[int(site)] for site in counts["site"]}
    assert not {file for file, _ in seen} & HEADERS
    at = {texts[line - 1].strip() for file, line in seen if file == SOURCE.name}
    assert {"count++;", "pages[me] += count.load();", "numbers.push_back(me);"} <= at
    assert {"item = std::make_shared<Item>();", "std::lock_guard<std::mutex> guard(lock);"} <= at
