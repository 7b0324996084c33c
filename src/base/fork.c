/* SPDX-License-Identifier: MIT */
#include "base/fork.h"

#include "base/os_system.h"

int64_t tare_process_own(void) {
    return tare_process_id();
}

bool tare_process_is_new(tare_process *process) {
    const int64_t own = tare_process_own();
    for (;;) {
        int64_t seen = atomic_load(process);
        if (seen == own) return false;
        if (seen == -own)
            tare_thread_yield(); /* another thread renews it */
        else if (atomic_compare_exchange_strong(process, &seen, -own))
            return true;
    }
}

void tare_process_renewed(tare_process *process) {
    atomic_store(process, tare_process_own());
}
