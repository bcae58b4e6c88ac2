# SPDX-License-Identifier: Apache-2.0
import time

import pytest

from reports import Reports


@pytest.fixture
def reports():
    reports = Reports(workers=2)
    yield reports
    reports.close()


def test_one_report(reports):
    assert reports.start("sales").result(timeout=10) == "head of sales body of sales"


def test_reports_of_two_users(reports):
    sales = reports.start("sales")
    time.sleep(0.02)  # the second user is a little later
    stock = reports.start("stock")
    assert sales.result(timeout=10) == "head of sales body of sales"
    assert stock.result(timeout=10) == "head of stock body of stock"
