/* SPDX-License-Identifier: MIT
 *
 * What a child of fork finds of a model: locks that a thread held which the child has not, and lists
 * in the middle of a change. Each lock that outlives a call knows its process, and is made anew, with
 * what it guards, by the first call in another one. */
#ifndef TARE_BASE_FORK_H
#define TARE_BASE_FORK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The process that a lock belongs to. */
typedef _Atomic int64_t tare_process;

int64_t tare_process_own(void);
/* Whether the process has become another one: the caller makes the lock anew, then calls renewed;
 * other threads wait for it here. */
bool tare_process_is_new(tare_process *process);
void tare_process_renewed(tare_process *process);

#endif
