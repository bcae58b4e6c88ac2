/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted list whose nodes have locks: the next one is taken before the last one is let go. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

struct node {
    pthread_mutex_t lock;
    int key;
    struct node *next;
};

static struct node *make(int key, struct node *next) {
    struct node *made = malloc(sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    made->key = key;
    made->next = next;
    return made;
}

static struct node *head;

/* The last node below a key, locked. */
static struct node *before(int key) {
    struct node *at = head;
    pthread_mutex_lock(&at->lock);
    while (at->next && at->next->key < key) {
        struct node *next = at->next;
        pthread_mutex_lock(&next->lock);
        pthread_mutex_unlock(&at->lock);
        at = next;
    }
    return at;
}

static void insert(int key) {
    struct node *at = before(key);
    at->next = make(key, at->next);
    pthread_mutex_unlock(&at->lock);
}

static void erase(int key) {
    struct node *at = before(key);
    struct node *gone = at->next;
    if (gone && gone->key == key) {
        pthread_mutex_lock(&gone->lock);
        at->next = gone->next;
        pthread_mutex_unlock(&gone->lock);
        pthread_mutex_destroy(&gone->lock);
        free(gone);
    }
    pthread_mutex_unlock(&at->lock);
}

static void *grow(void *arg) {
    (void)arg;
    insert(2);
    insert(5);
    return NULL;
}

static void *shrink(void *arg) {
    (void)arg;
    erase(3);
    insert(4);
    return NULL;
}

int main(void) {
    head = make(0, make(1, make(3, make(6, NULL))));
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, grow, NULL);
    pthread_create(&threads[1], NULL, shrink, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    static const int expected[] = {0, 1, 2, 4, 5, 6};
    struct node *at = head;
    for (int i = 0; i < 6; i++, at = at->next)
        assert(at && at->key == expected[i]);
    assert(!at);
    return 0;
}
