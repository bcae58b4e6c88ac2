# SPDX-License-Identifier: Apache-2.0
"""The first request of a session is sent by a WSGI service that still loads its plugins."""

import importlib
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from keystoneauth1 import session


class Cloud(requests.adapters.BaseAdapter):
    """Answers every request itself."""

    def send(self, request, **kwargs):
        response = requests.Response()
        response.status_code = 200
        response.request, response.url = request, request.url
        response._content = b"{}"
        return response

    def close(self):
        pass


@pytest.fixture
def cloud_session(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["mod_wsgi"])  # the user agent is then named after the calling package
    http = requests.Session()
    http.mount("http://", Cloud())
    return session.Session(session=http)


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    names = [f"cloud_plugin_{letter}" for letter in "abc"]
    for name in names:
        (tmp_path / f"{name}.py").write_text("NAME = __name__\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield names
    for name in names:
        sys.modules.pop(name, None)


def test_request_while_plugins_are_imported(cloud_session, plugins):
    with ThreadPoolExecutor() as pool:
        reply = pool.submit(cloud_session.get, "http://cloud.invalid/v3")
        modules = pool.map(importlib.import_module, plugins)
        assert reply.result(timeout=10).status_code == 200
        assert [module.NAME for module in modules] == plugins
