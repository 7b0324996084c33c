/* SPDX-License-Identifier: MIT
 *
 * The notation that kernels are written in: the 32 lanes of a warp. For nvcc there is one lane, and
 * a per-lane value is a register; for any other compiler there are all lanes, and it is an array
 * (wg_emulated.h).
 *
 *   u32v, boolv     a number, a truth a lane. They have no truth of their own, so the emulation's
 *                   compiler refuses a branch on one: control flow is the same for all lanes.
 *   uint32_t, ...   is the same in all lanes.
 *   wg_each(f)      f(lane) in every lane, in any order; wg_of(v, lane) is that lane's part of v.
 *                   Only there lanes may go different ways.
 *   wg_memory       memory that the lanes of a warp share. What a lane has put there others may get
 *                   after wg_sync; the emulation stops where one does before.
 */
#ifndef TARE_CUDA_WG_LANES_H
#define TARE_CUDA_WG_LANES_H

#ifndef __CUDACC__
#include "wg_emulated.h"
#else
#include <stdint.h>

#define WG_FN     static __device__ __forceinline__
#define WG_UNROLL _Pragma("unroll")
#define WG_ROLL   _Pragma("unroll 1") /* a loop that is seldom or long: fewer registers */
typedef uint32_t u32v;
typedef bool boolv;

WG_FN u32v wg_lane() {
    return threadIdx.x;
}
WG_FN u32v wg_below() { /* a bit for each lane below this one */
    uint32_t m;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(m));
    return m;
}
WG_FN uint32_t wg_ballot(boolv p) {
    return __ballot_sync(0xffffffffu, p);
}
WG_FN uint32_t wg_popc(uint32_t x) {
    return __popc(x);
}
WG_FN u32v wg_pick(boolv p, u32v a, u32v b) {
    return p ? a : b;
}
/* Of all lanes' numbers. */
WG_FN uint32_t wg_xor(u32v x) {
    return __reduce_xor_sync(0xffffffffu, x);
}
/* A number that all lanes have, of which the compiler does not know that they do. */
WG_FN uint32_t wg_uniform(uint32_t x) {
    return __shfl_sync(0xffffffffu, x, 0);
}
/* The same number, or address. What follows from it is computed anew and not kept in registers. */
WG_FN uint32_t wg_again(uint32_t x) {
    asm volatile("" : "+r"(x));
    return x;
}
WG_FN const uint8_t *wg_again(const uint8_t *p) {
    asm volatile("" : "+l"(p));
    return p;
}
WG_FN unsigned wg_trailing_zeros(uint64_t x) { /* not of 0 */
    return (unsigned)__ffsll((long long)x) - 1;
}
/* Elements of an array, one a lane. */
template <class T> WG_FN u32v wg_load(const T *p, u32v i) {
    return __ldg(p + i);
}
template <class T> WG_FN u32v wg_load_if(boolv m, const T *p, u32v i) {
    return m ? __ldg(p + i) : 0;
}

/* a mod 65536 + b, avoiding the integer unit, which is the busiest. */
WG_FN u32v wg_low_add(u32v a, u32v b) {
    return __dp2a_lo(a, 1u, b);
}

WG_FN u32v wg_twice(u32v a) { /* bytes 0 and 1 as 0, 0, 1, 1 */
    return __byte_perm(a, 0, 0x1100);
}

/* Shared memory by address and a constant; `p` is where address wg_address(p) is. */
WG_FN uint32_t wg_address(const void *p) {
    return (uint32_t)__cvta_generic_to_shared(p);
}
template <uint32_t offset> WG_FN u32v wg_shared_8(const void *, u32v at) {
    u32v r;
    asm("ld.shared.u8 %0, [%1+%2];" : "=r"(r) : "r"(at), "n"(offset));
    return r;
}
template <uint32_t offset> WG_FN u32v wg_shared_16(const void *, u32v at) {
    u32v r;
    asm("ld.shared.u16 %0, [%1+%2];" : "=r"(r) : "r"(at), "n"(offset));
    return r;
}
template <uint32_t offset> WG_FN void wg_shared_pair(u32v &a, u32v &b, const void *, u32v at) {
    asm("ld.shared.v2.u32 {%0, %1}, [%2+%3];" : "=r"(a), "=r"(b) : "r"(at), "n"(offset));
}

template <class T> WG_FN T *wg_as(void *p) {
    return (T *)p;
}
template <class T> WG_FN const T *wg_as(const void *p) {
    return (const T *)p;
}

/* 1, 2 or 4 bytes, little-endian, a lane. */
template <uint32_t size> WG_FN void wg_store(uint8_t *to, u32v at, u32v v) {
    if (size == 1)
        to[at] = (uint8_t)v;
    else if (size == 2)
        *wg_as<uint16_t>(to + at) = (uint16_t)v;
    else
        *wg_as<uint32_t>(to + at) = v;
}
/* The same, of those bytes whose number, from `place` on, is below n. */
template <uint32_t size>
WG_FN void wg_store_some(uint8_t *to, u32v at, u32v v, u32v place, uint32_t n) {
    WG_UNROLL
    for (uint32_t i = 0; i < size; i++)
        if (place + i < n) to[at + i] = (uint8_t)(v >> 8 * i);
}
WG_FN u32v wg_read_word(const uint8_t *from, u32v at) {
    return *wg_as<uint32_t>((const void *)(from + at));
}
WG_FN u32v wg_read_half(const uint8_t *from, u32v at) {
    return *wg_as<uint16_t>((const void *)(from + at));
}
/* A word of which only bytes below n are there, from `place` on; the others are 0. */
WG_FN u32v wg_read_some(const uint8_t *from, u32v at, u32v place, uint32_t n) {
    u32v word = 0;
    WG_UNROLL
    for (uint32_t i = 0; i < 4; i++)
        if (place + i < n) word |= (uint32_t)from[at + i] << 8 * i;
    return word;
}
/* From here on lanes may read what others have stored. */
WG_FN void wg_meet() {
    __syncwarp();
}

template <class F> WG_FN void wg_each(F f) {
    f(threadIdx.x);
}
WG_FN u32v &wg_of(u32v &v, uint32_t) {
    return v;
}

struct wg_memory {
    uint8_t *bytes;
};
WG_FN void wg_put(wg_memory &m, uint32_t, uint32_t at, uint32_t v) {
    m.bytes[at] = (uint8_t)v;
}
WG_FN uint32_t wg_get(wg_memory &m, uint32_t, uint32_t at) {
    return m.bytes[at];
}
WG_FN void wg_sync(wg_memory &) {
    __syncwarp();
}
/* The same; what is there counts no more as put. */
WG_FN void wg_renew(wg_memory &m) {
    wg_sync(m);
}

/* One lane tells what went wrong. */
WG_FN void wg_report(uint64_t *first, uint64_t *n, uint64_t fault) {
    if (threadIdx.x != 0) return;
    atomicMin((unsigned long long *)first, (unsigned long long)fault);
    atomicAdd((unsigned long long *)n, 1ull);
}

/* Products and quotients are rounded one by one. */
WG_FN double wg_product(double a, double b) {
    return __dmul_rn(a, b);
}
WG_FN double wg_quotient(double a, double b) {
    return __ddiv_rn(a, b);
}

#endif
#endif
