# SPDX-License-Identifier: Apache-2.0
"""The first requests after a start: two clients ask for pages of different parts of a site."""

import sys
import threading

from flask import Blueprint, Flask
from flask_limiter import ExemptionScope, Limiter
from flask_limiter.util import get_remote_address

PARTS = ["admin", "api", "blog", "docs", "forum", "shop"]


def make_site():
    site = Flask("site")
    site.logger.disabled = True
    limiter = Limiter(get_remote_address, app=site, storage_uri="memory://")
    for part in PARTS:
        blueprint = Blueprint(part, part, url_prefix=f"/{part}")
        blueprint.add_url_rule("/", "index", lambda: "welcome")
        site.register_blueprint(blueprint)
        if part in ("admin", "docs", "forum"):
            limiter.exempt(blueprint, flags=ExemptionScope.DEFAULT | ExemptionScope.DESCENDENTS)
    return site


def visit(site, part, answers):
    with site.test_client() as client:
        answers[part] = client.get(f"/{part}/").status_code


def main():
    site = make_site()
    answers = {}
    visitors = [
        threading.Thread(target=visit, args=(site, part, answers), daemon=True)
        for part in ("blog", "shop")
    ]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join(timeout=10)
    if answers != {"blog": 200, "shop": 200}:
        print("answers:", answers)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
