# SPDX-License-Identifier: Apache-2.0
"""Two data sets are retrieved at the same time, into a folder that is not there yet."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pooch
import pytest

DATA = {
    "https://data.example/gravity.csv": b"latitude,gravity\n0,9.780\n90,9.832\n",
    "https://data.example/magnetic.csv": b"latitude,field\n0,31000\n90,62000\n",
}


def download(url, output_file, _):
    Path(output_file).write_bytes(DATA[url])


@pytest.fixture
def retrieve(tmp_path):
    def retrieve(url):
        known_hash = hashlib.sha256(DATA[url]).hexdigest()
        name = url.rpartition("/")[2]
        return pooch.retrieve(url, known_hash, fname=name, path=tmp_path / "data", downloader=download)

    return retrieve


def test_two_data_sets_at_once(retrieve):
    with ThreadPoolExecutor(2) as executor:
        files = list(executor.map(retrieve, DATA))
    assert [Path(file).read_bytes() for file in files] == list(DATA.values())
