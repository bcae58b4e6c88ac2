# SPDX-License-Identifier: Apache-2.0
"""Two workers of a crawler share one extractor and its cache file."""

import logging
from concurrent.futures import ThreadPoolExecutor

import pytest
import tldextract

SUFFIXES = ["com", "org", "co.uk", "gov.uk", "uk", "example"]


@pytest.fixture
def extract(tmp_path):
    suffix_list = tmp_path / "public_suffix_list.dat"
    suffix_list.write_text("\n".join(SUFFIXES) + "\n")
    return tldextract.TLDExtract(
        cache_file=str(tmp_path / "tld_set"),
        suffix_list_urls=("file://%s" % suffix_list,),
        fallback_to_snapshot=False,
    )


def test_two_threads_share_the_cache_file(extract, caplog):
    hosts = ["news.bbc.co.uk", "www.example.org"]
    with caplog.at_level(logging.WARNING, logger="tldextract"):
        with ThreadPoolExecutor(max_workers=2) as pool:
            results = list(pool.map(extract, hosts, timeout=30))

    assert [result.registered_domain for result in results] == ["bbc.co.uk", "example.org"]
    assert [record.getMessage() for record in caplog.records] == []
