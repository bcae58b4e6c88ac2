/* Threads that talk through the kernel: prints ok. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 50
#define LARGE  200000

static int there[2], back[2];

static void *echo(void *argument) {
    char byte;
    for (int i = 0; i < ROUNDS; i++)
        assert(read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1);
    return argument;
}

static void ping_pong(void) {
    pthread_t thread;
    char byte;
    pthread_create(&thread, NULL, echo, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        char sent = (char)i;
        assert(write(there[1], &sent, 1) == 1 && read(back[0], &byte, 1) == 1 && byte == sent);
    }
    pthread_join(thread, NULL);
}

static void *write_much(void *argument) {
    char *all = calloc(1, LARGE);
    assert(write(there[1], all, LARGE) == LARGE);
    free(all);
    return argument;
}

static void more_than_fits(void) {
    pthread_t thread;
    static char part[10000];
    pthread_create(&thread, NULL, write_much, NULL);
    for (ssize_t got = 0, n; got < LARGE; got += n)
        assert((n = read(there[0], part, sizeof part)) > 0);
    pthread_join(thread, NULL);
}

static void *watch(void *argument) {
    struct pollfd one = {.fd = back[0], .events = POLLIN};
    fd_set set;
    struct epoll_event event = {.events = EPOLLIN};
    char byte;
    int queue = epoll_create1(0);
    assert(poll(&one, 1, 10) == 0 && write(there[1], "p", 1) == 1);
    assert(poll(&one, 1, -1) == 1 && read(back[0], &byte, 1) == 1);
    FD_ZERO(&set);
    FD_SET(back[0], &set);
    assert(write(there[1], "s", 1) == 1 && select(back[0] + 1, &set, NULL, NULL, NULL) == 1);
    assert(FD_ISSET(back[0], &set) && read(back[0], &byte, 1) == 1);
    epoll_ctl(queue, EPOLL_CTL_ADD, back[0], &event);
    assert(epoll_wait(queue, &event, 1, 5) == 0 && write(there[1], "e", 1) == 1);
    assert(epoll_wait(queue, &event, 1, -1) == 1 && read(back[0], &byte, 1) == 1);
    close(queue);
    return argument;
}

static void many_files(void) {
    pthread_t thread;
    char byte;
    pthread_create(&thread, NULL, watch, NULL);
    for (int i = 0; i < 3; i++)
        assert(read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1);
    pthread_join(thread, NULL);
}

static void *serve(void *argument) {
    int listener = *(int *)argument, peer = accept(listener, NULL, NULL);
    char text[8];
    assert(peer >= 0 && recv(peer, text, 5, MSG_WAITALL) == 5);
    assert(send(peer, text, 5, 0) == 5);
    assert(recv(peer, text, 1, 0) == 0); /* the other side is gone */
    close(peer);
    return argument;
}

static void sockets(void) {
    pthread_t thread;
    char text[8];
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct timeval limit = {.tv_usec = 1000};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), mine = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert(bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 4) == 0);
    getsockname(listener, (struct sockaddr *)&address, &length);
    pthread_create(&thread, NULL, serve, &listener);
    assert(connect(mine, (struct sockaddr *)&address, length) == 0);
    setsockopt(mine, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert(recv(mine, text, 1, 0) == -1 && errno == EAGAIN);
    limit.tv_usec = 0;
    setsockopt(mine, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert(send(mine, "hello", 5, 0) == 5 && recv(mine, text, 5, MSG_WAITALL) == 5);
    close(mine);
    pthread_join(thread, NULL);
    close(listener);
}

static void *count_up(void *argument) {
    uint64_t one = 1;
    struct iovec part = {&one, sizeof one};
    assert(writev(*(int *)argument, &part, 1) == sizeof one);
    return argument;
}

static void *write_lines(void *argument) {
    for (int i = 0; i < 5; i++)
        assert(write(there[1], "line\n", 5) == 5);
    return argument;
}

static void lines(void) {
    pthread_t thread;
    char line[16], *whole = NULL;
    size_t size = 0;
    FILE *stream = fdopen(there[0], "r");
    pthread_create(&thread, NULL, write_lines, NULL);
    for (int i = 0; i < 2; i++)
        assert(fgets(line, sizeof line, stream));
    assert(getline(&whole, &size, stream) == 5 && fgetc(stream) == 'l' && getc(stream) == 'i');
    assert(fread(line, 1, 3, stream) == 3 && fread(line, 1, 5, stream) == 5);
    free(whole);
    pthread_join(thread, NULL);
}

static void others(void) {
    pthread_t thread;
    uint64_t count;
    int status, event = eventfd(0, 0);
    pthread_create(&thread, NULL, count_up, &event);
    assert(read(event, &count, sizeof count) == sizeof count && count == 1);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (!child)
        _exit(7);
    assert(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
    assert(waitpid(-1, &status, 0) == -1 && errno == ECHILD);
    assert(WEXITSTATUS(system("exit 3")) == 3);
}

int main(void) {
    assert(pipe(there) == 0 && pipe(back) == 0);
    ping_pong();
    more_than_fits();
    many_files();
    sockets();
    others();
    lines();
    puts("ok");
    return 0;
}
