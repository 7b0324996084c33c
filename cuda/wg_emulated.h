/* SPDX-License-Identifier: MIT
 *
 * The 32 lanes of wg_lanes.h as arrays, for tests without a GPU. Lanes take turns in another order
 * each time, and shared memory remembers who touched what since the last wg_sync. */
#ifndef TARE_CUDA_WG_EMULATED_H
#define TARE_CUDA_WG_EMULATED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#define WG_FN static inline
#define WG_UNROLL
#define WG_ROLL

struct u32v {
    uint32_t l[32];
    u32v() = default;
    u32v(uint32_t x) {
        for (int i = 0; i < 32; i++) l[i] = x;
    }
};
struct boolv {
    uint32_t m; /* a bit a lane */
};

WG_FN void wg_stop(const char *what, uint32_t lane, uint32_t at) {
    fprintf(stderr, "emulated warp: lane %u at byte %u: %s\n", lane, at, what);
    abort();
}

/* f(i) of each lane. */
template <class F> WG_FN u32v wg_all(F f) {
    u32v r;
    for (int i = 0; i < 32; i++) r.l[i] = f(i);
    return r;
}
template <class F> WG_FN boolv wg_where(F f) {
    boolv r = {0};
    for (int i = 0; i < 32; i++) r.m |= (uint32_t)(bool)f(i) << i;
    return r;
}
#define WG_OPERATOR(op)                                                                            \
    WG_FN u32v operator op(const u32v &a, const u32v &b) {                                         \
        return wg_all([&](int i) { return a.l[i] op b.l[i]; });                                    \
    }
#define WG_COMPARE(op)                                                                             \
    WG_FN boolv operator op(const u32v &a, const u32v &b) {                                        \
        return wg_where([&](int i) { return a.l[i] op b.l[i]; });                                  \
    }
WG_OPERATOR(+)
WG_OPERATOR(*)
WG_OPERATOR(&)
WG_OPERATOR(|)
WG_OPERATOR(^)
WG_OPERATOR(<<)
WG_OPERATOR(>>)
WG_COMPARE(<)
WG_COMPARE(==)
WG_COMPARE(!=)

WG_FN u32v wg_lane() {
    return wg_all([](int i) { return (uint32_t)i; });
}
WG_FN u32v wg_below() {
    return wg_all([](int i) { return (1u << i) - 1; });
}
WG_FN uint32_t wg_ballot(boolv p) {
    return p.m;
}
WG_FN uint32_t wg_popc(uint32_t x) {
    return (uint32_t)__builtin_popcount(x);
}
WG_FN u32v wg_popc(const u32v &x) {
    return wg_all([&](int i) { return wg_popc(x.l[i]); });
}
WG_FN u32v wg_pick(boolv p, const u32v &a, const u32v &b) {
    return wg_all([&](int i) { return p.m >> i & 1 ? a.l[i] : b.l[i]; });
}
WG_FN uint32_t wg_xor(const u32v &x) {
    uint32_t sum = 0;
    for (int i = 0; i < 32; i++) sum ^= x.l[i];
    return sum;
}
template <class T> WG_FN T wg_again(T x) {
    return x;
}
WG_FN unsigned wg_trailing_zeros(uint64_t x) {
    return (unsigned)__builtin_ctzll(x);
}
template <class T> WG_FN u32v wg_load(const T *p, const u32v &at) {
    return wg_all([&](int i) { return (uint32_t)p[at.l[i]]; });
}
template <class T> WG_FN u32v wg_load_if(boolv m, const T *p, const u32v &at) {
    return wg_all([&](int i) { return m.m >> i & 1 ? (uint32_t)p[at.l[i]] : 0; });
}

WG_FN u32v wg_low_add(const u32v &a, const u32v &b) {
    return (a & 0xffffu) + b;
}

WG_FN u32v wg_twice(const u32v &a) {
    return (a & 0xffu) * 0x101u | (a >> 8u & 0xffu) * 0x1010000u;
}

/* An address that nothing has: one that is forgotten or added twice is found. */
WG_FN uint32_t wg_address(const void *) {
    return 0x12345680;
}
template <class T> WG_FN u32v wg_shared(const void *p, const u32v &at, uint32_t offset) {
    return wg_all([&](int i) -> uint32_t {
        T v;
        memcpy(&v, (const char *)p + (int32_t)(at.l[i] - wg_address(p)) + offset, sizeof v);
        return v;
    });
}
template <uint32_t offset> WG_FN u32v wg_shared_8(const void *p, const u32v &at) {
    return wg_shared<uint8_t>(p, at, offset);
}
template <uint32_t offset> WG_FN u32v wg_shared_16(const void *p, const u32v &at) {
    return wg_shared<uint16_t>(p, at, offset);
}
template <uint32_t offset>
WG_FN void wg_shared_pair(u32v &a, u32v &b, const void *p, const u32v &at) {
    a = wg_shared<uint32_t>(p, at, offset);
    b = wg_shared<uint32_t>(p, at, offset + 4);
}

template <uint32_t size> WG_FN void wg_store(uint8_t *to, const u32v &at, const u32v &v) {
    for (int i = 0; i < 32; i++) {
        if ((uintptr_t)(to + at.l[i]) % size)
            wg_stop("stores at an odd place", (uint32_t)i, at.l[i]);
        memcpy(to + at.l[i], &v.l[i], size);
    }
}
template <uint32_t size>
WG_FN void wg_store_some(uint8_t *to, const u32v &at, const u32v &v, const u32v &place,
                         uint32_t n) {
    for (int i = 0; i < 32; i++)
        for (uint32_t j = 0; j < size; j++)
            if (place.l[i] + j < n) to[at.l[i] + j] = (uint8_t)(v.l[i] >> 8 * j);
}
template <class T> WG_FN u32v wg_read(const uint8_t *from, const u32v &at) {
    return wg_all([&](int i) -> uint32_t {
        T v;
        if ((uintptr_t)(from + at.l[i]) % sizeof v)
            wg_stop("reads at an odd place", (uint32_t)i, at.l[i]);
        memcpy(&v, from + at.l[i], sizeof v);
        return v;
    });
}
WG_FN u32v wg_read_word(const uint8_t *from, const u32v &at) {
    return wg_read<uint32_t>(from, at);
}
WG_FN u32v wg_read_half(const uint8_t *from, const u32v &at) {
    return wg_read<uint16_t>(from, at);
}
WG_FN u32v wg_read_some(const uint8_t *from, const u32v &at, const u32v &place, uint32_t n) {
    return wg_all([&](int i) {
        uint32_t word = 0;
        for (uint32_t j = 0; j < 4; j++)
            if (place.l[i] + j < n) word |= (uint32_t)from[at.l[i] + j] << 8 * j;
        return word;
    });
}
WG_FN void wg_meet() {}

/* Another order at each call: place, then steps of an odd number. */
WG_FN uint32_t wg_random() {
    static thread_local uint32_t state = 1;
    return state = state * 1664525 + 1013904223;
}
template <class F> WG_FN void wg_each(F f) {
    uint32_t r = wg_random(), at = r >> 27, by = r >> 20 | 1;
    for (int i = 0; i < 32; i++) f((at + (uint32_t)i * by) & 31);
}
WG_FN uint32_t &wg_of(u32v &v, uint32_t lane) {
    return v.l[lane];
}

struct wg_memory {
    struct touch {
        uint32_t put, got;        /* when, counted in calls of wg_sync; 0: never */
        uint32_t putter, getters; /* a bit a lane */
    };
    uint8_t *bytes;
    uint32_t now;
    std::vector<touch> touched;
    wg_memory(uint8_t *memory, size_t n) : bytes(memory), now(1), touched(n) {}
};
WG_FN void wg_put(wg_memory &m, uint32_t lane, uint32_t at, uint32_t v) {
    if (at >= m.touched.size()) wg_stop("writes outside of its memory", lane, at);
    wg_memory::touch &t = m.touched[at];
    if (t.put == m.now && t.putter != 1u << lane) wg_stop("writes what another wrote", lane, at);
    if (t.got == m.now && t.getters & ~(1u << lane)) wg_stop("writes what another reads", lane, at);
    t.put = m.now;
    t.putter = 1u << lane;
    m.bytes[at] = (uint8_t)v;
}
WG_FN uint32_t wg_get(wg_memory &m, uint32_t lane, uint32_t at) {
    if (at >= m.touched.size()) wg_stop("reads outside of its memory", lane, at);
    wg_memory::touch &t = m.touched[at];
    if (!t.put) wg_stop("reads what nobody wrote", lane, at);
    if (t.put == m.now && t.putter != 1u << lane)
        wg_stop("reads what another wrote since they met", lane, at);
    t.getters = (t.got == m.now ? t.getters : 0) | 1u << lane;
    t.got = m.now;
    return m.bytes[at];
}
WG_FN void wg_sync(wg_memory &m) {
    m.now++;
}
WG_FN void wg_renew(wg_memory &m) {
    wg_sync(m);
    for (wg_memory::touch &t : m.touched) t.put = 0;
}

WG_FN void wg_report(uint64_t *first, uint64_t *n, uint64_t fault) {
    if (fault < *first) *first = fault;
    ++*n;
}

WG_FN double wg_product(double a, double b) {
    return a * b;
}
WG_FN double wg_quotient(double a, double b) {
    return a / b;
}

#endif
