# SPDX-License-Identifier: Apache-2.0
"""Paths as a person reads them."""

import pytest

from unsnarl.reports.paths import short_files, shown_path
from unsnarl.reports.render.lanes import files_note
from unsnarl.reports.steps import Step


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("src/spider.py", "src/spider.py"),
        ("/env/lib/python3.11/site-packages/boltons/cacheutils.py", "boltons/cacheutils.py"),
        ("/usr/lib/python3/dist-packages/apt/cache.py:7 in get", "apt/cache.py:7 in get"),
        ("/usr/lib/python3.11/threading.py", "threading.py"),
        ("/usr/lib/python3.11/concurrent/futures/thread.py", "concurrent/futures/thread.py"),
        ("/home/me/lib/python3.py", "/home/me/lib/python3.py"),
        ("lib/tools/python3_like.py", "lib/tools/python3_like.py"),
        ("/srv/app.py", "/srv/app.py"),
        ("site-packages", "site-packages"),
    ],
)
def test_what_is_installed_is_shown_below_its_package(file, shown):
    assert shown_path(file) == shown


def step(file):
    return Step(1, "0.1", 1, file, 7, "x = 1", "write 1", "", False, ())


def test_a_folder_of_packages_is_listed_once_and_what_can_be_opened_not_at_all():
    packages = "/env/lib/python3.11/site-packages"
    files = [f"{packages}/eliot/_output.py", f"{packages}/eliot/parse.py", "src/shop.py"]
    assert files_note([step(file) for file in files]) == f"below {packages}"


def test_a_name_cut_to_its_end_is_listed_whole():
    file = "/home/somebody/projects/shop/orders.py"
    assert files_note([step(file)]) == file


def test_files_of_one_name_keep_their_folders():
    files = ["/e/lib/python3.11/site-packages/a/__init__.py", "b/__init__.py", "c/pool.py"]
    assert short_files(files) == {
        files[0]: "a/__init__.py",
        files[1]: "b/__init__.py",
        files[2]: "pool.py",
    }
