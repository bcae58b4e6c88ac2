/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds an order of logged events (docs/adr/0020). Knows nothing of clocks: what they prove comes
 * as edges, what they suggest as guesses.
 */
#ifndef UNSNARL_SOLVER_H
#define UNSNARL_SOLVER_H
#include <stdint.h>

enum uns_access { UNS_NO_ACCESS, UNS_READS, UNS_WRITES };

/* Events are numbered thread by thread. Sections are sorted by lock, thread and time. */
struct uns_order_problem {
    int32_t threads, events, cells, locks, sections, edges;
    const int32_t *first;             /* threads + 1: where a thread's events begin */
    const uint8_t *access;            /* of each event; reads without a value are none */
    const int32_t *cell;              /* below `cells`, of accesses */
    const uint64_t *value;            /* of accesses */
    const uint8_t *begun;             /* of each cell: is its first value known? */
    const uint64_t *initial;          /* its first value */
    const int32_t *section_first;     /* locks + 1 */
    const int32_t *acquire, *release; /* events; a release that never came is -1 */
    const int32_t *source, *sink;     /* known orders besides the threads' own */
    const double *guess;              /* when each event happened, about */
    double seconds;
    int (*stop)(void *asker); /* asked now and then whether to give up; NULL: nobody would */
    void *asker;
    uint64_t bytes; /* of memory, at most */
    int64_t steps;  /* of the frontier search; negative: as many as seem worth it */
    int32_t lag;    /* how many decisions stay open behind CDCL's front, at first */
};

enum uns_order_status {
    UNS_SOLVED,
    UNS_UNSATISFIABLE,
    UNS_OUT_OF_TIME,
    UNS_NO_MEMORY,
    UNS_STOPPED
};
enum uns_order_phase { UNS_BY_SATURATION, UNS_BY_FRONTIER, UNS_BY_CDCL };

struct uns_order_answer {
    enum uns_order_status status;
    enum uns_order_phase phase;
    int32_t event; /* a read that nothing can explain, or -1 */
    int64_t variables, clauses, conflicts, rounds;
};

/* Writes the order, if there is one, to `order` (as many as there are events). */
void uns_order_solve(const struct uns_order_problem *problem, int32_t *order,
                     struct uns_order_answer *answer);
#endif
