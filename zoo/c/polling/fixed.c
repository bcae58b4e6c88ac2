/* SPDX-License-Identifier: Apache-2.0 */
/* A downloader says how far it is; the window polls it and shows the size when all is there. */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static volatile int finished;
static volatile long size;

static void *download(void *arg) {
    (void)arg;
    for (int part = 0; part < 4; part++)
        usleep(500);
    size = 4096;
    finished = 1;
    return NULL;
}

static void *show(void *arg) {
    (void)arg;
    while (!finished)
        usleep(100);
    long shown = size;
    assert(shown > 0);
    return NULL;
}

int main(void) {
    pthread_t loader, window;
    pthread_create(&loader, NULL, download, NULL);
    pthread_create(&window, NULL, show, NULL);
    pthread_join(loader, NULL);
    pthread_join(window, NULL);
    return 0;
}
