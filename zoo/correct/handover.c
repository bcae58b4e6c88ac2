/* SPDX-License-Identifier: Apache-2.0 */
/* A block passes from thread to thread through a one-place mailbox; who takes it frees it. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct letter {
    char text[16];
    int pages;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct letter *mailbox;

static void *write_letters(void *arg) {
    (void)arg;
    for (int i = 1; i <= 3; i++) {
        struct letter *letter = malloc(sizeof *letter);
        strcpy(letter->text, "dear friend");
        letter->pages = i;
        pthread_mutex_lock(&lock);
        while (mailbox)
            pthread_cond_wait(&changed, &lock);
        mailbox = letter;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static void *read_letters(void *arg) {
    int *pages = arg;
    for (int i = 1; i <= 3; i++) {
        pthread_mutex_lock(&lock);
        while (!mailbox)
            pthread_cond_wait(&changed, &lock);
        struct letter *letter = mailbox;
        mailbox = NULL;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        *pages += letter->pages;
        free(letter);
    }
    return NULL;
}

int main(void) {
    int pages = 0;
    pthread_t writer, reader;
    pthread_create(&writer, NULL, write_letters, NULL);
    pthread_create(&reader, NULL, read_letters, &pages);
    pthread_join(writer, NULL);
    pthread_join(reader, NULL);
    assert(pages == 6);
    return 0;
}
