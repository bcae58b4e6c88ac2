# SPDX-License-Identifier: Apache-2.0
"""What the package promises to those who import it."""

import subprocess
import sys
from pathlib import Path

import pytest

import unsnarl
from unsnarl.model.run import bound_text, failure_rate_bound


def test_the_package_is_typed_and_has_a_version():
    # An editable install has several folders, of which one has the sources.
    assert any((Path(folder) / "py.typed").is_file() for folder in unsnarl.__path__)
    assert unsnarl.__version__
    with pytest.raises(AttributeError):
        unsnarl.no_such_name


def test_the_solvers_are_imported_by_name_and_without_z3():
    code = (
        "import sys\nfrom unsnarl.reproduce.orders import NativeSolver, SmtSolver\n"
        "assert NativeSolver().name and SmtSolver().name == 'z3'\nprint('z3' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "False\n"


@pytest.mark.parametrize(
    ("runs", "bound", "text"),
    [
        (0, 1.0, "failure rate below 100 %"),
        (2, 1.0, "failure rate below 100 %"),
        (60, 0.05, "failure rate below 5 %"),
        (500, 0.006, "failure rate below 0.6 %"),
    ],
)
def test_the_rule_of_three(runs, bound, text):
    assert failure_rate_bound(runs) == pytest.approx(bound)
    assert bound_text(runs) == f"{text} at 95 % confidence"
    if runs >= 3:
        assert (1 - failure_rate_bound(runs)) ** runs < 0.05
