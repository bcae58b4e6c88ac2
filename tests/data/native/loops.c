// SPDX-License-Identifier: Apache-2.0
// Loops of all shapes, each in a function of its own: how often each goes back is known.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

#define APART __attribute__((noinline, noclone))
static volatile int sum;

APART static void single(int n) {
    int i = 0;
    do
        sum++;
    while (++i < n);
}
APART static void nested(int n) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sum++;
}
APART static void called(int n) {
    sum += n;
}
APART static void calls(int n) {
    for (int i = 0; i < n; i++)
        called(i);
}
APART static void branches(int n) {
    for (int i = 0; i < n; i++) {
        switch (i % 4) {
        case 0:
            sum += 2;
            break;
        case 1:
            called(i);
            continue;
        case 2:
            sum ^= 1;
            break;
        default:
            if (sum < 0)
                return;
        }
        sum++;
    }
}
APART static void jumps(int n) {
    int i = 0;
again:
    sum++;
    if (++i < n)
        goto again;
}
// Calls itself from within its loop: 1 + 3 + 9 calls for a depth of 2, each goes round 3 times.
APART static void recurses(int depth) {
    for (int i = 0; i < 3; i++) {
        sum++;
        if (depth)
            recurses(depth - 1);
    }
}
// Deeper than the probe remembers.
APART static void deep(int depth) {
    sum++;
    if (depth)
        deep(depth - 1);
}
static __thread jmp_buf place;
APART static void thrown(int depth) {
    if (depth)
        thrown(depth - 1);
    sum++;
    longjmp(place, 1);
}
APART static void catches(int n) {
    for (volatile int i = 0; i < n; i++)
        if (!setjmp(place))
            thrown(i % 3);
}
APART static void straight(int n) {
    called(n);
    if (n > 3)
        called(1);
    called(n);
}

static void *work(void *unused) {
    single(5);
    nested(4);
    calls(6);
    branches(9);
    jumps(7);
    recurses(2);
    for (int i = 0; i < 2; i++)
        deep(3000);
    catches(8);
    straight(1);
    straight(5);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", sum);
    return 0;
}
