/* SPDX-License-Identifier: MIT
 *
 * Which features the processor has, which of them the kernels may use, and the one-time filling of
 * the kernel tables. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/cpu.h"
#include "base/os_system.h"
#include "base/status.h"

static bool has(unsigned all, unsigned bits) {
    return (all & bits) == bits;
}

#if defined(__x86_64__) && !defined(TARE_NO_SIMD)
#include <cpuid.h>

/* CPUID itself: the builtins of compilers do not know every feature by name, and those of zig's
 * know none. */
typedef struct features {
    unsigned leaf1_c, leaf7_b, leaf7_c;
    unsigned saved; /* registers that the system saves: XCR0 */
} features;

static features look(void) {
    features f = {0};
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &f.leaf1_c, &d)) return f;
    if (f.leaf1_c >> 27 & 1) __asm__ volatile("xgetbv" : "=a"(f.saved), "=d"(d) : "c"(0));
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        f.leaf7_b = b;
        f.leaf7_c = c;
    }
    return f;
}

#define BIT(n) (1u << (n))
enum { SAVED_256 = 0x6, SAVED_512 = 0xe6 };

static bool has_wide_products(const features *f) {
    return has(f->saved, SAVED_256) && has(f->leaf7_c, BIT(10)); /* VPCLMULQDQ */
}

bool tare_cpu_has_wide_products(void) {
    const features f = look();
    return has_wide_products(&f);
}

unsigned tare_cpu_mask_detect(void) {
    const features f = look();
    const unsigned fma_avx_f16c = BIT(12) | BIT(28) | BIT(29), avx2_bmi2 = BIT(5) | BIT(8);
    const unsigned f_dq_bw_vl = BIT(16) | BIT(17) | BIT(30) | BIT(31);
    const unsigned vbmi_vbmi2_gfni = BIT(1) | BIT(6) | BIT(8);
    if (!has(f.saved, SAVED_256) || !has(f.leaf1_c, fma_avx_f16c) || !has(f.leaf7_b, avx2_bmi2))
        return TARE_CPU_NONE;
    if (!has(f.saved, SAVED_512) || !has(f.leaf7_b, f_dq_bw_vl)) return TARE_CPU_AVX2;
    if (!has(f.leaf7_c, vbmi_vbmi2_gfni) || !has_wide_products(&f))
        return TARE_CPU_AVX2 | TARE_CPU_AVX512;
    return TARE_CPU_AVX2 | TARE_CPU_AVX512 | TARE_CPU_VBMI2;
}
#else
bool tare_cpu_has_wide_products(void) {
    return false;
}

unsigned tare_cpu_mask_detect(void) {
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

unsigned tare_cpu_mask_active(void) {
    unsigned mask = atomic_load(&active_mask);
    if (mask != NOT_YET) return mask;
    mask = tare_cpu_mask_detect();
    unsigned expected = NOT_YET;
    return atomic_compare_exchange_strong(&active_mask, &expected, mask) ? mask : expected;
}

unsigned tare_cpu_mask_limit(unsigned mask) {
    mask = whole_levels(mask & tare_cpu_mask_detect());
    atomic_store(&active_mask, mask);
    for (tare_cpu_domain *d = atomic_load(&filled_domains); d; d = d->next) d->refill(mask);
    return mask;
}

enum { EMPTY = 0, FILLING = 1, READY = 2 };

void tare_cpu_ready(tare_cpu_domain *domain) {
    if (atomic_load_explicit(&domain->state, memory_order_acquire) == READY) return;
    int expected = EMPTY;
    if (atomic_compare_exchange_strong(&domain->state, &expected, FILLING)) {
        domain->refill(tare_cpu_mask_active());
        domain->next = atomic_load(&filled_domains);
        while (!atomic_compare_exchange_weak(&filled_domains, &domain->next, domain)) continue;
        atomic_store_explicit(&domain->state, READY, memory_order_release);
        return;
    }
    while (atomic_load_explicit(&domain->state, memory_order_acquire) != READY) tare_thread_yield();
}

/* ---- levels ---------------------------------------------------------------------------------- */

static const struct level {
    const char *name;
    unsigned mask;
} levels[] = {
    {"c", TARE_CPU_NONE},
    {"avx2", TARE_CPU_AVX2},
    {"avx512", TARE_CPU_AVX2 | TARE_CPU_AVX512},
    {"vbmi2", TARE_CPU_AVX2 | TARE_CPU_AVX512 | TARE_CPU_VBMI2},
};
enum { N_LEVELS = sizeof levels / sizeof *levels };

static const char *level_of(unsigned mask) {
    size_t highest = 0;
    for (size_t i = 0; i < N_LEVELS; i++)
        if (has(mask, levels[i].mask)) highest = i;
    return levels[highest].name;
}

const char *tare_cpu_level(size_t i) {
    return i < N_LEVELS ? levels[i].name : NULL;
}

const char *tare_cpu_detect(void) {
    return level_of(tare_cpu_mask_detect());
}

const char *tare_cpu_active(void) {
    return level_of(tare_cpu_mask_active());
}

tare_status tare_cpu_limit(const char *level, tare_error *err) {
    TARE_REQUIRE(level, err);
    for (size_t i = 0; i < N_LEVELS; i++) {
        if (strcmp(levels[i].name, level) != 0) continue;
        if (!has(tare_cpu_mask_detect(), levels[i].mask))
            return tare_fail(err, TARE_ERR_UNSUPPORTED, "this machine has no such CPU level");
        tare_cpu_mask_limit(levels[i].mask);
        return TARE_OK;
    }
    return tare_fail(err, TARE_ERR_ARG, "unknown CPU level");
}
