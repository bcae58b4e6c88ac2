/* SPDX-License-Identifier: Apache-2.0 */
/* One text is appended to another, of which a third party cuts off the end. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

struct text {
    pthread_mutex_t lock;
    int length;
    char letters[16];
};

static struct text source = {PTHREAD_MUTEX_INITIALIZER, 5, "hello"};
static char target[32];

static int length_of(struct text *t) {
    pthread_mutex_lock(&t->lock);
    int length = t->length;
    pthread_mutex_unlock(&t->lock);
    return length;
}

static void copy(struct text *t, int length) {
    pthread_mutex_lock(&t->lock);
    assert(length <= t->length);
    memcpy(target, t->letters, (size_t)length);
    pthread_mutex_unlock(&t->lock);
}

static void *append(void *arg) {
    (void)arg;
    int length = length_of(&source);
    copy(&source, length);
    return NULL;
}

static void *cut(void *arg) {
    (void)arg;
    pthread_mutex_lock(&source.lock);
    source.length = 0;
    pthread_mutex_unlock(&source.lock);
    return NULL;
}

int main(void) {
    pthread_t one, other;
    pthread_create(&one, NULL, append, NULL);
    pthread_create(&other, NULL, cut, NULL);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    return 0;
}
