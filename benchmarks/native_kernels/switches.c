/* SPDX-License-Identifier: Apache-2.0
 *
 * `switches STEPS THREADS own|shared`: threads that do nothing but add to a number, their own or
 * one of all. Under the gate every access is a switch point.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 64

static struct number {
    _Alignas(64) volatile long value;
} numbers[MOST_THREADS];
static long steps;

static void *count(void *argument) {
    struct number *number = argument;
    for (long i = 0; i < steps; i++)
        number->value++;
    return NULL;
}

int main(int length, char **arguments) {
    pthread_t made[MOST_THREADS];
    int threads = length == 4 ? atoi(arguments[2]) : 0;
    if (threads < 1 || threads > MOST_THREADS)
        return 2;
    int own = !strcmp(arguments[3], "own");
    steps = atol(arguments[1]) / threads;
    for (int i = 0; i < threads; i++)
        pthread_create(&made[i], NULL, count, &numbers[own ? i : 0]);
    for (int i = 0; i < threads; i++)
        pthread_join(made[i], NULL);
    printf("%ld\n", numbers[0].value);
    return 0;
}
