# SPDX-License-Identifier: Apache-2.0
"""Nothing of an interleaving is lost, whatever the terminal's width."""

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from unsnarl.reports.render.lanes import draw, wrap
from unsnarl.reports.steps import Step

WORDS = st.text(st.sampled_from("abcxyz_.=()[] 名"), max_size=90).map(str.strip)
WIDTHS = st.integers(60, 200)


@st.composite
def steps(draw_one):
    count = draw_one(st.integers(1, 8))
    made = []
    for number in range(1, count + 1):
        role = draw_one(st.integers(1, 3))
        file = draw_one(st.sampled_from(["m.py", "src/app/pool.py", "tests/test_a_long_name.py"]))
        text, what = draw_one(WORDS), draw_one(WORDS)
        made.append(Step(number, f"0.{role}", role, file, number, text, what, "", False, ()))
    return made


def squeezed(text):
    return "".join(text.split())


@given(WORDS, st.integers(2, 40))
def test_wrapping_keeps_every_character_and_the_width(text, width):
    lines = wrap(text, width)
    assert squeezed("".join(lines)) == squeezed(text)
    assert all(cell_len(line) <= width for line in lines)


@given(steps(), WIDTHS)
def test_a_drawing_has_every_source_line_and_outcome_whole(made, width):
    rows = [row.plain for row in draw(made, str, "", width)]
    drawn = squeezed("".join(rows).replace("│", "").replace("●", ""))
    for step in made:
        assert squeezed(step.text) in drawn
        assert squeezed(step.what) in drawn


@given(steps(), WIDTHS)
def test_a_drawing_keeps_to_the_width(made, width):
    assert all(cell_len(row.plain) <= width for row in draw(made, str, "", width))
