# SPDX-License-Identifier: Apache-2.0
"""Two simulations put their results into a store, while a third thread watches what the model has cost."""

import time
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from proxystore.store.local import LocalStore


@pytest.fixture
def store():
    store = LocalStore("results", stats=True, cache_size=0)
    yield store
    store.close()


def simulate(store, seed):
    keys = []
    for step in range(4):
        time.sleep(0.001)
        keys.append(store.set({"seed": seed, "step": step}))
    return keys


def watch(store, model, simulations):
    calls = []
    while True:
        calls.append(store.stats(model)["get"].calls)
        if not wait(simulations, timeout=0.001).not_done:
            return calls


def test_statistics_while_results_arrive(store):
    model = store.set([0.5, 0.25, 0.125])
    store.get(model)

    with ThreadPoolExecutor(max_workers=3) as pool:
        simulations = [pool.submit(simulate, store, seed) for seed in (1, 2)]
        watcher = pool.submit(watch, store, model, simulations)

    assert set(watcher.result()) == {1}
    for simulation in simulations:
        assert all(store.exists(key) for key in simulation.result())
