/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs may report to a race detector by hand. The gate knows their locks, and a graph of
 * communication has no races to keep quiet about: nothing is done here, but they must link.
 */
#include "probe_c/probe.h"

/* Arguments are left where they are. */
#define NOTHING(name)                                                                              \
    void name(void);                                                                               \
    UNS_C_INTERCEPTOR void name(void) {}
#define NONE(name)                                                                                 \
    void *name(void);                                                                              \
    UNS_C_INTERCEPTOR void *name(void) {                                                           \
        return NULL;                                                                               \
    }
NOTHING(AnnotateBenignRace)
NOTHING(AnnotateBenignRaceSized)
NOTHING(AnnotateCondVarSignal)
NOTHING(AnnotateCondVarSignalAll)
NOTHING(AnnotateCondVarWait)
NOTHING(AnnotateEnableRaceDetection)
NOTHING(AnnotateExpectRace)
NOTHING(AnnotateFlushExpectedRaces)
NOTHING(AnnotateFlushState)
NOTHING(AnnotateHappensAfter)
NOTHING(AnnotateHappensBefore)
NOTHING(AnnotateIgnoreReadsBegin)
NOTHING(AnnotateIgnoreReadsEnd)
NOTHING(AnnotateIgnoreSyncBegin)
NOTHING(AnnotateIgnoreSyncEnd)
NOTHING(AnnotateIgnoreWritesBegin)
NOTHING(AnnotateIgnoreWritesEnd)
NOTHING(AnnotateMemoryIsInitialized)
NOTHING(AnnotateMemoryIsUninitialized)
NOTHING(AnnotateMutexIsNotPHB)
NOTHING(AnnotateMutexIsUsedAsCondVar)
NOTHING(AnnotateNewMemory)
NOTHING(AnnotateNoOp)
NOTHING(AnnotatePCQCreate)
NOTHING(AnnotatePCQDestroy)
NOTHING(AnnotatePCQGet)
NOTHING(AnnotatePCQPut)
NOTHING(AnnotatePublishMemoryRange)
NOTHING(AnnotateRWLockAcquired)
NOTHING(AnnotateRWLockCreate)
NOTHING(AnnotateRWLockCreateStatic)
NOTHING(AnnotateRWLockDestroy)
NOTHING(AnnotateRWLockReleased)
NOTHING(AnnotateThreadName)
NOTHING(AnnotateTraceMemory)
NOTHING(AnnotateUnpublishMemoryRange)
NOTHING(WTFAnnotateBenignRaceSized)
NOTHING(WTFAnnotateHappensAfter)
NOTHING(WTFAnnotateHappensBefore)
NONE(RunningOnValgrind)
NONE(ThreadSanitizerQuery)

NOTHING(__tsan_acquire)
NOTHING(__tsan_release)
NOTHING(__tsan_flush_memory)
NOTHING(__tsan_mutex_create)
NOTHING(__tsan_mutex_destroy)
NOTHING(__tsan_mutex_pre_lock)
NOTHING(__tsan_mutex_post_lock)
NONE(__tsan_mutex_pre_unlock)
NOTHING(__tsan_mutex_post_unlock)
NOTHING(__tsan_mutex_pre_signal)
NOTHING(__tsan_mutex_post_signal)
NOTHING(__tsan_mutex_pre_divert)
NOTHING(__tsan_mutex_post_divert)
NOTHING(__tsan_external_assign_tag)
NOTHING(__tsan_external_register_header)
NONE(__tsan_external_register_tag)
NONE(__tsan_create_fiber)
NONE(__tsan_get_current_fiber)
NOTHING(__tsan_destroy_fiber)
NOTHING(__tsan_switch_to_fiber)
NOTHING(__tsan_set_fiber_name)
