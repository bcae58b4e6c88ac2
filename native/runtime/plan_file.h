/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNSNARL_PLAN_FILE_H
#define UNSNARL_PLAN_FILE_H
#include "unsnarl/rt.h"

/* Both return 0, or -1: the file cannot be written, or is no plan of this version. */
UNS_API int uns_plan_store(const struct uns_plan *plan, const char *path);
UNS_API int uns_plan_load(const char *path, struct uns_plan *plan);
#endif
