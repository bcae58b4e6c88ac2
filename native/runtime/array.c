/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/array.h"
#include "tracker/tracker.h"
#include <string.h>
#include <sys/mman.h>

#define START_BYTES 16384u
#define MOST_BYTES  (256u << 20)

int uns_array_append(struct uns_array *array, const void *bytes, uint64_t length) {
    if (array->used + length > array->capacity) {
        uint64_t capacity = array->capacity ? array->capacity : START_BYTES;
        while (capacity < array->used + length)
            capacity *= 2;
        void *bigger = capacity <= MOST_BYTES ? uns_pages(capacity) : NULL;
        if (!bigger)
            return -1;
        if (array->data) {
            memcpy(bigger, array->data, array->used);
            munmap(array->data, array->capacity);
        }
        array->data = bigger;
        array->capacity = capacity;
    }
    if (length) /* of nothing, `bytes` may be NULL, which memcpy must not get */
        memcpy((char *)array->data + array->used, bytes, length);
    array->used += length;
    return 0;
}

void uns_array_free(struct uns_array *array) {
    if (array->data)
        munmap(array->data, array->capacity);
    memset(array, 0, sizeof *array);
}
