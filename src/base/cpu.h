/* SPDX-License-Identifier: MIT
 *
 * The CPU mask in force, and the functions to call when it changes. */
#ifndef TARE_BASE_CPU_H
#define TARE_BASE_CPU_H

#include <tare/base.h>

/* A domain with fast paths registers the function that refills its table; called by
 * tare_cpu_limit. Kernel tables are otherwise filled once, at first use. */
typedef struct tare_cpu_domain {
    void (*refill)(unsigned mask);
    _Atomic(int) state;           /* 0 empty, 1 being filled, 2 ready */
    struct tare_cpu_domain *next; /* the list of those filled so far */
} tare_cpu_domain;

/* Fills the domain's table if it is not yet ready (C11 atomics; callers may race). */
void tare_cpu_ready(tare_cpu_domain *domain);

/* Carry-less products of vectors (VPCLMULQDQ), which a processor of any level with AVX2 may have. */
bool tare_cpu_has_wide_products(void);

#endif
