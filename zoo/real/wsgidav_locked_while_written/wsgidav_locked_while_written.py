# SPDX-License-Identifier: Apache-2.0
"""A file is saved by one user while another one locks it to edit it."""

import io
import logging
import pathlib
import sys
import tempfile
import threading
from wsgiref.util import setup_testing_defaults

from wsgidav.wsgidav_app import WsgiDAVApp

LOCK = (
    b'<?xml version="1.0" encoding="utf-8"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/>'
    b"</D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>"
)


def request(app, method, body=b"", **headers):
    """The status that the server gives back."""
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": "/plan.txt",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
        **headers,
    }
    setup_testing_defaults(environ)
    environ["SCRIPT_NAME"] = ""
    statuses = []
    for _ in app(environ, lambda status, headers, exc_info=None: statuses.append(status)):
        pass
    return int(statuses[0].split()[0])


def main():
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "plan.txt")
        file.write_text("first draft")
        app = WsgiDAVApp(
            {
                "provider_mapping": {"/": {"root": folder, "readonly": False}},
                "simple_dc": {"user_mapping": {"*": True}},
                "logging": {"enable": False},
                "dir_browser": {"enable": False},
                "hotfixes": {},
            }
        )
        saved = threading.Thread(target=request, args=(app, "PUT", b"second draft"))
        saved.start()
        locked = request(
            app,
            "LOCK",
            LOCK,
            CONTENT_TYPE="application/xml",
            HTTP_DEPTH="0",
            HTTP_TIMEOUT="Second-60",
        )
        text = file.read_text() if locked == 200 else None
        saved.join()
        if locked == 200 and file.read_text() != text:
            print("the file has changed under a lock:", repr(text), "->", repr(file.read_text()))
            return 1
        return 0 if locked in (200, 423) else 1


if __name__ == "__main__":
    sys.exit(main())
