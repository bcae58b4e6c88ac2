# SPDX-License-Identifier: Apache-2.0
"""Sends batches to an endpoint: POST ENDPOINT/v1/anomalies with a token, 202 means accepted.

What is refused for good (a wrong token, a batch that the endpoint does not take) is not sent once
more; everything else is, later and later. A batch stays in the spool until it is accepted.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from unsnarl.anomalies.spool import SpoolFolder
from unsnarl.model.anomaly import BATCH_BYTES_MOST

ACCEPTED = 202
# What waiting does not change: the batch itself is at fault.
REFUSED = (400, 409, 413, 415, 422)
TIMEOUT = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 600.0


@dataclass
class Sender:
    """One endpoint, and when it may be asked next."""

    endpoint: str
    token_file: str = ""
    pause: float = 0.0
    not_before: float = 0.0
    problem: str = ""

    def send(self, spool: SpoolFolder) -> int:
        """Send what waits, until something goes wrong; gives how many batches were accepted."""
        sent = 0
        for file in spool.unsent() if self.endpoint and time.monotonic() >= self.not_before else ():
            if not self._post(file):
                self.pause = min(self.pause * 2 or FIRST_PAUSE, LONGEST_PAUSE)
                self.not_before = time.monotonic() + self.pause
                return sent
            spool.mark_sent(file)
            sent += 1
            self.pause = 0.0
        return sent

    def _post(self, file: Path) -> bool:
        """Whether there is nothing more to be done about this batch."""
        try:
            data = file.read_bytes()
            if len(data) > BATCH_BYTES_MOST:
                self.problem = f"{file.name} is too large to be sent"
                return True
            with urllib.request.urlopen(self._request(data), timeout=TIMEOUT) as answer:
                status = answer.status
        except urllib.error.HTTPError as error:
            status = error.code
            error.close()
        except (OSError, ValueError, http.client.HTTPException) as error:
            self.problem = f"{self.endpoint} cannot be reached: {error}"
            return False
        self.problem = "" if status == ACCEPTED else f"{self.endpoint} answered {status}"
        return status == ACCEPTED or status in REFUSED

    def _request(self, data: bytes) -> urllib.request.Request:
        url = f"{self.endpoint.rstrip('/')}/v1/anomalies"
        if not url.startswith(("http://", "https://")):
            raise ValueError("an endpoint begins with http:// or https://")
        headers = {"Content-Type": "application/json"}
        if self.token_file:
            token = Path(self.token_file).read_text(encoding="utf-8").strip()
            headers["Authorization"] = f"Bearer {token}"
        return urllib.request.Request(url, data=data, headers=headers, method="POST")
