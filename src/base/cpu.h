/* SPDX-License-Identifier: MIT
 *
 * The CPU mask in force, and the functions to call when it changes. */
#ifndef TARE_BASE_CPU_H
#define TARE_BASE_CPU_H

#include <tare/base.h>

/* Instruction sets, as a mask; each needs those before it. */
typedef enum tare_cpu {
    TARE_CPU_NONE = 0,
    TARE_CPU_AVX2 = 1 << 0,   /* AVX2, FMA, F16C, BMI2 */
    TARE_CPU_AVX512 = 1 << 1, /* AVX-512 F, BW, DQ, VL */
    TARE_CPU_VBMI2 = 1 << 2,  /* AVX-512 VBMI and VBMI2, GFNI, VPCLMULQDQ */
} tare_cpu;

/* What this machine has. */
unsigned tare_cpu_mask_detect(void);
/* Restricts all kernels to `mask`, and to what the machine has; returns the mask now in force. */
unsigned tare_cpu_mask_limit(unsigned mask);
/* The mask in force. */
unsigned tare_cpu_mask_active(void);

/* A domain with fast paths registers the function that refills its table; called by
 * tare_cpu_mask_limit. Kernel tables are otherwise filled once, at first use. */
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
