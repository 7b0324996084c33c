/* SPDX-License-Identifier: MIT
 *
 * The forms that wg_fast.h has kernels for. A form makes a lane's two values of a step of tops,
 * which are where the value has them, and of the bypass bits of a block; `steps` steps make
 * lane_bytes bytes. */
#ifndef TARE_CUDA_WG_FORMS_H
#define TARE_CUDA_WG_FORMS_H

#include "wg_image.h"
#include "wg_lanes.h"

/* The form EDGE: bytes, two's complement, with 127 and -127 beside 0. */
WG_FN uint32_t wg_edge(uint32_t w) {
    int32_t s = (int32_t)(w ^ 128) - 128;
    int32_t v = s - (s > 3) + ((s < -4) & (s != -128));
    v = s == 3 ? 127 : v;
    return (uint32_t)(s == -4 ? -127 : v) & 255;
}

/* A lane's two bytes of a group of bypass bits: `at` counts from the segment on, in halves. */
WG_FN u32v wg_bits(const uint8_t *stored, u32v at) {
    return wg_load((const uint16_t *)(const void *)stored, at);
}

/* Items of 8 bits, K = 0, 1 or 2: PLAIN, or EDGE. */
template <int K, bool EDGE> struct wg_form8 {
    enum : uint32_t { value_bits = 8, k = K, log2 = 6, is_edge = EDGE, steps = 1, lane_bytes = 2 };
    typedef uint8_t top_type;
    u32v at, low;
    WG_FN uint32_t place(uint32_t top) { return top << K & 255; }
    WG_FN void open(wg_form8 &f, const wg_stream &, const wg_job &job) {
        f.at = wg_lane() + job.groups[0] / 2;
    }
    WG_FN void begin(wg_form8 &f, const uint8_t *stored, uint32_t block, uint32_t) {
        if (K == 2) f.low = wg_bits(stored, f.at + 32 * block);
        if (K == 1) f.low = wg_bits(stored, f.at + 32 * (block / 2)) >> 4 * (block & 1);
    }
    WG_FN u32v value(const wg_form8 &f, u32v a, u32v b, uint32_t j) {
        if (K == 2) a = a | (f.low >> 2 * j & 0x0303u);
        if (K == 1) a = a | (f.low >> j & 0x0101u);
        return a + b * 256u;
    }
    WG_FN void finish(u32v *) {}
    WG_FN void put_high(const wg_form8 &, uint8_t *, u32v, const u32v *) {}
};

/* Items of 16 bits, form SIGN, K = 6 to 10: groups of 4, then of 2 and 1 bits. */
template <int K> struct wg_form16 {
    enum : uint32_t { value_bits = 16, k = K, log2 = 6, is_edge = 0, steps = 1, lane_bytes = 4 };
    enum : uint32_t { rest = (1u << (K - 1)) - 1, fours = K / 4, low_bits = K % 4 };
    typedef uint16_t top_type;
    enum : uint32_t { is_byte = K <= 8 }; /* the bypass bits of a value fill a byte at most */
    u32v at[fours + 2];                   /* of each group */
    u32v four[fours], two, one;           /* of a group of 4 two steps in each half */
    WG_FN uint32_t place(uint32_t top) { return top << (K - 1) & 0x7fff; }
    WG_FN void open(wg_form16 &f, const wg_stream &, const wg_job &job) {
        WG_UNROLL
        for (uint32_t g = 0; g < fours + 2; g++) f.at[g] = wg_lane() + job.groups[g] / 2;
    }
    WG_FN void begin(wg_form16 &f, const uint8_t *stored, uint32_t block, uint32_t n_steps) {
        WG_UNROLL
        for (uint32_t g = 0; g < fours; g++) {
            f.four[g] = wg_bits(stored, f.at[g] + 64 * block);
            if (n_steps > 2) /* else the group may have ended */
                f.four[g] = f.four[g] | wg_bits(stored, f.at[g] + (64 * block + 32)) << 16u;
        }
        if (low_bits & 2) f.two = wg_bits(stored, f.at[fours] + 32 * block);
        if (low_bits & 1)
            f.one = wg_bits(stored, f.at[fours + (low_bits >> 1)] + 32 * (block / 2)) >>
                    4 * (block & 1);
    }
    /* Bits of both positions, a byte each, the first of them on top. */
    WG_FN u32v bytes(const wg_form16 &f, uint32_t j) {
        int32_t shift = (int32_t)(16 * (j / 2) + 4 * (j & 1)) - 4;
        u32v low = (shift < 0 ? f.four[0] << 4u : f.four[0] >> (uint32_t)shift) & 0xf0f0u;
        if (fours == 2) low = low | (f.four[fours - 1] >> (uint32_t)(shift + 4) & 0x0f0fu);
        if (low_bits & 2) low = low | (f.two >> 2 * j & 0x0303u) << 2u;
        if (low_bits & 1) low = low | (f.one >> j & 0x0101u) << (low_bits & 2 ? 1u : 3u);
        return low;
    }
    /* The same bits to where their values have them. */
    WG_FN u32v spread(u32v bits, uint32_t mask, uint32_t place) {
        return wg_twice(bits & mask * 0x0101u) << place & mask * 0x00010001u << place;
    }
    WG_FN u32v value(const wg_form16 &f, u32v a, u32v b, uint32_t j) {
        u32v v = a + b * 65536u;
        if constexpr (is_byte != 0) {
            u32v low = wg_twice(bytes(f, j)); /* the sign is in the upper one of each two */
            v = v | (low & 0x80008000u);
            return v | (low >> (8u - K) & rest * 0x00010001u);
        } else {
            WG_UNROLL
            for (uint32_t g = 0; g < fours; g++) {
                u32v bits = f.four[g] >> (16 * (j / 2) + 4 * (j & 1));
                if (g == 0) { /* the first bit is the sign */
                    v = v | spread(bits, 7, K - 4);
                    v = v | spread(bits, 8, 12);
                } else {
                    v = v | spread(bits, 15, K - 4 - 4 * g);
                }
            }
            if (low_bits & 2) v = v | spread(f.two >> 2 * j, 3, low_bits & 1);
            if (low_bits & 1) v = v | spread(f.one >> j, 1, 0);
        }
        return v;
    }
    WG_FN void finish(u32v *) {}
    WG_FN void put_high(const wg_form16 &, uint8_t *, u32v, const u32v *) {}
};

/* Items of 4 bits: a step has the low halves of 64 bytes, the next one the high halves. */
struct wg_form4 {
    enum : uint32_t { value_bits = 4, k = 0, log2 = 4, is_edge = 0, steps = 2, lane_bytes = 2 };
    typedef uint8_t top_type;
    WG_FN uint32_t place(uint32_t top) { return top & 15; }
    WG_FN void open(wg_form4 &, const wg_stream &, const wg_job &) {}
    WG_FN void begin(wg_form4 &, const uint8_t *, uint32_t, uint32_t) {}
    WG_FN u32v value(const wg_form4 &, u32v a, u32v b, uint32_t) { return a + b * 256u; }
    WG_FN void finish(u32v v[4]) {
        v[0] = v[0] | v[1] << 4u;
        v[2] = v[2] | v[3] << 4u;
    }
    WG_FN void put_high(const wg_form4 &, uint8_t *, u32v, const u32v *) {}
};

/* Values of 5 and 6 bits, joined: a step's even and odd values are the nibbles of 32 bytes. A unit is a
 * block. */
struct wg_joined_form {
    enum : uint32_t { value_bits = 6, k = 0, log2 = 6, is_edge = 0, steps = 1, lane_bytes = 1 };
    typedef uint16_t top_type;
    uint32_t high; /* where the high bits are, from the nibbles on */
    WG_FN void open(wg_joined_form &f, const wg_stream &s, const wg_job &) {
        f.high = s.high_offset - s.offset;
    }
    WG_FN void begin(wg_joined_form &, const uint8_t *, uint32_t, uint32_t) {}
    WG_FN u32v value(const wg_joined_form &, u32v a, u32v b, uint32_t) { return a + b * 16u; }
    WG_FN void finish(u32v *) {}
};

/* As in Q6_K: high bits of two steps are 32 other bytes: those of the first step's even values in bits
 * 0 and 1, of its odd ones in bits 4 and 5, of the second step in those between. */
struct wg_form6 : wg_joined_form {
    WG_FN uint32_t place(uint32_t top) { return (top & 15) | (top & 48) << 4; }
    WG_FN void put_high(const wg_form6 &f, uint8_t *unit, u32v at, const u32v v[4]) {
        WG_UNROLL
        for (uint32_t j = 0; j < 4; j += 2)
            wg_store<1>(unit + (int32_t)f.high + 16 * j, at, v[j] >> 8u | (v[j + 1] >> 6u & 0xccu));
    }
};

/* As in Q5_K: high bits of all four steps are 32 bytes: of the first one's even and odd values the
 * bits 0 and 1, of the second one's 2 and 3, and so on. */
struct wg_form5 : wg_joined_form {
    WG_FN uint32_t place(uint32_t top) { return (top & 15) | (top & 16) << 4; }
    /* Bits 8 and 12 of each v, four apart; then the odd ones come down beside the even ones. */
    WG_FN void put_high(const wg_form5 &f, uint8_t *unit, u32v at, const u32v v[4]) {
        u32v two = (v[0] >> 8u & 0x11u) | (v[1] >> 6u & 0x44u);
        u32v last = (v[2] & 0x1100u) | (v[3] << 2u & 0x4400u);
        u32v all = two | last;
        all = (all & 0x0505u) | (all >> 3u & 0x0a0au);
        wg_store<1>(unit + (int32_t)f.high, at, all | all >> 4u);
    }
};

/* X(form of wg_image.h, type): all of them. */
#define WG_FAST_LIST(X)                                                                            \
    X(WG_FAST_8_0, wg_form8<0, false>)                                                             \
    X(WG_FAST_8_1, wg_form8<1, false>)                                                             \
    X(WG_FAST_8_2, wg_form8<2, false>)                                                             \
    X(WG_FAST_EDGE, wg_form8<2, true>)                                                             \
    X(WG_FAST_16_6, wg_form16<6>)                                                                  \
    X(WG_FAST_16_7, wg_form16<7>)                                                                  \
    X(WG_FAST_16_8, wg_form16<8>)                                                                  \
    X(WG_FAST_16_9, wg_form16<9>)                                                                  \
    X(WG_FAST_16_10, wg_form16<10>)                                                                \
    X(WG_FAST_4, wg_form4)                                                                         \
    X(WG_FAST_5, wg_form5)                                                                         \
    X(WG_FAST_6, wg_form6)

#endif
