/* All the ways out of a program whose threads still run: the first argument says which. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *way;
static int shared;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void at_the_end(void) {
    pthread_mutex_lock(&mutex);
    shared++;
    pthread_mutex_unlock(&mutex);
    printf("end\n");
    fflush(stdout);
}

static void *spin(void *argument) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        shared++;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

static void leave(void) {
    if (!strcmp(way, "exit"))
        exit(3);
    if (!strcmp(way, "_exit"))
        _exit(4);
    if (!strcmp(way, "quick_exit"))
        quick_exit(5);
    if (!strcmp(way, "abort"))
        abort();
    if (!strcmp(way, "kill"))
        kill(getpid(), SIGTERM);
    if (!strcmp(way, "trap"))
        __builtin_trap();
}

static void *leaves(void *argument) {
    leave();
    return argument;
}

static void *last(void *argument) {
    usleep(1000);
    shared += 2;
    return argument;
}

int main(int count, char **arguments) {
    pthread_t thread;
    way = count > 1 ? arguments[1] : "";
    atexit(at_the_end);
    at_quick_exit(at_the_end);
    if (!strcmp(way, "pthread_exit")) {
        pthread_create(&thread, NULL, last, NULL);
        pthread_exit(NULL);
    }
    pthread_create(&thread, NULL, spin, NULL);
    if (!strcmp(way, "return"))
        return 2;
    if (count > 2)
        leave();
    pthread_create(&thread, NULL, leaves, NULL);
    pthread_join(thread, NULL);
    sleep(1);
    return 0;
}
