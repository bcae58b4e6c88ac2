# SPDX-License-Identifier: Apache-2.0
"""A message with an ordering key is refused; the sender resumes the key and sends it again."""

import pytest
from google.api_core.exceptions import InvalidArgument
from google.cloud.pubsub_v1 import types
from google.cloud.pubsub_v1.publisher._batch.thread import Batch
from google.cloud.pubsub_v1.publisher._sequencer.ordered_sequencer import OrderedSequencer

TOPIC = "projects/shop/topics/orders"


class Client:
    """As much of a publisher client as a sequencer needs; the server refuses what is too large."""

    _batch_class = Batch
    batch_settings = types.BatchSettings(max_messages=1)

    def __init__(self):
        self.published = []

    def _gapic_publish(self, topic, messages, **options):
        if any(len(message.data) > 10 for message in messages):
            raise InvalidArgument("too large")
        self.published += [message.data for message in messages]
        return types.PublishResponse(message_ids=[str(len(self.published))])

    def ensure_cleanup_and_commit_timer_runs(self):
        pass


@pytest.fixture
def client():
    return Client()


@pytest.fixture
def orders(client):
    return OrderedSequencer(client, TOPIC, "customer-7")


def send(orders, data):
    future = orders.publish(types.PubsubMessage(data=data, ordering_key="customer-7"))
    orders.commit()
    return future.result(timeout=5)


def test_key_is_resumed_after_a_refusal(client, orders):
    with pytest.raises(InvalidArgument):
        send(orders, b"two hundred chairs")
    orders.unpause()
    assert send(orders, b"200 chairs") == "1"
    assert client.published == [b"200 chairs"]
