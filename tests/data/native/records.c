/* Threads that call functions and take a lock, and then end as asked. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long total, rounds = 500;
static int *nowhere;

static __attribute__((noinline)) void add(long amount) {
    total += amount;
}

static void *work(void *me) {
    for (int i = 0; i < rounds; i++) {
        pthread_mutex_lock(&mutex);
        add(1);
        pthread_mutex_unlock(&mutex);
    }
    return me;
}

static void copy(void) {
    pid_t child = fork();
    if (!child) {
        work(NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void end(const char *how) {
    if (!strcmp(how, "crash"))
        *nowhere = 1;
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "exit"))
        _exit(3);
    if (!strcmp(how, "assert"))
        assert(total < 0);
    if (!strcmp(how, "fork"))
        copy();
}

int main(int count, char **arguments) {
    int threads = atoi(arguments[1]);
    if (count > 3)
        rounds = atol(arguments[3]);
    pthread_t *made = calloc((size_t)threads, sizeof *made);
    for (int i = 0; i < threads; i++)
        pthread_create(&made[i], NULL, work, NULL);
    for (int i = 0; i < threads; i++)
        pthread_join(made[i], NULL);
    free(made);
    end(count > 2 ? arguments[2] : "");
    printf("%ld\n", total);
    return 0;
}
