/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests in C: one file is one program.
 *
 *   TEST(a_read_after_a_write) { CHECK(edges == 1); CHECK_EQUAL(count, 2); }
 *   CHECK_MAIN
 *
 * Every test runs in a process of its own, since the runtime begins one run per process, and may
 * end it. A failed check ends its test; so do a signal and 60 seconds.
 */
#ifndef UNSNARL_CHECK_H
#define UNSNARL_CHECK_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct check_test {
    const char *name;
    void (*run)(void);
    struct check_test *next;
};
static struct check_test *check_first, **check_last = &check_first;

#define TEST(function)                                                                             \
    static void function(void);                                                                    \
    __attribute__((constructor)) static void check_add_##function(void) {                          \
        static struct check_test test = {#function, function, NULL};                               \
        *check_last = &test;                                                                       \
        check_last = &test.next;                                                                   \
    }                                                                                              \
    static void function(void)

#define CHECK(condition)                                                                           \
    do                                                                                             \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    while (0)

#define CHECK_EQUAL(found, expected)                                                               \
    do {                                                                                           \
        long long check_found = (long long)(found), check_expected = (long long)(expected);        \
        if (check_found != check_expected) {                                                       \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #found,           \
                    check_found, check_expected);                                                  \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

/* Zeroed memory that a test shares with the processes it starts. */
__attribute__((unused)) static void *check_shared(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

/* The wait status of `run` in a process of its own. */
static int check_in_process(void (*run)(void)) {
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        run();
        exit(EXIT_SUCCESS);
    }
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

static int check_main(int count, char **names) {
    int passed = 0, failed = 0;
    for (const struct check_test *test = check_first; test; test = test->next) {
        if (count > 1 && strcmp(names[1], test->name))
            continue;
        int status = check_in_process(test->run);
        passed += status == 0;
        failed += status != 0;
        if (status)
            fprintf(stderr, "%s: %s %d\n", test->name,
                    WIFSIGNALED(status) ? "signal" : "exit status",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    printf("%s: %d passed, %d failed\n",
           strrchr(names[0], '/') ? strrchr(names[0], '/') + 1 : names[0], passed, failed);
    return failed || !passed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define CHECK_MAIN                                                                                 \
    int main(int count, char **names) {                                                            \
        return check_main(count, names);                                                           \
    }
#endif
