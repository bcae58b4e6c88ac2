/* SPDX-License-Identifier: Apache-2.0 */
/* A parcel is weighed in one step and priced in the next; the customer asks for both. */
#include <assert.h>
#include <pthread.h>

#define PAIRS 5

static pthread_mutex_t scales = PTHREAD_MUTEX_INITIALIZER, till = PTHREAD_MUTEX_INITIALIZER;
static int weight, price;

static void *post(void *arg) {
    (void)arg;
    pthread_mutex_lock(&scales);
    weight = 3;
    pthread_mutex_unlock(&scales);
    pthread_mutex_lock(&till);
    price = 30;
    pthread_mutex_unlock(&till);
    return NULL;
}

static void *ask(void *arg) {
    (void)arg;
    pthread_mutex_lock(&scales);
    int heavy = weight;
    pthread_mutex_unlock(&scales);
    if (!heavy)
        return NULL;
    pthread_mutex_lock(&till);
    int due = price;
    pthread_mutex_unlock(&till);
    assert(due == 10 * heavy);
    return NULL;
}

int main(void) {
    pthread_t clerks[PAIRS], customers[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        pthread_create(&clerks[i], NULL, post, NULL);
        pthread_create(&customers[i], NULL, ask, NULL);
    }
    for (int i = 0; i < PAIRS; i++) {
        pthread_join(clerks[i], NULL);
        pthread_join(customers[i], NULL);
    }
    return 0;
}
