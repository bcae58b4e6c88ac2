/* Handlers that run wherever a signal strikes: prints ok. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int struck, told;
static int shared[8], pipes[2];
static sem_t posted;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int over, heard;

/* Touches what the threads touch, and does what a handler may. */
static void on_tick(int number) {
    (void)number;
    for (int i = 0; i < 8; i++)
        shared[i]++;
    struck++;
}
static void on_post(int number) {
    (void)number;
    sem_post(&posted);
}
static void on_info(int number, siginfo_t *info, void *context) {
    (void)context;
    told = number == SIGUSR2 && info->si_pid == getpid();
}

static void *work(void *argument) {
    for (int i = 0; !over; i++) {
        pthread_mutex_lock(&mutex);
        shared[i % 8] += 2;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}

/* Ticks of a timer come at any place, also inside the probe. */
static void ticks(void) {
    pthread_t threads[2];
    struct itimerval often = {{.tv_usec = 3000}, {.tv_usec = 3000}}, never = {{0}, {0}};
    signal(SIGALRM, on_tick);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    while (struck < 20)
        usleep(1);
    over = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    setitimer(ITIMER_REAL, &never, NULL);
}

/* Until it is heard: the other one may not wait yet. */
static void *strike(void *argument) {
    while (!heard) {
        pthread_kill(*(pthread_t *)argument, SIGUSR1);
        usleep(1000);
    }
    return NULL;
}

/* Whoever waits is called back. */
static void waiting(void) {
    pthread_t thread, self = pthread_self();
    struct sigaction action = {.sa_handler = on_post};
    sem_init(&posted, 0, 0);
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&thread, NULL, strike, &self);
    while (sem_wait(&posted) == -1)
        assert(errno == EINTR);
    heard = 1;
    pthread_join(thread, NULL);
    heard = 0;
    pthread_create(&thread, NULL, strike, &self);
    char byte;
    ssize_t n = read(pipes[0], &byte, 1);
    assert(n == -1 && errno == EINTR);
    heard = 1;
    pthread_join(thread, NULL);
    alarm(1);
    assert(pause() == -1 && errno == EINTR);
}

static void kinds(void) {
    struct sigaction action = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO}, old;
    sigaction(SIGUSR2, &action, NULL);
    assert(sigaction(SIGUSR2, NULL, &old) == 0 && old.sa_sigaction == on_info);
    kill(getpid(), SIGUSR2);
    for (int i = 0; i < 1000 && !told; i++)
        usleep(10);
    assert(told);
    assert(signal(SIGUSR2, SIG_IGN) != SIG_ERR && signal(SIGUSR2, SIG_DFL) == SIG_IGN);
    raise(SIGWINCH);
}

static void *await(void *argument) {
    int number;
    assert(sigwait(argument, &number) == 0 && number == SIGTERM);
    return NULL;
}

static void blocked(void) {
    pthread_t thread;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&thread, NULL, await, &set);
    kill(getpid(), SIGTERM);
    pthread_join(thread, NULL);
}

int main(void) {
    assert(pipe(pipes) == 0);
    ticks();
    waiting();
    kinds();
    blocked();
    puts("ok");
    return 0;
}
