# SPDX-License-Identifier: Apache-2.0
"""Search several picture archives at once; an archive that has moved leaves the catalogue."""

import configparser
import threading

CATALOGUE = """
[observatory]
address = https://sky.example.org
[satellite]
address = https://orbit.example.org
"""


class MetaSearch:
    def __init__(self, catalogue):
        self.archives = configparser.ConfigParser()
        self.archives.read_string(catalogue)
        self.lock = threading.Lock()
        self.requests = []
        self.skipped = 0

    def search(self, archive, day):
        with self.lock:
            if self.archives.has_section(archive):
                address = self.archives.get(archive, "address")
                self.requests.append(f"{address}/{day}")
            else:
                self.skipped += 1

    def retire(self, archive):
        with self.lock:
            self.archives.remove_section(archive)


def search_days(engine, archives, days):
    for archive in archives:
        for day in days:
            engine.search(archive, day)


def main():
    engine = MetaSearch(CATALOGUE)
    days = ["2024-05-10", "2024-05-11"]
    threads = [
        threading.Thread(target=search_days, args=(engine, ["observatory", "satellite"], days)),
        threading.Thread(target=engine.retire, args=("satellite",)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{len(engine.requests)} requests, {engine.skipped} skipped")


if __name__ == "__main__":
    main()
