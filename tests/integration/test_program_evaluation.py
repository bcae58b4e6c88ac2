# SPDX-License-Identifier: Apache-2.0
"""The evaluation of Debian's programs, on a package of our own."""

import tarfile

import pytest
from evaluation import programs
from evaluation.program_builds import Built, Checked
from evaluation.program_recipes import OURS, PLAIN, Recipe
from evaluation.program_sources import fetch
from evaluation.programs import TRACKED, Times, measure, page

# `cat`, by a thread.
COPY = """
#include <pthread.h>
#include <stdio.h>
static int bytes;
static void *copy(void *argument) {
    for (int c; (c = getchar()) != EOF; bytes++)
        putchar(c);
    return argument;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, copy, 0);
    pthread_join(thread, 0);
    return bytes == 0;
}
"""
MAKEFILE = """
copy: copy.c
\t$(CC) -O2 copy.c -o copy -pthread
check: copy
\techo hello | ./copy | ./copy | grep -q hello
\t@echo '# TOTAL: 1'
\t@echo '# PASS:  1'
broken: copy
\t./copy < /dev/null
"""
PATCH = """--- a/copy.c
+++ b/copy.c
@@ -1 +1 @@
-#error "this needs Debian's patch"
+#define PATCHED
"""
RECIPE = Recipe("copy", ("make CC={cc}",), "copy", "make CC={cc} check", "", "")


def packed(path, source, **files):
    for name, text in files.items():
        file = source / name.replace("__", "/").replace("_c", ".c")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    with tarfile.open(path, "w:gz") as tar:
        tar.add(source, arcname=source.name)


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "sources"
    folder.mkdir()
    code = f'#error "this needs Debian\'s patch"\n{COPY}'
    original = folder / "copy_1.0.orig.tar.gz"
    packed(original, tmp_path / "copy-1.0", copy_c=code, Makefile=MAKEFILE)
    patches = {"patches__series": "# those of Debian\nfirst\n", "patches__first": PATCH}
    packed(folder / "copy_1.0-2.debian.tar.gz", tmp_path / "debian", **patches)
    return folder


def built(sources, build, folder, recipe=RECIPE):
    return Built(recipe, build, fetch("copy", sources), folder)


def test_a_suite_under_tracking(sources, tmp_path):
    found = built(sources, OURS, tmp_path / "ours").check()
    assert found.good
    assert (found.passed, found.total, found.runs, found.threads) == (1, 1, 2, 2)
    assert found.edges > 0


def test_a_suite_that_fails(sources, tmp_path):
    recipe = Recipe("copy", RECIPE.steps, "copy", "make CC={cc} broken", "", "")
    found = built(sources, OURS, tmp_path / "ours", recipe).check()
    assert not found.good and found.status and found.runs == 1


def test_every_build_does_the_same_work(sources, tmp_path):
    made = [built(sources, one, tmp_path / one.cc.split()[0]) for one in (PLAIN, OURS)]
    data = tmp_path / "data"
    programs.make_data(data, 1)
    assert data.stat().st_size == 1 << 20
    times = measure(RECIPE, made, data, 1)
    assert [(one.work, one.threads) for one in times] == [
        ("pack", 2),
        ("pack", 4),
        ("unpack", 2),
        ("unpack", 4),
    ]
    assert all(set(one.seconds) == {PLAIN.name, OURS.name, TRACKED} for one in times)


def test_the_page_has_every_figure():
    times = [
        Times("copy", "pack", 2, {"plain gcc": 1.0, "unsnarl": 2.0, TRACKED: 4.0, "gcc TSan": 9.0})
    ]
    text = page("a command", {"copy": Checked(0, 3, 3, 5, 2, 17, 0), "none": None}, times)
    assert "| copy | yes | 3 of 3 | 5 | 2 | 17 |" in text
    assert "| none | it has none |" in text
    assert "| copy | pack | 2 | 2 | 4 | 9 | – |" in text
    assert "| geometric mean |  |  | 2 | 4 | 9 | – |" in text
