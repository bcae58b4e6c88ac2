/* SPDX-License-Identifier: Apache-2.0 */
/* Factorises a matrix into a lower and an upper triangle; each thread owns a block of
 * columns, and each step needs the pivot column of its owner. */
#include <assert.h>
#include <pthread.h>

#define SIZE    6
#define WORKERS 2
#define BLOCK   (SIZE / WORKERS)

struct matrix {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    int ready;
    double a[SIZE][SIZE];
};

/* Owns the columns from the first to the last. */
struct worker {
    struct matrix *matrix;
    int first;
    int last;
};

static void announce(struct matrix *m, int step) {
    pthread_mutex_lock(&m->lock);
    m->ready = step + 1;
    pthread_cond_broadcast(&m->moved);
    pthread_mutex_unlock(&m->lock);
}

static void await(struct matrix *m, int step) {
    pthread_mutex_lock(&m->lock);
    while (m->ready <= step)
        pthread_cond_wait(&m->moved, &m->lock);
    pthread_mutex_unlock(&m->lock);
}

static void scale(struct matrix *m, int step) {
    double pivot = m->a[step][step];
    for (int row = step + 1; row < SIZE; row++)
        m->a[row][step] /= pivot;
}

static void subtract(struct matrix *m, int column, int step) {
    double top = m->a[step][column];
    for (int row = step + 1; row < SIZE; row++) {
        double factor = m->a[row][step];
        m->a[row][column] -= factor * top;
    }
}

static void *factorise(void *arg) {
    const struct worker *w = arg;
    for (int step = 0; step <= w->last; step++) {
        if (step >= w->first) {
            announce(w->matrix, step);
            scale(w->matrix, step);
        } else {
            await(w->matrix, step);
        }
        for (int column = w->first; column <= w->last; column++)
            if (column > step)
                subtract(w->matrix, column, step);
    }
    return NULL;
}

static void set_up(struct matrix *m) {
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->moved, NULL);
    for (int row = 0; row < SIZE; row++)
        for (int column = 0; column < SIZE; column++)
            m->a[row][column] = row == column ? 12 + row : 1 + (row * 3 + column * 5) % 4;
}

static int same(const struct matrix *one, const struct matrix *other) {
    for (int row = 0; row < SIZE; row++)
        for (int column = 0; column < SIZE; column++)
            if (one->a[row][column] != other->a[row][column])
                return 0;
    return 1;
}

int main(void) {
    static struct matrix serial, shared;
    struct worker alone = {&serial, 0, SIZE - 1}, workers[WORKERS];
    pthread_t threads[WORKERS];
    set_up(&serial);
    set_up(&shared);
    factorise(&alone);
    for (int i = 0; i < WORKERS; i++)
        workers[i] = (struct worker){&shared, i * BLOCK, (i + 1) * BLOCK - 1};
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, factorise, &workers[i]);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    assert(same(&shared, &serial));
    return 0;
}
