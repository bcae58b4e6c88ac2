# SPDX-License-Identifier: Apache-2.0
"""Reading run files: what one run of the target leaves behind (native/include/unsnarl/format.h)."""

from unsnarl.runfile.codes import CODES_FILE
from unsnarl.runfile.errors import RunFileError
from unsnarl.runfile.reader import RunFile, read_run
from unsnarl.runfile.sites import Interner, SiteTable

__all__ = ["CODES_FILE", "Interner", "RunFile", "RunFileError", "SiteTable", "read_run"]
