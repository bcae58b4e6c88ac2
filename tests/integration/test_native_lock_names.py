# SPDX-License-Identifier: Apache-2.0
"""What reports call the mutexes of a deadlock in C."""

import json
import shutil

import pytest
from tests.integration.test_native import built
from tests.integration.test_native_names import hunted

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")

SHARDS = r"""
#include <pthread.h>

struct shard {
    int score;
    pthread_mutex_t mutex;
};
static struct shard shards[4];

static void move(struct shard *from, struct shard *to) {
    pthread_mutex_lock(&from->mutex);
    pthread_mutex_lock(&to->mutex);
    from->score--;
    to->score++;
    pthread_mutex_unlock(&to->mutex);
    pthread_mutex_unlock(&from->mutex);
}

static void *up(void *unused) {
    move(&shards[1], &shards[2]);
    return unused;
}

static void *down(void *unused) {
    move(&shards[2], &shards[1]);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 4; i++)
        pthread_mutex_init(&shards[i].mutex, NULL);
    pthread_create(&threads[0], NULL, up, NULL);
    pthread_create(&threads[1], NULL, down, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
"""
PLACES = {"shards[1].mutex", "shards[2].mutex"}


@pytest.mark.parametrize("options", [("--no-confirm",), ("--confirm", "1")])
def test_a_mutex_of_an_array_is_called_by_its_place(tmp_path, options):
    (tmp_path / "shards.c").write_text(SHARDS)
    built(tmp_path, "shards.c", "-o", "shards")
    done, _, finding = hunted(tmp_path, "shards", *options)
    points = finding["explanation"] or finding["points"]
    waits = [one for one in points if one["op"] == "wait"]
    assert {one["variable"] for one in waits} == PLACES, done.stdout
    assert {lock for one in waits for lock in one["locks"]} == PLACES, json.dumps(finding)
    assert set(finding["variables"]) <= PLACES
