# SPDX-License-Identifier: Apache-2.0
"""The ranked findings of a stored campaign, by all methods joined or by one of them alone."""

from __future__ import annotations

from pathlib import Path

from unsnarl.analyses.methods import DEFAULT, UNLABELLED, Choices
from unsnarl.campaigns import store as stores
from unsnarl.campaigns.captures import Captures
from unsnarl.campaigns.store import Store
from unsnarl.model.report import Report
from unsnarl.workflows.campaign_report import (
    Request,
    make_report,
    nothing_failed,
    stored_figures,
    stored_report,
    stored_tally,
)

__all__ = ["Choices", "rank"]


def rank(campaign: str = "", method: str = DEFAULT, choices: Choices | None = None) -> Report:
    """The ranking of a stored campaign, the newest by default.

    The default method's ranking is the campaign's report, experiments and all; other methods rank
    anew, and what they find is not stored.
    """
    if method != DEFAULT:
        return _ranked(campaign, Request(method, choices or Choices(), method == UNLABELLED))
    report = stored_report(campaign)
    if not report.failures:
        raise nothing_failed(report.campaign)
    return report


def _ranked(campaign: str, request: Request) -> Report:
    store = Store.open(stores.find(Path.cwd(), campaign))
    try:
        tally = stored_tally(store)
        if not tally.failing and not request.unlabelled:
            raise nothing_failed(store.name)
        return make_report(store, stored_figures(store, tally), Captures(store), request)
    finally:
        store.close()
