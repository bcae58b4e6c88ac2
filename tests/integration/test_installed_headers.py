# SPDX-License-Identifier: Apache-2.0
"""The C headers as installed: each compiles alone, and a probe can be written with them."""

import re
import subprocess
from pathlib import Path

import pytest

from unsnarl.probes.native import compiler
from unsnarl.runfile import read_run

PACKAGE = compiler.folder().parent
INCLUDE = PACKAGE / "include"
SOURCES = Path(__file__).parents[2] / "native/include"
HEADERS = sorted(path.name for path in (SOURCES / "unsnarl").glob("*.h"))
STRICT = ("-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror")

PROBE = r"""
#include <pthread.h>
#include <stdio.h>
#include <unsnarl/rt.h>

enum { HERE = 3, THERE = 5 };
static uint64_t cell;

static void *second(void *thread) {
    uns_thread_begin(thread);
    uns_access(THERE, cell, 0, 1);
    uns_thread_end(thread);
    return NULL;
}

int main(int count, char **arguments) {
    const struct uns_plan plan = {.kind = UNS_PLAN_FREE, .core = -1, .site_limit = 16,
                                  .tracker = {.context_size = 5, .first_read = 1,
                                              .first_write = UNS_FIRST_WRITE_SHARED},
                                  .file = count > 1 ? arguments[1] : NULL};
    const struct uns_hooks hooks = {0};
    if (uns_run_begin(&plan, &hooks) < 0 || !uns_run_is_active())
        return 1;
    cell = uns_cell_key((uintptr_t)&cell, 1);
    uns_access(HERE, cell, 1, 1);
    struct uns_thread *thread = uns_thread_new(uns_thread_current(), "second", 0);
    pthread_t handle;
    pthread_create(&handle, NULL, second, thread);
    pthread_join(handle, NULL);
    puts(uns_thread_path(thread));
    return uns_run_finish();
}
"""


def compiled(folder: Path, source: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What the compiler says, which sees the installed headers and no others of ours."""
    (folder / "one.c").write_text(source)
    command = ["cc", *STRICT, f"-I{INCLUDE}", "one.c", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_headers_are_installed():
    assert sorted(path.name for path in (INCLUDE / "unsnarl").glob("*.h")) == HEADERS
    for path in (SOURCES / "unsnarl").iterdir():
        assert (INCLUDE / "unsnarl" / path.name).read_text() == path.read_text()


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_compiles_alone(name, tmp_path):
    done = compiled(tmp_path, f"#include <unsnarl/{name}>\nint main(void) {{ return 0; }}\n", "-c")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_includes_nothing_that_is_not_installed(name):
    for included in re.findall(r'#include "(.*?)"', (SOURCES / "unsnarl" / name).read_text()):
        assert (SOURCES / included).exists()


def test_a_probe_of_ones_own(tmp_path):
    libraries = ["-o", "probe", f"-L{PACKAGE}", "-lunsnarl_rt", f"-Wl,-rpath,{PACKAGE}", "-pthread"]
    done = compiled(tmp_path, PROBE, *libraries)
    assert (done.returncode, done.stderr) == (0, "")
    command = [str(tmp_path / "probe"), str(tmp_path / "one.run")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0.1\n"
    run = read_run(tmp_path / "one.run")
    assert [thread.path for thread in run.threads] == ["0", "0.1"]
    assert run.edges["source_point"].tolist() == [3 << 4 | 1]
    assert run.edges["sink_point"].tolist() == [5 << 4]
