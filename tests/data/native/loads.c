/* Threads that load plugin.so (the first argument) and call it: prints ok. */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const char *path;
static int seen;

static void told(int total) {
    seen = total;
}

static void *work(void *argument) {
    pthread_mutex_lock(&mutex);
    void *library = dlopen(path, RTLD_NOW);
    assert(library);
    int (*run)(int, void (*)(int)) = (int (*)(int, void (*)(int)))dlsym(library, "run_plugin");
    run(*(int *)argument, told);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[2];
    int amounts[2] = {3, 4};
    assert(count > 1);
    path = arguments[1];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, &amounts[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(seen == 7);
    puts("ok");
    return 0;
}
