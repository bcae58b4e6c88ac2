/* SPDX-License-Identifier: Apache-2.0 */
/* Logs the readings of a sensor: one thread samples it into a register, another one writes them
 * down. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

#define READINGS 2

struct reg {
    sem_t vacant;
    sem_t fresh;
    long value;
};

static const long raw[READINGS] = {412, 430};
static struct reg reg;
static long journal[READINGS];

/* From the sensor's counts to tenths of a degree: sums up the steps of its curve. */
static long calibrate(long count) {
    double degrees = 0;
    for (long step = 0; step < 40 * count; step++)
        degrees += 0.025 - degrees / 65536;
    return (long)(10 * degrees);
}

static void *sample(void *arg) {
    (void)arg;
    for (int i = 0; i < READINGS; i++) {
        sem_wait(&reg.vacant);
        reg.value = calibrate(raw[i]);
        sem_post(&reg.fresh);
    }
    return NULL;
}

static void *write_down(void *arg) {
    (void)arg;
    for (int i = 0; i < READINGS; i++) {
        sem_wait(&reg.fresh);
        sem_post(&reg.vacant);
        long value = reg.value;
        journal[i] = value;
    }
    return NULL;
}

static int complete(void) {
    for (int i = 0; i < READINGS; i++)
        if (journal[i] != calibrate(raw[i]))
            return 0;
    return 1;
}

int main(void) {
    pthread_t sampler, writer;
    sem_init(&reg.vacant, 0, 1);
    sem_init(&reg.fresh, 0, 0);
    pthread_create(&writer, NULL, write_down, NULL);
    pthread_create(&sampler, NULL, sample, NULL);
    pthread_join(sampler, NULL);
    pthread_join(writer, NULL);
    assert(complete());
    return 0;
}
