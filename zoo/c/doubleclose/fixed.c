/* SPDX-License-Identifier: Apache-2.0 */
/* A connection is closed by whoever is done first: its reader or the timer. */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

struct connection {
    int file;
    int is_open;
};

static struct connection connection;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void hang_up(struct connection *one) {
    pthread_mutex_lock(&lock);
    if (one->is_open) {
        int outcome = close(one->file);
        one->is_open = 0;
        assert(outcome == 0);
    }
    pthread_mutex_unlock(&lock);
}

static void *read_all(void *arg) {
    hang_up(arg);
    return NULL;
}

static void *time_out(void *arg) {
    hang_up(arg);
    return NULL;
}

int main(void) {
    pthread_t reader, timer;
    connection.file = open("/dev/null", O_RDONLY);
    connection.is_open = 1;
    pthread_create(&reader, NULL, read_all, &connection);
    pthread_create(&timer, NULL, time_out, &connection);
    pthread_join(reader, NULL);
    pthread_join(timer, NULL);
    return 0;
}
