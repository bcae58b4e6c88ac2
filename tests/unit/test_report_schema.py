# SPDX-License-Identifier: Apache-2.0
"""The published JSON Schema is that of the model, and what is written keeps to it."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from tests.golden.test_terminal import REPORTS
from tests.unit.reports_of_values import finding, patch, report

from unsnarl.reports.render.json import encode, schema

PUBLISHED = Path(__file__).parents[2] / "docs" / "report.schema.json"


def test_the_published_schema_is_that_of_the_model():
    """`python -m tests.unit.test_report_schema` writes it anew."""
    assert PUBLISHED.read_bytes() == schema()


@pytest.mark.parametrize("name", REPORTS)
def test_every_golden_report_keeps_to_the_schema(name):
    jsonschema.validate(json.loads(encode(REPORTS[name])), json.loads(schema()))


def test_a_patch_and_a_confirmed_finding_keep_to_it():
    document = json.loads(encode(report(finding(patch=patch()))))
    jsonschema.validate(document, json.loads(schema()))
    document["failures"][0]["findings"][0]["status"] = "certain"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, json.loads(schema()))


if __name__ == "__main__":
    PUBLISHED.write_bytes(schema())
