/* All of <threads.h>: prints ok. */
#include <assert.h>
#include <stdio.h>
#include <threads.h>
#include <time.h>

static mtx_t mutex, again;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static int ready, total, made, destroyed;

static void make(void) {
    made++;
}

static void destroy(void *value) {
    mtx_lock(&mutex);
    destroyed += *(int *)value;
    mtx_unlock(&mutex);
}

static int work(void *argument) {
    static thread_local int one = 1;
    call_once(&once, make);
    tss_set(key, &one);
    mtx_lock(&mutex);
    while (!ready)
        cnd_wait(&changed, &mutex);
    mtx_unlock(&mutex);
    mtx_lock(&again);
    mtx_lock(&again);
    total++;
    mtx_unlock(&again);
    mtx_unlock(&again);
    thrd_yield();
    thrd_sleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    thrd_exit(*(int *)argument);
}

static int never(void *argument) {
    return *(int *)argument;
}

int main(void) {
    thrd_t threads[3];
    int results[3] = {5, 6, 7}, result = 0, sum = 0;
    assert(mtx_init(&mutex, mtx_timed) == thrd_success);
    assert(mtx_init(&again, mtx_plain | mtx_recursive) == thrd_success);
    assert(cnd_init(&changed) == thrd_success);
    assert(tss_create(&key, destroy) == thrd_success);
    for (int i = 0; i < 3; i++)
        assert(thrd_create(&threads[i], work, &results[i]) == thrd_success);
    mtx_lock(&mutex);
    ready = 1;
    cnd_broadcast(&changed);
    mtx_unlock(&mutex);
    for (int i = 0; i < 3; i++) {
        assert(thrd_join(threads[i], &result) == thrd_success);
        sum += result;
    }
    struct timespec soon;
    timespec_get(&soon, TIME_UTC);
    mtx_lock(&mutex);
    soon.tv_sec++;
    assert(cnd_timedwait(&changed, &mutex, &soon) == thrd_timedout);
    assert(mtx_trylock(&again) == thrd_success);
    thrd_t other;
    assert(thrd_create(&other, never, &results[0]) == thrd_success);
    assert(thrd_detach(other) == thrd_success);
    mtx_unlock(&again);
    mtx_unlock(&mutex);
    assert(sum == 18 && total == 3 && made == 1 && destroyed == 3);
    puts("ok");
    return 0;
}
