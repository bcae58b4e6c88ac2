/* SPDX-License-Identifier: Apache-2.0 */
/* Three stations pass a number on; each adds one to what the station before it has. */
#include <assert.h>
#include <pthread.h>

static int first, second, third;

static void *begin(void *arg) {
    (void)arg;
    first = 1;
    return NULL;
}

static void *pass(void *arg) {
    (void)arg;
    if (first)
        second = first + 1;
    return NULL;
}

static void *finish(void *arg) {
    (void)arg;
    third = second + 1;
    assert(third == 3 || third == 1);
    return NULL;
}

int main(void) {
    pthread_t stations[3];
    pthread_create(&stations[0], NULL, begin, NULL);
    pthread_create(&stations[1], NULL, pass, NULL);
    pthread_create(&stations[2], NULL, finish, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(stations[i], NULL);
    return 0;
}
