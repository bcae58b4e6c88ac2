/* SPDX-License-Identifier: Apache-2.0 */
/* One thread clears an array of ints at once, another one reads its second element. */
#include <pthread.h>
#include <string.h>

static int cells[8];
static int seen;

static void *clear(void *arg) {
    memset(cells, 0, sizeof cells);
    return arg;
}

static void *look(void *arg) {
    seen = cells[1];
    return arg;
}

int main(void) {
    pthread_t clears, looks;
    pthread_create(&clears, NULL, clear, NULL);
    pthread_create(&looks, NULL, look, NULL);
    pthread_join(clears, NULL);
    pthread_join(looks, NULL);
    return seen;
}
