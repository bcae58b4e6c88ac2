# SPDX-License-Identifier: Apache-2.0
import threading

import pytest
from oslo_config import cfg


@pytest.fixture
def conf(tmp_path):
    settings = tmp_path / "service.conf"
    settings.write_text("[DEFAULT]\nworkers = 4\n")
    conf = cfg.ConfigOpts()
    conf.register_opts([cfg.IntOpt("workers"), cfg.StrOpt("host"), cfg.BoolOpt("debug")])
    conf.register_opt(cfg.StrOpt("url"), group="database")
    conf(args=[], project="service", default_config_files=[str(settings)])
    return conf


def load_plugin(conf, name):
    """A plug-in brings its own options when it is first used."""
    conf.register_opts([cfg.StrOpt("%s_%s" % (name, part)) for part in ("path", "mode", "owner")])
    conf.register_opt(cfg.StrOpt("token"), group=name)


def test_reload_while_plugins_register(conf):
    outcome = {}

    def reload():
        try:
            outcome["reloaded"] = conf.reload_config_files()
        except RuntimeError as error:
            outcome["error"] = error

    threads = [threading.Thread(target=reload)]
    threads += [threading.Thread(target=load_plugin, args=(conf, name)) for name in ("cinder", "nova")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcome == {"reloaded": True}
    assert conf.workers == 4
