/* SPDX-License-Identifier: Apache-2.0 */
/* Three people talk: Ann sends her questions to Bob and to Carl, Bob sends his answers to Carl, who
 * must know the question by then. */
#include <assert.h>
#include <pthread.h>

#define QUESTIONS 4
#define LOOKS     6

/* The numbers of the latest question and answer in each letter box. */
struct talk {
    pthread_mutex_t lock;
    long asked_bob;
    long asked_carl;
    long answered;
};

static struct talk talk = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *ann(void *arg) {
    (void)arg;
    for (long question = 1; question <= QUESTIONS; question++) {
        pthread_mutex_lock(&talk.lock);
        talk.asked_bob = question;
        talk.asked_carl = question;
        pthread_mutex_unlock(&talk.lock);
    }
    return NULL;
}

static void *bob(void *arg) {
    (void)arg;
    for (int i = 0; i < LOOKS; i++) {
        pthread_mutex_lock(&talk.lock);
        long question = talk.asked_bob;
        talk.answered = question;
        pthread_mutex_unlock(&talk.lock);
    }
    return NULL;
}

static void *carl(void *arg) {
    long *puzzled = arg;
    for (int i = 0; i < LOOKS; i++) {
        pthread_mutex_lock(&talk.lock);
        long answer = talk.answered;
        long question = talk.asked_carl;
        pthread_mutex_unlock(&talk.lock);
        if (answer > question)
            *puzzled += 1;
    }
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    long puzzled = 0;
    pthread_create(&threads[0], NULL, ann, NULL);
    pthread_create(&threads[1], NULL, bob, NULL);
    pthread_create(&threads[2], NULL, carl, &puzzled);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    assert(!puzzled);
    return 0;
}
