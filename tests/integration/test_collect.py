# SPDX-License-Identifier: Apache-2.0
"""`unsnarl collect`: what it takes and gives, from and to whom, and what it survives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from html import escape
from http.client import HTTPConnection
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace
from tests.integration.collected import (
    ANOMALIES,
    TOKENS,
    acknowledged_under_kills,
    batch,
    collecting,
    missing_in,
    postgresql,
    send,
    token,
)
from tests.integration.in_process import called
from tests.integration.served import HOSTILE

from unsnarl.collect.databases import open_database
from unsnarl.model.anomaly import BATCH_BYTES_MOST, Anomaly, encoded

LISTEN = "0A"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("collector")


@pytest.fixture(scope="module")
def server(folder):
    with collecting(folder) as one:
        yield one


@pytest.fixture(scope="module")
def reading(folder, server):
    """Asks with the token to read."""

    def ask(path, method="GET", **headers):
        given = {"authorization": f"Bearer {token(folder, 'read')}", "cookie": ""} | headers
        return server.ask(path, method, **given)

    return ask


def test_a_batch_is_stored_and_an_anomaly_comes_back(server, folder, reading):
    sent = batch(program="simple")
    answer = send(server, folder, sent)
    assert (answer.status, json.load(answer)) == (202, {"id": sent.id})
    found = reading(f"{ANOMALIES}/{sent.anomalies[0].id}")
    assert found.status == 200
    value = json.load(found)
    assert value["program"] == "simple" and value["instances"] == 1
    one = sent.anomalies[0]
    read = Anomaly(**{name: value[name] for name in Anomaly.__struct_fields__})
    assert (read.id, read.count, read.score) == (one.id, one.count, one.score)
    trend = json.load(reading(f"{ANOMALIES}/{one.id}/trend"))
    assert [(day["version"], day["count"]) for day in trend] == [("1.2", 3)]


def test_a_batch_that_comes_twice_is_acknowledged_and_counted_once(server, folder, reading):
    sent = batch(program="replayed")
    more = replace(sent, anomalies=batch(program="replayed", count=9).anomalies)
    for data in (sent, sent, more):
        assert send(server, folder, data).status == 202
    assert json.load(reading(f"{ANOMALIES}/{sent.anomalies[0].id}"))["count"] == 3


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer wrong", "Basic {send}", "Bearer {send}x", "{send}"]
)
def test_without_a_token_nothing_is_taken(server, folder, header):
    authorization = header.format(send=token(folder, "send"))
    answer = send(server, folder, batch(program="refused"), authorization=authorization)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")


def test_a_token_to_send_does_not_read_nor_the_other_way_round(server, folder, reading):
    sender, reader = token(folder, "send"), token(folder, "read")
    for path in (ANOMALIES, f"{ANOMALIES}/x", "/v1/openapi.json"):
        assert reading(path, authorization=f"Bearer {sender}").status == 403
    assert server.ask(f"/?token={sender}", cookie="").status == 403
    assert send(server, folder, batch(), authorization=f"Bearer {reader}").status == 403
    # A browser has the cookie, whichever page makes it send: it does not open the way to send.
    cookie = f"unsnarl-{server.port}={reader}"
    assert send(server, folder, batch(), authorization="", cookie=cookie).status == 401


@pytest.mark.parametrize("path", ["/", "/anomaly/x", "/collect.css", "/none"])
def test_without_a_token_no_page_is_shown(server, path):
    assert server.ask(path, cookie="").status == 403
    assert server.ask(f"{path}?token=wrong").status == 403


@pytest.mark.parametrize("path", [ANOMALIES, f"{ANOMALIES}/x", "/v1/openapi.json", "/v1/none"])
def test_without_a_token_the_api_gives_nothing(server, path):
    assert server.ask(path).status in (200, 404)  # with the cookie
    for headers in ({}, {"authorization": "Bearer wrong"}):
        answer = server.ask(path, cookie="", **headers)
        assert answer.status == 401 and "Bearer" in json.load(answer)["message"]
    assert server.ask(f"{path}?token=wrong").status == 401


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(reading, method):
    assert reading(ANOMALIES, method).status == 405
    assert reading("/", method).status == 405


MALFORMED = {
    "nothing": b"",
    "text": b"hello",
    "list": b"[]",
    "utf-8": b'{"format": 1, "id": "\xff"}',
    "surrogate": encoded(batch()).replace(b"shop.py", b"\\ud800", 1),
    "cut": encoded(batch())[:-9],
    "format": encoded(batch()).replace(b'"format":1', b'"format":7'),
    "id": encoded(batch()).replace(b"Cart.add", b"Cart.sub", 1),
    "number": encoded(batch()).replace(b'"score":0.5', b'"score":1e999'),
    "negative": encoded(batch()).replace(b'"count":3', b'"count":-3'),
    "huge": encoded(batch()).replace(b'"count":3', b'"count":' + b"9" * 400),
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_is_refused(server, folder, name):
    answer = send(server, folder, MALFORMED[name])
    assert answer.status == 400 and "bad-anomaly" in json.load(answer)["message"]


def test_what_is_too_large_is_refused_whatever_it_claims(server, folder):
    large = b" " * (BATCH_BYTES_MOST + 1)
    assert send(server, folder, large).status == 413
    with closing(HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
        headers = {
            "authorization": f"Bearer {token(folder, 'send')}",
            "content-type": "application/json",
        }
        pieces = iter([large[: 1 << 16]] * 17)
        connection.request("POST", ANOMALIES, pieces, headers, encode_chunked=True)
        assert connection.getresponse().status == 413


@pytest.mark.parametrize(
    "headers", [{"content-type": "text/plain"}, {"content-encoding": "gzip"}, {"content-type": ""}]
)
def test_only_plain_json_is_taken(server, folder, headers):
    assert send(server, folder, batch(), **headers).status == 415


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "offset=-1", "sort=name", f"search={'x' * 201}"]
)
def test_what_is_asked_for_has_limits(reading, query):
    assert reading(f"{ANOMALIES}?{query}").status == 400


def test_hostile_names_are_text(server, folder, reading):
    hostile = f"{HOSTILE}\0"
    sent = batch(function=hostile, program=hostile, version=hostile)
    assert send(server, folder, sent).status == 202
    for path in ("/?search=onerror", f"/anomaly/{sent.anomalies[0].id}"):
        page = server.text(path)
        assert "<img" not in page and "<b>" not in page and "</script" not in page
        assert escape("<img src=x onerror=alert(1)>") in page
    answer = reading(f"{ANOMALIES}?search=onerror")
    assert answer.headers["content-type"] == "application/json"
    assert json.load(answer)["anomalies"][0]["points"][0]["function"] == hostile
    assert "<img" not in server.text("/?search=%22%3E%3Cimg%20src=x%3E&program=%3Cimg%3E")


def test_every_answer_has_the_policy(server, reading):
    for answer in (server.ask("/"), reading(ANOMALIES), reading("/v1/none"), server.ask("/none")):
        rules = answer.headers["content-security-policy"]
        assert "default-src 'none'" in rules and "script" not in rules and "unsafe" not in rules
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_other_names_are_refused_whatever_they_know(server, folder):
    for host in ("elsewhere.org", f"elsewhere.org:{server.port}"):
        assert send(server, folder, batch(), host=host).status == 421
        assert server.ask(f"/?token={server.token}", host=host).status == 421


def test_answers_are_as_described(server, folder, reading):
    from openapi_spec_validator import validate  # other Pythons, which skip this, have none

    sent = batch(program="described")
    send(server, folder, sent)
    document = json.load(reading("/v1/openapi.json"))
    validate(document)
    assert set(document["paths"]) == {
        ANOMALIES,
        f"{ANOMALIES}/{{id}}",
        f"{ANOMALIES}/{{id}}/trend",
        "/v1/openapi.json",
    }
    for path, methods in document["paths"].items():
        found = reading(path.format(id=sent.anomalies[0].id))
        schema = methods["get"]["responses"][str(found.status)]["content"]["application/json"]
        check(json.load(found), schema["schema"], document)
    posted = document["paths"][ANOMALIES]["post"]
    wanted = posted["requestBody"]["content"]["application/json"]["schema"]
    check(json.loads(encoded(sent)), wanted, document)
    refused = json.load(send(server, folder, b""))
    check(refused, posted["responses"]["400"]["content"]["application/json"]["schema"], document)


def check(value, schema, document):
    """Against a schema whose references are into the document."""
    jsonschema.Draft202012Validator(document | schema).validate(value)


def test_the_list_is_ranked_searched_and_filtered(server, folder, reading):
    for instance in range(4):
        send(server, folder, batch(instance, program="ranked", function="Cart.common"))
    send(server, folder, batch(1, program="ranked", function="Cart.rare", version="2.0"))

    def functions(query):
        found = json.load(reading(f"{ANOMALIES}?program=ranked&{query}"))
        return [one["points"][0]["function"] for one in found["anomalies"]]

    assert functions("") == ["Cart.rare", "Cart.common"]
    assert functions("sort=instances") == ["Cart.common", "Cart.rare"]
    assert functions("search=RARE+shop.py:12") == ["Cart.rare"]
    assert functions("search=Cart%25rare") == [] == functions("search=Cart_rare")
    assert functions("version=2.0") == ["Cart.rare"]
    assert functions("limit=1&offset=1") == ["Cart.common"]


def test_it_listens_on_the_loopback_interface_only(server):
    rows = [row.split() for row in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    mine = [row[1] for row in rows if row[1].endswith(f":{server.port:04X}") and row[3] == LISTEN]
    assert mine == [f"0100007F:{server.port:04X}"]


def test_for_other_machines_it_needs_tokens(tmp_path):
    answer = called(tmp_path, "collect", "--host", "0.0.0.0")
    assert answer.returncode == 2
    assert "needs --tokens FOLDER" in answer.stderr and "[bad-argument]" in answer.stderr
    assert not list(tmp_path.iterdir())


def test_with_tokens_it_answers_to_the_names_that_it_was_given(tmp_path):
    options = ("--host", "127.0.0.2", "--name", "bugs.example.org", "--tokens", str(TOKENS))
    with collecting(tmp_path, *options) as server:
        assert server.address.startswith("http://bugs.example.org:")
        connection = HTTPConnection("127.0.0.2", server.port, timeout=60)
        for host, status in (("bugs.example.org", 303), ("127.0.0.2", 421), ("other.org", 421)):
            connection.request("GET", f"/?token={server.token}", headers={"host": host})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status


def test_the_address_that_it_prints_can_be_opened(tmp_path):
    with collecting(tmp_path, "--host", "localhost") as server:
        assert server.address.startswith("http://localhost:")
        connection = HTTPConnection("localhost", server.port, timeout=60)
        connection.request("GET", f"/?token={server.token}")
        assert connection.getresponse().status == 303


@pytest.mark.parametrize(
    ("text", "mode", "complaint"),
    [
        ("", 0o600, "there is no token"),
        ("x" * 20 + "\nshort", 0o600, "at least 20"),
        ("ö" * 20, 0o600, "ASCII"),
        ("x" * 20, 0o640, "others may read it"),
    ],
)
def test_bad_tokens_are_refused(tmp_path, text, mode, complaint):
    file = tmp_path / "read"
    file.write_text(text)
    file.chmod(mode)
    answer = called(tmp_path, "collect", "--tokens", tmp_path)
    assert answer.returncode == 2
    assert complaint in answer.stderr and "[bad-tokens]" in answer.stderr


def test_every_token_of_a_file_opens(tmp_path):
    with collecting(tmp_path) as server:
        first = server.token
    second = "y" * 20
    (tmp_path / TOKENS / "read").write_text(f"{first}\n{second}\n")
    with collecting(tmp_path) as server:
        for one in (first, second):
            answer = server.ask(ANOMALIES, cookie="", authorization=f"Bearer {one}")
            assert answer.status == 200


def test_what_it_makes_is_for_the_owner_only(server, folder):
    files = [one for one in (folder / TOKENS).parent.rglob("*") if one.is_file()]
    assert {"send", "read", "anomalies.sqlite"} <= {one.name for one in files}
    assert [one for one in files if one.stat().st_mode & 0o077] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_it_is_asked_to_and_goes_on_with_what_it_had(tmp_path, number):
    sent = batch()
    with collecting(tmp_path) as server:
        assert "Nothing was sent yet" in server.text("/")
        assert send(server, tmp_path, sent).status == 202
        server.process.send_signal(number)
        assert server.process.wait(60) == (0 if number == signal.SIGINT else 143)
    with collecting(tmp_path) as server:
        assert sent.anomalies[0].id in server.text("/")


def test_a_store_that_cannot_be_used_is_named(tmp_path):
    (tmp_path / "text").write_text("no database" * 100)
    answer = called(tmp_path, "collect", "--store", tmp_path / "text")
    assert answer.returncode == 3 and "[store-unusable]" in answer.stderr
    url = "postgresql://somebody:secret@127.0.0.1:1/none"
    answer = called(tmp_path, "collect", "--store", url)
    assert answer.returncode == 3 and "[store-unusable]" in answer.stderr
    assert "secret" not in answer.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path):
    (tmp_path / "starlette.py").write_text("raise ModuleNotFoundError(name='starlette')")
    answer = subprocess.run(
        [sys.executable, "-m", "unsnarl", "collect"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 3 and "[collect-missing]" in answer.stderr


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_it_is_killed(tmp_path):
    store = str(tmp_path / "store.sqlite")
    numbers = acknowledged_under_kills(tmp_path, store, kills=4)
    assert len(numbers) >= 4
    assert missing_in(store, numbers) == set()


@pytest.mark.slow
def test_on_postgresql_nothing_is_lost_and_a_server_that_comes_back_is_used(tmp_path):
    with postgresql() as url:
        numbers = acknowledged_under_kills(tmp_path, url, kills=2)
        assert missing_in(url, numbers) == set()
        with collecting(tmp_path, "--store", url) as server:
            assert send(server, tmp_path, batch(program="before")).status == 202
            with closing(open_database(url)) as database:
                others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
                ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
                assert database.rows(ended + others)
            lost = send(server, tmp_path, batch(program="lost"))
            assert (lost.status, lost.headers["retry-after"]) == (503, "5")
            assert send(server, tmp_path, batch(program="after")).status == 202
            assert ">after</td>" in server.text("/") and ">lost</td>" not in server.text("/")
