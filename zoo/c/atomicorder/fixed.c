/* SPDX-License-Identifier: Apache-2.0 */
/* Makes backups: one thread stores the records of each archive and seals it, another one lists the
 * sealed archives in the catalogue. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define ARCHIVES 4
#define ROUNDS   3
#define FILES    5

struct archive {
    atomic_long records;
    atomic_long sealed;
};

static const long sizes[ARCHIVES][FILES] = {
    {120, 80, 310, 42, 7},
    {12, 0, 0, 55, 90},
    {77, 78, 0, 79, 80},
    {5, 0, 0, 0, 6},
};
static struct archive archives[ARCHIVES];
static long listed[ARCHIVES];
static long empty;

static long count_records(const long *files) {
    long records = 0;
    for (int i = 0; i < FILES; i++)
        records += files[i] > 0;
    return records;
}

static void *store(void *arg) {
    (void)arg;
    for (int i = 0; i < ARCHIVES; i++) {
        long records = count_records(sizes[i]);
        atomic_store(&archives[i].records, records);
        atomic_store(&archives[i].sealed, 1);
    }
    return NULL;
}

static void *list(void *arg) {
    (void)arg;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < ARCHIVES; i++) {
            if (!atomic_load(&archives[i].sealed))
                continue;
            listed[i] = atomic_load(&archives[i].records);
            empty += listed[i] == 0;
        }
    return NULL;
}

int main(void) {
    pthread_t storage, catalogue;
    pthread_create(&storage, NULL, store, NULL);
    pthread_create(&catalogue, NULL, list, NULL);
    pthread_join(storage, NULL);
    pthread_join(catalogue, NULL);
    assert(!empty);
    return 0;
}
