/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a node of a cluster: it gets its number from the manager, recovers its tables and then
 * answers an operator. */
#include <assert.h>
#include <pthread.h>

#define NODES  8
#define TABLES 4

struct manager {
    pthread_mutex_t lock;
    long count;
    const char *hosts[NODES];
};

struct node {
    pthread_mutex_t lock;
    pthread_cond_t joined;
    const char *host;
    long id;
    long tables;
};

struct answers {
    long peers;
    long tables;
    long id;
};

static struct manager manager = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .count = 2, .hosts = {"db1", "db2"}};
static struct node node = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .joined = PTHREAD_COND_INITIALIZER, .host = "db3"};

static long add_host(struct manager *m, const char *host) {
    pthread_mutex_lock(&m->lock);
    m->hosts[m->count] = host;
    m->count += 1;
    long id = m->count;
    pthread_mutex_unlock(&m->lock);
    return id;
}

static long count_hosts(struct manager *m) {
    pthread_mutex_lock(&m->lock);
    long count = m->count;
    pthread_mutex_unlock(&m->lock);
    return count;
}

static void *join_cluster(void *arg) {
    (void)arg;
    long id = add_host(&manager, node.host);
    pthread_mutex_lock(&node.lock);
    node.id = id;
    pthread_cond_signal(&node.joined);
    pthread_mutex_unlock(&node.lock);
    return NULL;
}

static void *recover(void *arg) {
    (void)arg;
    for (int i = 0; i < TABLES; i++)
        node.tables += 1;
    return NULL;
}

static void *answer(void *arg) {
    struct answers *answers = arg;
    answers->peers = count_hosts(&manager);
    answers->tables = node.tables;
    pthread_mutex_lock(&node.lock);
    while (node.id == 0)
        pthread_cond_wait(&node.joined, &node.lock);
    long id = node.id;
    pthread_mutex_unlock(&node.lock);
    answers->id = id;
    return NULL;
}

int main(void) {
    pthread_t membership, recovery, console;
    struct answers answers;
    pthread_create(&membership, NULL, join_cluster, NULL);
    pthread_create(&recovery, NULL, recover, NULL);
    pthread_join(recovery, NULL);
    pthread_create(&console, NULL, answer, &answers);
    pthread_join(membership, NULL);
    pthread_join(console, NULL);
    assert(answers.id == node.id);
    return 0;
}
