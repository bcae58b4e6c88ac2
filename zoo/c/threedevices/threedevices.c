/* SPDX-License-Identifier: Apache-2.0 */
/* Three pipelines need two of three devices each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct device {
    const char *name;
    pthread_mutex_t lock;
    int jobs;
};

struct pipeline {
    struct device *input;
    struct device *output;
};

static void run(struct device *input, struct device *output) {
    pthread_mutex_lock(&input->lock);
    input->jobs++;
    pthread_mutex_lock(&output->lock);
    output->jobs++;
    pthread_mutex_unlock(&output->lock);
    pthread_mutex_unlock(&input->lock);
}

static void *work(void *arg) {
    struct pipeline *own = arg;
    run(own->input, own->output);
    return NULL;
}

int main(void) {
    struct device *devices = calloc(3, sizeof *devices);
    const char *names[] = {"scanner", "disk", "printer"};
    for (int i = 0; i < 3; i++) {
        devices[i].name = names[i];
        pthread_mutex_init(&devices[i].lock, NULL);
    }
    struct pipeline pipelines[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        pipelines[i].input = &devices[i];
        pipelines[i].output = &devices[(i + 1) % 3];
        pthread_create(&threads[i], NULL, work, &pipelines[i]);
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++)
        printf("%s: %d jobs\n", devices[i].name, devices[i].jobs);
    free(devices);
    return 0;
}
