/* As many threads at once as the first argument says; prints the sum of what they did. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 2000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;
static int total;

static void *work(void *argument) {
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&mutex);
    total++;
    pthread_mutex_unlock(&mutex);
    return argument;
}

int main(int count, char **arguments) {
    static pthread_t threads[MOST];
    int wanted = count > 1 ? atoi(arguments[1]) : 2;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&barrier, NULL, (unsigned)wanted);
    for (int i = 0; i < wanted; i++)
        if (pthread_create(&threads[i], &small, work, NULL))
            return 2;
    for (int i = 0; i < wanted; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", total);
    return total == wanted ? 0 : 1;
}
