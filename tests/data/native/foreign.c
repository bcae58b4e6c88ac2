/* A thread that the probe does not see start: made with libc's own pthread_create. Prints ok. */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

typedef int creates(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *work(void *argument) {
    for (int i = 0; i < 10; i++) {
        pthread_mutex_lock(&mutex);
        total++;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

int main(void) {
    pthread_t ours, theirs[2];
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    creates *create = (creates *)dlsym(libc, "pthread_create");
    for (int i = 0; i < 2; i++)
        assert(create(&theirs[i], NULL, work, NULL) == 0);
    pthread_create(&ours, NULL, work, NULL);
    pthread_join(ours, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(theirs[i], NULL);
    assert(total == 30);
    puts("ok");
    return 0;
}
