/* SPDX-License-Identifier: Apache-2.0 */
/* A message is freed by the last one of its readers. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define READERS 2

struct message {
    int readers;
    char text[24];
};

static struct message *news;

static void release(struct message *message) {
    if (__atomic_sub_fetch(&message->readers, 1, __ATOMIC_ACQ_REL) == 0)
        free(message);
}

static void *receive(void *arg) {
    (void)arg;
    struct message *mine = news;
    release(mine);
    return NULL;
}

int main(void) {
    pthread_t readers[READERS];
    news = calloc(1, sizeof *news);
    news->readers = READERS;
    strcpy(news->text, "it rains");
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, receive, NULL);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    return 0;
}
