# SPDX-License-Identifier: Apache-2.0
import errno
import resource

import msgspec
import pytest

from unsnarl.errors import ToolError
from unsnarl.execution.disk import check_room, is_full, storing
from unsnarl.model.run import Failure
from unsnarl.probes.python import failures


@pytest.mark.parametrize(
    ("error", "slug"),
    [
        (OSError(errno.ENOSPC, "full"), "disk-full"),
        (OSError(errno.EDQUOT, "no quota"), "disk-full"),
        (OSError(errno.EFBIG, "too large"), "disk-full"),
        (OSError(errno.EROFS, "read-only"), "not-writable"),
        (PermissionError(errno.EACCES, "no"), "not-writable"),
    ],
)
def test_storage_errors_become_one_message(tmp_path, error, slug):
    with pytest.raises(ToolError) as caught, storing(tmp_path):
        raise error
    assert (caught.value.slug, caught.value.exit_code) == (slug, 3)


def test_other_errors_stay_what_they_are(tmp_path):
    with pytest.raises(InterruptedError), storing(tmp_path):
        raise InterruptedError(errno.EINTR, "interrupted")


def test_only_numbers_say_that_a_disk_is_full():
    assert is_full(errno.ENOSPC) and not is_full(0) and not is_full(errno.EIO)


def test_the_file_system_is_asked_for_room(tmp_path):
    check_room(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 10, limits[1]))
    try:
        with pytest.raises(ToolError) as caught:
            check_room(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.slug == "disk-full"
    assert not list(tmp_path.iterdir())


def test_the_note_of_a_failure_has_the_number_of_a_system_error():
    noted = failures._describe(OSError(errno.ENOSPC, "full"), "0.1", "")
    failure = msgspec.convert(noted, Failure)
    assert is_full(failure.errno) and failure.message == "[Errno 28] full"
    assert "errno" not in failures._describe(OSError("[Errno 28] only a text"), "0.1", "")
    assert "errno" not in failures._describe(ValueError("[Errno 28]"), "0.1", "")
