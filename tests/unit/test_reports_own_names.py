# SPDX-License-Identifier: Apache-2.0
"""What an object is called in its own methods."""

from unsnarl.reports.names import without_self


def test_what_is_self_is_called_by_its_class():
    assert without_self("self", "MultiBar.run") == "MultiBar"
    assert without_self("super()", "MultiBar.__setitem__") == "MultiBar"
    assert without_self("self.bars", "MultiBar.run") == "MultiBar.bars"


def test_a_function_has_no_class():
    assert without_self("self", "run") == "self"
