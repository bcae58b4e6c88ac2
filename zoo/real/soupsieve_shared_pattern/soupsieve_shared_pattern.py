# SPDX-License-Identifier: Apache-2.0
"""Two scrapers compile the selectors they need; exit 1 if one of them is refused or selects something else."""

import sys
import threading

import soupsieve
from bs4 import BeautifulSoup

PAGE = """
<ul>
  <li lang="en">one</li><li lang="fr">deux</li><li lang="en">three</li>
</ul>
"""
SELECTORS = {"li:nth-child(2)": ["deux"], "li:lang('en')": ["one", "three"]}


def scrape(selector, results):
    page = BeautifulSoup(PAGE, "html.parser")
    try:
        results[selector] = [item.text for item in soupsieve.compile(selector).select(page)]
    except Exception as error:
        results[selector] = error


def main():
    results = {}
    scrapers = [threading.Thread(target=scrape, args=(selector, results)) for selector in SELECTORS]
    for scraper in scrapers:
        scraper.start()
    for scraper in scrapers:
        scraper.join(timeout=10)
    if results != SELECTORS:
        print("selected:", results)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
