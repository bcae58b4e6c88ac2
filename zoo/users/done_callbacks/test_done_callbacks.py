# SPDX-License-Identifier: Apache-2.0
import time

import pytest

from progress import copy_all


@pytest.mark.parametrize("workers", [2])
def test_progress_ends_at_100_percent(workers):
    sizes = {"a.txt": 10, "b.txt": 20}

    def copy(name):
        time.sleep(0.01)  # the disk
        return sizes[name]

    progress = copy_all(list(sizes), copy, workers)
    assert progress.percent == 100
