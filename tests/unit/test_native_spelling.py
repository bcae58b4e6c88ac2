# SPDX-License-Identifier: Apache-2.0
"""Names of C++ functions, and what is added to a run file."""

import pytest
from tests.unit.runfile_writer import notes, records, run_file, thread

from unsnarl.model.cpp_names import plain
from unsnarl.probes.native.types import short
from unsnarl.runfile.amend import add_note
from unsnarl.runfile.layout import Section
from unsnarl.runfile.reader import read_run

NAMES = {
    "main": "main",
    "Account::deposit(int) const": "Account::deposit",
    "void work<int>(Queue<int>&)": "work<…>",
    "(anonymous namespace)::f(int)": "f",
    "Foo::operator()(int) const": "Foo::operator()",
    "std::vector<int, std::allocator<int> >::push_back(int const&)": "std::vector<…>::push_back",
    "main::{lambda(int)#1}::operator()(int) const": "main::{lambda#1}::operator()",
    "std::ostream& operator<< <char>(std::ostream&, X)": "operator<< <…>",
    "Foo::operator bool() const": "Foo::operator bool",
    "Ptr<Node>::operator->() const": "Ptr<…>::operator->",
    "take.constprop.0": "take.constprop.0",
}


@pytest.mark.parametrize(("whole", "name"), NAMES.items())
def test_functions_are_called_as_a_person_would(whole, name):
    assert plain(whole) == name


def test_types_lose_the_arguments_of_their_templates():
    assert short("vector<int, std::allocator<int> >") == "vector<…>"
    assert short("Block") == "Block"


def test_a_note_is_added_to_a_run_file(tmp_path):
    path = tmp_path / "1.run"
    threads = records(Section.THREADS, [thread(0, "0"), thread(1, "0.1")])
    path.write_bytes(run_file([notes({"variables": {"3": "x"}}), threads]))
    add_note(path, {"values": [[1, 2, "0.1", "42"]]})
    run = read_run(path)
    assert run.variables == {3: "x"}
    assert run.notes.values == ([1, 2, "0.1", "42"],)
    assert [one.path for one in run.threads] == ["0", "0.1"]
