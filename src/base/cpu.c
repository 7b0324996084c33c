/* SPDX-License-Identifier: MIT
 *
 * Which features the processor has, which of them the kernels may use, and the one-time filling of
 * the kernel tables. */
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/cpu.h"

#if defined(__x86_64__) && !defined(TARE_NO_SIMD)
#include <cpuid.h>

/* Not every compiler's builtin knows this one by name: CPUID leaf 1, ECX bit 29. */
static bool has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c >> 29 & 1);
}

bool tare_cpu_has_wide_products(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("vpclmulqdq");
}

unsigned tare_cpu_detect(void) {
    /* The builtins check CPUID and whether the system saves the wide registers. */
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !__builtin_cpu_supports("bmi2") || !has_f16c())
        return TARE_CPU_NONE;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return TARE_CPU_AVX2;
    if (!__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512vbmi2") ||
        !tare_cpu_has_wide_products())
        return TARE_CPU_AVX2 | TARE_CPU_AVX512;
    return TARE_CPU_AVX2 | TARE_CPU_AVX512 | TARE_CPU_VBMI2;
}
#else
bool tare_cpu_has_wide_products(void) {
    return false;
}

unsigned tare_cpu_detect(void) {
    return TARE_CPU_NONE;
}
#endif

/* A level counts only if all levels below it are present. */
static unsigned whole_levels(unsigned mask) {
    if (!(mask & TARE_CPU_AVX2)) return TARE_CPU_NONE;
    if (!(mask & TARE_CPU_AVX512)) return TARE_CPU_AVX2;
    return mask & (TARE_CPU_AVX2 | TARE_CPU_AVX512 | TARE_CPU_VBMI2);
}

#define NOT_YET UINT32_MAX
static _Atomic unsigned active_mask = NOT_YET;
static _Atomic(tare_cpu_domain *) filled_domains;

unsigned tare_cpu_active(void) {
    unsigned mask = atomic_load(&active_mask);
    if (mask != NOT_YET) return mask;
    mask = tare_cpu_detect();
    unsigned expected = NOT_YET;
    return atomic_compare_exchange_strong(&active_mask, &expected, mask) ? mask : expected;
}

unsigned tare_cpu_limit(unsigned mask) {
    mask = whole_levels(mask & tare_cpu_detect());
    atomic_store(&active_mask, mask);
    for (tare_cpu_domain *d = atomic_load(&filled_domains); d; d = d->next) d->refill(mask);
    return mask;
}

enum { EMPTY = 0, FILLING = 1, READY = 2 };

void tare_cpu_ready(tare_cpu_domain *domain) {
    if (atomic_load_explicit(&domain->state, memory_order_acquire) == READY) return;
    int expected = EMPTY;
    if (atomic_compare_exchange_strong(&domain->state, &expected, FILLING)) {
        domain->refill(tare_cpu_active());
        domain->next = atomic_load(&filled_domains);
        while (!atomic_compare_exchange_weak(&filled_domains, &domain->next, domain)) continue;
        atomic_store_explicit(&domain->state, READY, memory_order_release);
        return;
    }
    while (atomic_load_explicit(&domain->state, memory_order_acquire) != READY) sched_yield();
}
