# SPDX-License-Identifier: Apache-2.0
"""Every message that is published has a number of its own, by which its receipt is known."""

from concurrent.futures import ThreadPoolExecutor

from AWSIoTPythonSDK.core.protocol.paho.client import Client


def test_three_sensors_publish_over_one_client():
    client = Client("greenhouse")
    topics = ["temperature", "humidity", "light"]

    with ThreadPoolExecutor(max_workers=3) as sensors:
        receipts = list(sensors.map(lambda topic: client.publish(topic, "21", qos=1), topics))

    numbers = [number for _, number in receipts]
    assert sorted(numbers) == [1, 2, 3]
