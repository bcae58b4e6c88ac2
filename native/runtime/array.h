/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNSNARL_ARRAY_H
#define UNSNARL_ARRAY_H
#include "unsnarl/rt.h"

/* A growing array in anonymous pages: usable from a signal handler's thread of control. */
struct uns_array {
    void *data;
    uint64_t used, capacity; /* bytes */
};
UNS_API int uns_array_append(struct uns_array *array, const void *bytes, uint64_t length);
UNS_API void uns_array_free(struct uns_array *array);
#endif
