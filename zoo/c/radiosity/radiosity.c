/* SPDX-License-Identifier: Apache-2.0 */
/* Light in a room: one thread divides the patches of the walls into halves, another one gathers the
 * light of all patches, the finer ones where there are any. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#define PATCHES 4
#define ROUNDS  2

struct patch {
    double light;
    struct patch *halves;
};

static struct patch patches[PATCHES] = {{8, NULL}, {4, NULL}, {16, NULL}, {4, NULL}};

static void divide(struct patch *patch) {
    struct patch *halves = calloc(2, sizeof *halves);
    double half = patch->light / 2;
    patch->halves = halves;
    for (int i = 0; i < 2; i++)
        halves[i].light = half;
}

static double gather(const struct patch *patch) {
    const struct patch *halves = patch->halves;
    if (halves == NULL)
        return patch->light;
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        double light = halves[i].light;
        sum += light;
    }
    return sum;
}

static void *refine(void *arg) {
    (void)arg;
    for (int i = 0; i < PATCHES; i++)
        divide(&patches[i]);
    return NULL;
}

static void *look(void *arg) {
    double *gathered = arg;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < PATCHES; i++)
            *gathered += gather(&patches[i]);
    return NULL;
}

int main(void) {
    pthread_t refiner, eye;
    double emitted = 0, gathered = 0;
    for (int i = 0; i < PATCHES; i++)
        emitted += ROUNDS * patches[i].light;
    pthread_create(&refiner, NULL, refine, NULL);
    pthread_create(&eye, NULL, look, &gathered);
    pthread_join(refiner, NULL);
    pthread_join(eye, NULL);
    for (int i = 0; i < PATCHES; i++)
        free(patches[i].halves);
    assert(gathered == emitted);
    return 0;
}
