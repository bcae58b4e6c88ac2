# SPDX-License-Identifier: Apache-2.0
"""Programs with several causes of one failure: one hunt names, confirms and repairs all of them.

`python -m evaluation.causes` hunts all of them and has the bar.
"""

import pytest
from evaluation.causes import FIXED, HALF, TWIN_OPTIONS, hunt, judged, load

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

CASES = {case.name: case for case in load()}
# A pytest target and a script. Enough time: what is cut off would depend on the machine.
HUNTED = ("till", "newsletter")
OPTIONS = ("--seed", "1", "--time", "600")


@pytest.fixture(scope="module", params=HUNTED)
def answer(request):
    case = CASES[request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UNSNARL_ANSWER", "300")
        return case, hunt(case, *OPTIONS)


def test_all_causes_are_confirmed_without_each_other(answer):
    case, report = answer
    found = judged(case, report)
    assert found.is_whole, found
    assert found.said == "2 independent causes: both must be mended."
    (failure, *_) = report.failures
    assert failure.causes == tuple(one.id for one in failure.findings[:2])
    for one in failure.findings[:2]:
        assert one.status == "confirmed" and one.forbidden.fail == 0 < one.forced.fail
        assert set(one.given) == set(failure.causes) - {one.id}
        assert one.orders and one.fix is not None


def test_one_patch_repairs_all_of_them(answer):
    case, report = answer
    patches = [one.patch for one in report.failures[0].findings[:2]]
    assert patches[0] == patches[1] and patches[0].works and patches[0].checks.runs >= 200
    for cause in case.causes:
        added = [line[1:].strip() for line in patches[0].diff.splitlines() if line[:1] == "+"]
        assert set(cause.lines) & set(added), cause.what


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_half_repaired_still_fails(case):
    assert hunt(case, "--seed", "1", *TWIN_OPTIONS, version=HALF).runs.fail


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_repaired_does_not(case):
    options = ("--seed", "1", *TWIN_OPTIONS, "--max-runs", "100")
    assert not hunt(case, *options, version=FIXED).runs.fail
