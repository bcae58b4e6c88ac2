/* SPDX-License-Identifier: Apache-2.0
 *
 * Put before every file of the probe's archive. Functions that the probe intercepts are called
 * by the probe itself, too, and by the compiler on its behalf (a struct is copied with memcpy):
 * those calls must not come back to it. The assembler gives them other names, defined in own.c.
 */
#ifndef UNSNARL_OWN_H
#define UNSNARL_OWN_H
#define UNS_C_OWN(name) __asm__(#name " = uns_own_" #name)
UNS_C_OWN(memcpy);
UNS_C_OWN(memmove);
UNS_C_OWN(memset);
UNS_C_OWN(memcmp);
UNS_C_OWN(strlen);
UNS_C_OWN(strcmp);
UNS_C_OWN(strncmp);
/* The runtime, which knows nothing of the probe. */
#ifdef UNS_C_RUNTIME
UNS_C_OWN(syscall);
UNS_C_OWN(clock_gettime);
UNS_C_OWN(nanosleep);
UNS_C_OWN(read);
UNS_C_OWN(write);
UNS_C_OWN(open);
UNS_C_OWN(opendir);
UNS_C_OWN(rename);
UNS_C_OWN(unlink);
UNS_C_OWN(sigaction);
UNS_C_OWN(signal);
#endif
#endif
