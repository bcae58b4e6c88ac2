# SPDX-License-Identifier: Apache-2.0
"""Files that are looked at first: made also if they are there, opened without a look."""

import textwrap

import pytest
from tests.unit.test_patch_kinds import at, of_kind

FOLDER = textwrap.dedent(
    """\
    def folder(path):
        if not os.path.isdir(path):
            os.makedirs(path)
        return path
    """
)


def made(text: str) -> list[str]:
    part = "makedirs" if "makedirs" in text else "mkdir"
    return of_kind(
        "file",
        text,
        at(text, "if not", 1, "read", "file out", function="folder"),
        at(text, part, 2, "write", "file out", function="folder"),
        at(text, part, 1, "write", "file out", function="folder"),
    )


def test_a_folder_may_have_been_made() -> None:
    (text,) = made(FOLDER)
    assert "        os.makedirs(path, exist_ok=True)\n" in text
    path = FOLDER.replace("os.path.isdir(path)", "path.exists()")
    (text,) = made(path.replace("os.makedirs(path)", "path.mkdir(parents=True)"))
    assert "        path.mkdir(parents=True, exist_ok=True)\n" in text
    (text,) = made(path.replace("os.makedirs(path)", "path.mkdir()"))
    assert "        path.mkdir(exist_ok=True)\n" in text


def test_what_has_no_word_for_it_is_caught() -> None:
    (text,) = made(FOLDER.replace("makedirs", "mkdir"))
    assert (
        "        try:\n"
        "            os.mkdir(path)\n"
        "        except FileExistsError:\n"
        "            pass\n"
    ) in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("os.makedirs(path)", "os.makedirs(path)\n        fill(path)"),  # both would fill it
        ("os.makedirs(path)", "os.makedirs(other)"),  # another folder was looked for
        ("os.makedirs(path)", "os.makedirs(path, **options)"),
        ("os.makedirs(path)", "log.makedirs(path)"),
        ("if not os.path.isdir(path):", "if not known(path):"),
        ("    return path", "    else:\n        return None\n    return path"),
    ],
)
def test_where_more_is_done_or_asked_it_is_not_offered(old: str, new: str) -> None:
    assert old in FOLDER
    assert made(FOLDER.replace(old, new)) == []


CACHE = textwrap.dedent(
    """\
    def cached(name):
        if os.path.exists(name):
            with open(name) as file:
                return file.read()
        return None
    """
)


def opened(text: str) -> list[str]:
    part = "with open" if "with open" in text else "return"
    return of_kind(
        "file",
        text,
        at(text, "    if ", 1, "read", "file cache", function="cached"),
        at(text, part, 1, "read", "file cache", function="cached"),
    )


def test_a_file_is_opened_without_a_look() -> None:
    (text,) = opened(CACHE)
    assert (
        "    try:\n"
        "        with open(name) as file:\n"
        "            return file.read()\n"
        "    except FileNotFoundError:\n"
        "        pass\n"
        "    return None\n"
    ) in text


def test_what_was_done_without_the_file_is_done_then() -> None:
    (text,) = opened(CACHE.replace("    return None", "    else:\n        return load(name)"))
    assert "    except FileNotFoundError:\n        return load(name)\n" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if os.path.exists(name):", "if fresh and os.path.exists(name):"),  # that decides too
        ("if os.path.exists(name):", "if not os.path.exists(name):"),
        ("with open(name)", "with open(other)"),
        ("with open(name)", "with both(open(name), name)"),
        (
            "            return file.read()",
            "            a = file.read()\n            b = read(a)\n            return b",
        ),  # whose file was not found?
    ],
)
def test_where_the_look_says_more_it_stays(old: str, new: str) -> None:
    assert old in CACHE
    assert opened(CACHE.replace(old, new)) == []
