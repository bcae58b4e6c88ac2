/* SPDX-License-Identifier: Apache-2.0
 *
 * Every call here returns an error or runs out of time; the lines are known to the test.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static mtx_t c11;
static sem_t none;
static int ends[2];

static struct timespec soon(void) {
    struct timespec when;
    clock_gettime(CLOCK_REALTIME, &when);
    when.tv_sec++;
    return when;
}

static void *refuse(void *argument) {
    struct timespec when = soon(), second = {1, 0};
    struct timeval one = {1, 0};
    struct pollfd file = {ends[0], POLLIN, 0};
    struct epoll_event event;
    fd_set files;
    FD_ZERO(&files);
    FD_SET(ends[0], &files);
    pthread_mutex_trylock(&held);
    pthread_mutex_timedlock(&held, &when);
    when = soon();
    sem_timedwait(&none, &when);
    mtx_trylock(&c11);
    poll(&file, 1, 1000);
    ppoll(&file, 1, &second, NULL);
    select(ends[0] + 1, &files, NULL, NULL, &one);
    epoll_wait(epoll_create1(0), &event, 1, 1000);
    open("/nowhere/at/all", O_RDONLY);
    fopen("/nowhere/at/all", "r");
    unlink("/nowhere/at/all");
    write(-1, "", 1);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
    struct timespec when = soon();
    pipe(ends);
    sem_init(&none, 0, 0);
    mtx_init(&c11, mtx_plain);
    mtx_lock(&c11);
    pthread_mutex_lock(&held);
    pthread_mutex_lock(&mine);
    pthread_cond_timedwait(&never, &mine, &when);
    pthread_create(&thread, NULL, refuse, NULL);
    when = soon();
    pthread_timedjoin_np(thread, NULL, &when);
    puts("ok");
    fflush(stdout);
    pthread_join(thread, NULL);
    return 0;
}
