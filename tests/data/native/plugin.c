/* A library that is built by an ordinary compiler; it makes a thread and waits for it. */
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready, total;

static void *work(void *argument) {
    pthread_mutex_lock(&mutex);
    ready = 1;
    total += *(int *)argument;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
    return argument;
}

int run_plugin(int amount, void (*told)(int)) {
    pthread_t thread;
    pthread_create(&thread, 0, work, &amount);
    pthread_mutex_lock(&mutex);
    while (!ready)
        pthread_cond_wait(&changed, &mutex);
    ready = 0;
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, 0);
    told(total);
    return total;
}
