# SPDX-License-Identifier: Apache-2.0
import threading
from http.client import HTTPConnection

import pytest

from sessions import Application


@pytest.fixture
def application():
    application = Application()
    server = threading.Thread(target=application.serve_forever, args=(0.01,), daemon=True)
    server.start()
    yield application
    application.shutdown()
    application.server_close()
    server.join(timeout=5)


def get(application, path):
    connection = HTTPConnection("127.0.0.1", application.server_port, timeout=5)
    connection.request("GET", path)
    answer = connection.getresponse().read()
    connection.close()
    return answer


def test_all_pages_of_a_user_are_counted(application):
    browsers = [
        threading.Thread(target=get, args=(application, f"/{page}?user=ann")) for page in ("cart", "help")
    ]
    for browser in browsers:
        browser.start()
    for browser in browsers:
        browser.join(timeout=5)
    pages = application.store.session_of("ann").pages
    assert sorted(pages) == ["/cart", "/help"]
