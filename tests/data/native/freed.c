/* SPDX-License-Identifier: Apache-2.0 */
/* One thread looks at a job that another frees: harmless as long as nobody uses its memory anew.
 * What is done wrong is the argument's; without one, all that is freed is used before. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
    long number, total, last;
};

static struct job *job;
static const char *wrong;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users = 2;

static void release(void) {
    pthread_mutex_lock(&lock);
    int last = --users == 0;
    pthread_mutex_unlock(&lock);
    if (last || (!strcmp(wrong, "double") && users == 1) || !strcmp(wrong, "early"))
        free(job);
}

static void *look(void *arg) {
    (void)arg;
    long seen = !strcmp(wrong, "end") ? job->last : job->total;
    if (!strcmp(wrong, "end"))
        return (void *)seen;
    for (int i = 0; i < 3; i++)
        seen += job->total;
    if (!strcmp(wrong, "late"))
        job->total = seen;
    release();
    return NULL;
}

static void *finish(void *arg) {
    (void)arg;
    job->number++;
    if (!strcmp(wrong, "late") || !strcmp(wrong, "end"))
        free(job);
    else
        release();
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t looks, finishes;
    wrong = count > 1 ? arguments[1] : "";
    job = calloc(1, sizeof *job);
    pthread_create(&looks, NULL, look, NULL);
    pthread_create(&finishes, NULL, finish, NULL);
    pthread_join(looks, NULL);
    pthread_join(finishes, NULL);
    for (int i = 0; i < 3000; i++) { /* memory that was freed is given back and used anew */
        char *block = malloc(100);
        memset(block, i, 100);
        free(block);
    }
    puts("ok");
    return 0;
}
