/* SPDX-License-Identifier: Apache-2.0 */
/* Serves requests and writes a line for each into the buffer of the access log. */
#include <assert.h>
#include <pthread.h>
#include <string.h>

#define WORKERS  3
#define REQUESTS 3
#define BUFFER   512

struct buffered_log {
    size_t used;
    char text[BUFFER];
};

struct worker {
    const char *paths[REQUESTS];
    size_t logged;
};

static struct buffered_log access_log;
static struct worker workers[WORKERS] = {
    {.paths = {"GET /index.html 200\n", "GET /style.css 200\n", "GET /none 404\n"}},
    {.paths = {"GET /news 200\n", "GET /news/1 304\n", "GET /news/2 200\n"}},
    {.paths = {"POST /form 302\n", "GET /thanks 200\n", "GET /logo.png 200\n"}},
};

static void write_log(struct buffered_log *log, const char *line, size_t length) {
    size_t start = log->used;
    memcpy(log->text + start, line, length);
    log->used = start + length;
}

static void *serve(void *arg) {
    struct worker *worker = arg;
    for (int i = 0; i < REQUESTS; i++) {
        size_t length = strlen(worker->paths[i]);
        write_log(&access_log, worker->paths[i], length);
        worker->logged += length;
    }
    return NULL;
}

int main(void) {
    pthread_t threads[WORKERS];
    size_t logged = 0;
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, serve, &workers[i]);
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(threads[i], NULL);
        logged += workers[i].logged;
    }
    assert(access_log.used == logged);
    return 0;
}
