# SPDX-License-Identifier: Apache-2.0
import unittest
from concurrent.futures import ThreadPoolExecutor

from config import Config

OLD = {"host": "old.example.org", "port": 80}
NEW = {"host": "new.example.org", "port": 8080}


class ConfigTest(unittest.TestCase):
    def setUp(self):
        versions = iter((OLD, NEW))
        self.config = Config(lambda: next(versions))
        self.pool = ThreadPoolExecutor(max_workers=2)
        self.addCleanup(self.pool.shutdown)

    def test_reload_changes_the_endpoint(self):
        self.config.reload()
        self.assertEqual(self.config.endpoint(), ("new.example.org", 8080))

    def test_endpoint_during_a_reload(self):
        reload = self.pool.submit(self.config.reload)
        endpoint = self.pool.submit(self.config.endpoint)
        reload.result(timeout=5)
        expected = [tuple(OLD.values()), tuple(NEW.values())]
        self.assertIn(endpoint.result(timeout=5), expected)


if __name__ == "__main__":
    unittest.main()
