# SPDX-License-Identifier: Apache-2.0
"""The first requests of a program are signed by two threads; exit 1 if one of them has no credentials."""

import collections
import collections.abc
import sys
import threading
from datetime import datetime, timedelta, timezone

for name in ("Callable", "Iterable", "Mapping", "MutableMapping"):  # this old release wants the names of Python < 3.10
    setattr(collections, name, getattr(collections.abc, name))

from botocore.credentials import DeferredRefreshableCredentials  # noqa: E402


def assume_role():
    expiry = datetime.now(timezone.utc) + timedelta(hours=1)
    return {"access_key": "AKIAEXAMPLE", "secret_key": "secret", "token": "token", "expiry_time": expiry.isoformat()}


def main():
    credentials = DeferredRefreshableCredentials(refresh_using=assume_role, method="assume-role")
    signed = []

    def sign():
        frozen = credentials.get_frozen_credentials()
        signed.append(frozen and frozen.access_key)

    signers = [threading.Thread(target=sign) for _ in range(2)]
    for signer in signers:
        signer.start()
    for signer in signers:
        signer.join(timeout=10)
    if signed != ["AKIAEXAMPLE"] * 2:
        print("signed with", signed)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
