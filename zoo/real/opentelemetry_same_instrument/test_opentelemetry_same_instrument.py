# SPDX-License-Identifier: Apache-2.0
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader


@pytest.fixture
def reader():
    return InMemoryMetricReader()


@pytest.fixture
def provider(reader):
    provider = MeterProvider(metric_readers=[reader], shutdown_on_exit=False)
    yield provider
    provider.shutdown()


def total(reader):
    points = reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics[0].data.data_points
    return sum(point.value for point in points)


@pytest.mark.parametrize("kind", ["create_counter", "create_up_down_counter"])
def test_request_handlers_ask_for_the_same_instrument(provider, reader, kind):
    meter = provider.get_meter("shop")

    def handle(order):
        instrument = getattr(meter, kind)("orders")
        instrument.add(1)
        return instrument

    with ThreadPoolExecutor(max_workers=3) as handlers:
        instruments = list(handlers.map(handle, range(3), timeout=10))

    assert len({id(instrument) for instrument in instruments}) == 1
    assert total(reader) == 3
