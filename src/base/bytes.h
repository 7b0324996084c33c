/* SPDX-License-Identifier: MIT
 *
 * Numbers in bytes, in a stated order, at any alignment. No pointer casts anywhere else. */
#ifndef TARE_BASE_BYTES_H
#define TARE_BASE_BYTES_H

#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TARE_HOST_IS_BIG_ENDIAN 1
#else
#define TARE_HOST_IS_BIG_ENDIAN 0
#endif

#define TARE_DEFINE_LOAD_STORE(bits)                                                               \
    static inline uint##bits##_t tare_load_u##bits(const void *p, bool is_big_endian) {            \
        uint##bits##_t v;                                                                          \
        memcpy(&v, p, sizeof v);                                                                   \
        return is_big_endian == TARE_HOST_IS_BIG_ENDIAN ? v : __builtin_bswap##bits(v);            \
    }                                                                                              \
    static inline void tare_store_u##bits(void *p, uint##bits##_t v, bool is_big_endian) {         \
        if (is_big_endian != TARE_HOST_IS_BIG_ENDIAN) v = __builtin_bswap##bits(v);                \
        memcpy(p, &v, sizeof v);                                                                   \
    }
TARE_DEFINE_LOAD_STORE(16)
TARE_DEFINE_LOAD_STORE(32)
TARE_DEFINE_LOAD_STORE(64)
#undef TARE_DEFINE_LOAD_STORE

static inline uint16_t tare_load_le16(const void *p) {
    return tare_load_u16(p, false);
}
static inline uint32_t tare_load_le32(const void *p) {
    return tare_load_u32(p, false);
}
static inline uint64_t tare_load_le64(const void *p) {
    return tare_load_u64(p, false);
}
static inline void tare_store_le16(void *p, uint16_t v) {
    tare_store_u16(p, v, false);
}
static inline void tare_store_le32(void *p, uint32_t v) {
    tare_store_u32(p, v, false);
}
static inline void tare_store_le64(void *p, uint64_t v) {
    tare_store_u64(p, v, false);
}

/* With float kept in wider registers, results would depend on the machine. */
_Static_assert(FLT_EVAL_METHOD == 0, "build with -msse2 -mfpmath=sse or -fexcess-precision=fast");

static inline uint32_t tare_f32_bits(float f) {
    uint32_t v;
    memcpy(&v, &f, sizeof v);
    return v;
}
static inline float tare_f32_of_bits(uint32_t v) {
    float f;
    memcpy(&f, &v, sizeof f);
    return f;
}
static inline uint64_t tare_f64_bits(double f) {
    uint64_t v;
    memcpy(&v, &f, sizeof v);
    return v;
}
static inline double tare_f64_of_bits(uint64_t v) {
    double f;
    memcpy(&f, &v, sizeof f);
    return f;
}

#endif
