/* A threaded program that forks: the copy goes on alone. Prints ok. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER, theirs = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t items, begun, over;
static int shared, made;

static void make(void) {
    made++;
}

static void *hold(void *argument) {
    pthread_mutex_lock(&theirs);
    sem_post(&begun);
    sem_wait(&over);
    shared++;
    pthread_mutex_unlock(&theirs);
    return argument;
}

static void *add(void *argument) {
    pthread_mutex_lock(&mine);
    shared += 10;
    pthread_mutex_unlock(&mine);
    return argument;
}

/* What was locked, counted or done before the fork still is. */
static void child(void) {
    pthread_t thread;
    assert(pthread_mutex_trylock(&theirs) != 0 && pthread_mutex_trylock(&mine) != 0);
    assert(sem_trywait(&items) == 0 && sem_trywait(&items) == 0 && sem_trywait(&items) == -1);
    pthread_once(&once, make);
    assert(made == 1);
    pthread_create(&thread, NULL, add, NULL);
    pthread_mutex_unlock(&mine);
    pthread_join(thread, NULL);
    exit(shared == 10 ? 5 : 1);
}

static int status_of(pid_t pid) {
    int status;
    assert(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void) {
    pthread_t thread;
    pid_t pid;
    sem_init(&items, 0, 5);
    sem_init(&begun, 0, 0);
    sem_init(&over, 0, 0);
    for (int i = 0; i < 3; i++)
        sem_wait(&items);
    pthread_once(&once, make);
    pthread_create(&thread, NULL, hold, NULL);
    sem_wait(&begun);
    pthread_mutex_lock(&mine);
    if (!(pid = fork()))
        child();
    pthread_mutex_unlock(&mine);
    assert(status_of(pid) == 5);
    if (!(pid = fork())) {
        execl("/bin/sh", "sh", "-c", "test -z \"$UNSNARL_PLAN\" && exit 4", (char *)NULL);
        _exit(1);
    }
    assert(status_of(pid) == 4);
    if (!(pid = vfork()))
        _exit(6);
    assert(status_of(pid) == 6);
    sem_post(&over);
    pthread_join(thread, NULL);
    assert(shared == 1);
    puts("ok");
    return 0;
}
