/* SPDX-License-Identifier: MIT
 *
 * Guards against an encoder or decoder whose output changes: the digests below were taken when the
 * output had been compared with ggml's, byte for byte, over many million elements (the small
 * floats: with slow arithmetic, in test_encoding_floats; MCF's types: with a reader written from
 * the specification and vectors worked out by hand), and hold the identity where these are not at
 * hand. The input comes from integers only, so that it is the same on every system. A digest
 * that differs is a broken promise, not a number to be updated, unless ggml itself now writes other
 * bytes and the encoder follows it (docs/ENCODINGS.md says from which version on). */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/cpu.h"
#include "encoding/kernels.h"

enum { COUNT = 1 << 15, ROW = 1024 };

static uint64_t random_state;

static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* One number of several kinds: any pattern (NaN and Inf among them), subnormals, zeros of both
 * signs with a few ones, small integers with many ties, wide exponents, nearly normal. All are
 * exact products of integers and powers of two. */
static uint32_t next_value(uint64_t kind, int32_t scale) {
    uint64_t r = next_random();
    int32_t sum = (int32_t)(r & 0xffff) + (int32_t)(r >> 16 & 0xffff) +
                  (int32_t)(r >> 32 & 0xffff) + (int32_t)(r >> 48) - 131070;
    switch (kind) {
    case 0:
        return (uint32_t)(r >> 32);
    case 1:
        return (uint32_t)(r >> 41) | (uint32_t)(r & 1) << 31;
    case 2:
        return r & 12 ? (uint32_t)(r >> 8 & 1) << 31 : UINT32_C(0x3f800000);
    case 3:
        return tare_f32_bits((float)(((int32_t)(r >> 32 & 15) - 8) * scale) * 0x1p-10f);
    case 4:
        return tare_f32_bits((float)sum * tare_f32_of_bits(((uint32_t)(r & 63) + 80) << 23));
    default:
        return tare_f32_bits((float)sum * 0x1p-20f);
    }
}

/* Encoders that search for a scale do arithmetic on what they are given, and which of two NaN
 * payloads a sum keeps is the compiler's choice: they get numbers only. */
static bool takes_any_pattern(tare_encoding_id id) {
    return tare_encoding_get(id)->kind != TARE_KIND_BLOCK ||
           (id >= TARE_ENCODING_Q4_0 && id <= TARE_ENCODING_Q8_0);
}

static void fill_floats(float *values, tare_encoding_id id) {
    random_state = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t b = 0; b < COUNT; b += 32) {
        uint64_t kind = next_random() >> 20 & 15;
        if (kind == 0 && !takes_any_pattern(id)) kind = 5;
        int32_t scale = (int32_t)(next_random() >> 50) + 1;
        for (size_t i = b; i < b + 32; i++) {
            uint32_t bits = next_value(kind, scale);
            memcpy(values + i, &bits, 4);
        }
    }
}

static void fill_bytes(uint8_t *bytes, size_t n) {
    random_state = UINT64_C(0xd1b54a32d192ed03);
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(next_random() >> 32);
}

static uint64_t fnv(uint64_t h, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}
#define FNV_START UINT64_C(0xcbf29ce484222325)

/* Rows of `bytes`, one plane after the other; returns their size. */
static size_t place(tare_rows_mut *rows, const tare_encoding *e, uint8_t *bytes, size_t n_rows,
                    size_t cols) {
    uint64_t dims[2] = {n_rows, cols}, sizes[TARE_MAX_PLANES];
    size_t at = 0;
    assert_int_equal(tare_encoding_sizes(sizes, e, dims, 2, NULL), TARE_OK);
    *rows = (tare_rows_mut){.n_rows = n_rows, .cols = cols};
    for (int p = 0; p < e->n_planes; p++) {
        rows->planes[p] = bytes + at;
        at += (size_t)sizes[p];
    }
    return at;
}

enum { MOST_BYTES = COUNT * 8 };

static uint64_t digest_of_rows(tare_encode_fn encode, const tare_encoding *e, size_t n_rows,
                               size_t cols) {
    float *values = malloc(sizeof(float) * COUNT);
    uint8_t *bytes = malloc(MOST_BYTES);
    assert_non_null(values);
    assert_non_null(bytes);
    fill_floats(values, e->id);
    tare_rows_mut rows;
    size_t size = place(&rows, e, bytes, n_rows, cols);
    encode(&rows, values, NULL);
    uint64_t digest = fnv(FNV_START, bytes, size);
    free(values);
    free(bytes);
    return digest;
}

static uint64_t digest_of_encoded(const tare_kernels *k, const tare_encoding *e) {
    if (!k->encode[e->id]) return 0;
    size_t count = takes_any_pattern(e->id) ? COUNT : COUNT / 8; /* searching takes time */
    return digest_of_rows(k->encode[e->id], e, 1, count);
}

/* The same numbers with runs of zeros among them, for rows with importance: squares of integers,
 * some of them 0. */
static void fill_rows(float *values, float *importance) {
    fill_floats(values, TARE_ENCODING_Q2_K);
    for (size_t b = 32 * 3; b < COUNT; b += 32 * 7) memset(values + b, 0, 32 * sizeof *values);
    for (size_t i = 0; i < ROW; i++) {
        uint32_t root = (uint32_t)(next_random() >> 54);
        importance[i] = (float)(root * root / 64) * 0x1p-8f;
    }
}

static uint64_t digest_of_weighted(const tare_kernels *k, const tare_encoding *e) {
    if (!k->encode_weighted[e->id]) return 0;
    enum { N = COUNT / 4 };
    float *values = malloc(sizeof(float) * COUNT), importance[ROW];
    uint8_t *bytes = malloc(MOST_BYTES);
    assert_non_null(values);
    assert_non_null(bytes);
    fill_rows(values, importance);
    tare_rows_mut rows;
    size_t size = place(&rows, e, bytes, N / ROW, ROW);
    tare_encode_params params = {.size = sizeof(tare_encode_params), .importance = importance};
    k->encode_weighted[e->id](&rows, values, &params);
    uint64_t digest = fnv(FNV_START, bytes, size);
    free(values);
    free(bytes);
    return digest;
}

/* Without and with importance; rows end inside a block where they may. */
static uint64_t digest_of_best(const tare_kernels *k, const tare_encoding *e) {
    enum { N = COUNT / 16 };
    const uint64_t cols = e->is_edge_padded ? ROW - 7 : ROW;
    float *values = malloc(sizeof(float) * COUNT), importance[ROW];
    uint8_t *bytes = malloc(MOST_BYTES);
    uint64_t digest = FNV_START;
    assert_non_null(values);
    assert_non_null(bytes);
    fill_rows(values, importance);
    for (int is_weighted = 0; is_weighted < 2; is_weighted++) {
        if (!is_weighted && !k->encode[e->id]) continue;
        tare_rows_mut rows;
        size_t size = place(&rows, e, bytes, N / ROW, (size_t)cols);
        tare_encode_params params = {.size = sizeof(tare_encode_params),
                                     .importance = is_weighted ? importance : NULL,
                                     .quality = TARE_QUALITY_BEST};
        k->encode_best[e->id](&rows, values, &params);
        digest = fnv(digest, bytes, size);
    }
    free(values);
    free(bytes);
    return digest;
}

/* As the public implementation of MCF encodes; rows end inside a block. */
static uint64_t digest_of_mantle(const tare_kernels *k, const tare_encoding *e) {
    return digest_of_rows(k->encode_mantle[e->id], e, 8, ROW - 7);
}

/* Any NaN counts as the same NaN. */
static uint64_t digest_of_decoded(const tare_kernels *k, const tare_encoding *e) {
    if (!k->decode[e->id]) return 0;
    float *values = malloc(sizeof(float) * COUNT);
    uint8_t *bytes = malloc(MOST_BYTES);
    uint64_t digest = FNV_START;
    assert_non_null(values);
    assert_non_null(bytes);
    tare_rows_mut filled;
    fill_bytes(bytes, place(&filled, e, bytes, 1, COUNT));
    tare_rows rows = {.n_rows = 1, .cols = COUNT};
    for (int p = 0; p < e->n_planes; p++) rows.planes[p] = filled.planes[p];
    k->decode[e->id](values, &rows);
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t bits = tare_f32_bits(values[i]);
        uint8_t little[4];
        tare_store_le32(little, (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : bits);
        digest = fnv(digest, little, 4);
    }
    free(values);
    free(bytes);
    return digest;
}

typedef struct golden {
    tare_encoding_id id;
    uint64_t encoded, decoded, weighted; /* 0: not to be had */
} golden;

static const golden goldens[] = {
    {TARE_ENCODING_F16, UINT64_C(0x2e218aa460bfec3b), UINT64_C(0xe71ebd95baf0d056), 0},
    {TARE_ENCODING_BF16, UINT64_C(0xb980251fe8c8d4f5), UINT64_C(0x657ff45eaca37a2a), 0},
    {TARE_ENCODING_F8_E4M3, UINT64_C(0x30aed78fecb0f6a2), UINT64_C(0xdd1d0ad1965ed420), 0},
    {TARE_ENCODING_F8_E5M2, UINT64_C(0x8089c6f2a77b3a83), UINT64_C(0x75802408bd83fb15), 0},
    {TARE_ENCODING_F8_E4M3FNUZ, UINT64_C(0x121e3a327e68864c), UINT64_C(0x8006a7d18d849d70), 0},
    {TARE_ENCODING_F8_E5M2FNUZ, UINT64_C(0x499e50838b2c95ac), UINT64_C(0x3f878696597be6da), 0},
    {TARE_ENCODING_F8_E8M0, 0, UINT64_C(0xac8e0218d67ad455), 0},
    {TARE_ENCODING_F4, UINT64_C(0x50c9d0b50a889149), UINT64_C(0x0f8d5ed341cfb898), 0},
    {TARE_ENCODING_Q4_0, UINT64_C(0x5b75106f8fb2cfff), UINT64_C(0xe422447034e209c3),
     UINT64_C(0xc9d16829f8a1d3b0)},
    {TARE_ENCODING_Q4_1, UINT64_C(0xe75d044f9e7a098c), UINT64_C(0x8dfeda2a5a525598),
     UINT64_C(0x2ae7023364432976)},
    {TARE_ENCODING_Q5_0, UINT64_C(0x7d438fa6c5a538d7), UINT64_C(0xc290eaef38a5c580),
     UINT64_C(0x5e700949f6307f13)},
    {TARE_ENCODING_Q5_1, UINT64_C(0x1f0bcdcb69112fc8), UINT64_C(0xa2fb29b5956ec841),
     UINT64_C(0x2a27433fef021533)},
    {TARE_ENCODING_Q8_0, UINT64_C(0xe5707189f75963dd), UINT64_C(0x49f2936668e4e2d5), 0},
    {TARE_ENCODING_Q8_1, 0, UINT64_C(0x646b1c9a5da21fbe), 0},
    {TARE_ENCODING_Q2_K, UINT64_C(0x60931be8cd5f52b7), UINT64_C(0xe317d0615ef2eed0),
     UINT64_C(0x85072dc1ace0a1e8)},
    {TARE_ENCODING_Q3_K, UINT64_C(0x95b665729dc75164), UINT64_C(0xa19054265e53e215),
     UINT64_C(0x2e52cacd1f56e2d3)},
    {TARE_ENCODING_Q4_K, UINT64_C(0x659dbd1b754112c6), UINT64_C(0xffff03e0c2db629c),
     UINT64_C(0x67f65cf47c2137ad)},
    {TARE_ENCODING_Q5_K, UINT64_C(0xda3e1c5663c7d4d8), UINT64_C(0x27b7027f4c24a5e7),
     UINT64_C(0x94bcf2162c801548)},
    {TARE_ENCODING_Q6_K, UINT64_C(0x8160363fa0841ad9), UINT64_C(0x3b1b264f0738ebfb),
     UINT64_C(0xca301b7a440a4aab)},
    {TARE_ENCODING_Q8_K, 0, UINT64_C(0xa7a0f8bf91a5d39b), 0},
    {TARE_ENCODING_IQ2_XXS, 0, UINT64_C(0x32c2c1b4b248191a), UINT64_C(0x20fc2eb573d32fa9)},
    {TARE_ENCODING_IQ2_XS, 0, UINT64_C(0xb8b2455274e17590), UINT64_C(0x6f1869518528f0a5)},
    {TARE_ENCODING_IQ2_S, UINT64_C(0x816ee488d7f4fa94), UINT64_C(0xc6c422ebb61f245e),
     UINT64_C(0x02d599e66eaf98c2)},
    {TARE_ENCODING_IQ3_XXS, UINT64_C(0x17c170443bcb80f8), UINT64_C(0xefd351dc4436645d),
     UINT64_C(0x2d644451d4067aa4)},
    {TARE_ENCODING_IQ3_S, UINT64_C(0x99ada96b96a7d7ed), UINT64_C(0x19afaef7b475c6eb),
     UINT64_C(0x491e791a43c5f1a3)},
    {TARE_ENCODING_IQ1_S, 0, UINT64_C(0x67890f8ce3986299), UINT64_C(0x8c2b7369d8293e9b)},
    {TARE_ENCODING_IQ1_M, UINT64_C(0xa09d874c71b22708), UINT64_C(0x6e4cef9532d47f39),
     UINT64_C(0x4019f1fafc1590b4)},
    {TARE_ENCODING_IQ4_NL, UINT64_C(0x9bab6a6304f1f25a), UINT64_C(0x33b106e484dde44a),
     UINT64_C(0x03e6b77e1d91854c)},
    {TARE_ENCODING_IQ4_XS, UINT64_C(0x7613aa80ddcac509), UINT64_C(0xc6d197c29e1d0215),
     UINT64_C(0x5e6c125c0cdc3f2f)},
    {TARE_ENCODING_TQ1_0, UINT64_C(0x61016ab80eba2b6e), UINT64_C(0xf68a7e72c91b857a), 0},
    {TARE_ENCODING_TQ2_0, UINT64_C(0xeea4e143f7b62f22), UINT64_C(0x5688a88351417554), 0},
    {TARE_ENCODING_MXFP4, UINT64_C(0x52b5e235d7e1d2d2), UINT64_C(0xbf9fbfb26ea9ac54), 0},
    {TARE_ENCODING_NVFP4, UINT64_C(0x38252d6656b75a3a), UINT64_C(0x181b425d21f37e51), 0},
    {TARE_ENCODING_Q1_0, UINT64_C(0xa1c10d1d6a330eb4), UINT64_C(0x008f1a21fd5680a5), 0},
    {TARE_ENCODING_Q2_0, UINT64_C(0x8b51f502feed2795), UINT64_C(0x682c19157c48d94b), 0},
    {TARE_ENCODING_Q8, UINT64_C(0x9878241920fba403), UINT64_C(0xeeeb437f305995b6), 0},
    {TARE_ENCODING_Q4, UINT64_C(0x2d2d3f06281c6378), UINT64_C(0x4056883b7be80b2e), 0},
    {TARE_ENCODING_K6, UINT64_C(0x813b29e72053bd48), UINT64_C(0xcdb58665ee0b6c17), 0},
    {TARE_ENCODING_K4, UINT64_C(0x4b080bbabb3aee8a), UINT64_C(0xb777917e9c59358c), 0},
    {TARE_ENCODING_K3, UINT64_C(0x35926514ad46bb01), UINT64_C(0x653c5a6b17459600), 0},
    {TARE_ENCODING_K2, UINT64_C(0x2738b79a398e491e), UINT64_C(0xaf9f01b4757684e2), 0},
    {TARE_ENCODING_MCF_INT8, UINT64_C(0x4fed497e072a95ff), UINT64_C(0x3bb8dbde0a1a60a8), 0},
    {TARE_ENCODING_MCF_INT4, UINT64_C(0xfc1bedcfabf7a874), UINT64_C(0xc7240f381a4a8c71), 0},
    {TARE_ENCODING_MCF_INT8_ZERO, UINT64_C(0x3bd5a2a05049e152), UINT64_C(0x27333d6592347928), 0},
    {TARE_ENCODING_MCF_INT4_ZERO, UINT64_C(0x65fb1252a1d0f5f7), UINT64_C(0x32e28bf723c81665), 0},
};

static void check_level(unsigned mask) {
    tare_kernels kernels;
    bool is_same = true;
    tare_kernels_init(&kernels, mask);
    for (size_t i = 0; i < sizeof goldens / sizeof goldens[0]; i++) {
        const tare_encoding *e = tare_encoding_get(goldens[i].id);
        uint64_t encoded = digest_of_encoded(&kernels, e), decoded = digest_of_decoded(&kernels, e);
        uint64_t weighted = digest_of_weighted(&kernels, e);
        if (encoded == goldens[i].encoded && decoded == goldens[i].decoded &&
            weighted == goldens[i].weighted)
            continue;
        print_error("%s: encoded 0x%016" PRIx64 ", decoded 0x%016" PRIx64 ", weighted 0x%016" PRIx64
                    "\n",
                    e->name, encoded, decoded, weighted);
        is_same = false;
    }
    assert_true(is_same);
}

/* What the better encoders write is the same everywhere, but not for all time: one that is better
 * still may take another's place, and its digest. */
static const struct {
    tare_encoding_id id;
    uint64_t digest;
} bests[] = {
    {TARE_ENCODING_Q4_0, UINT64_C(0xdfdbc0768f7b2795)},
    {TARE_ENCODING_Q4_1, UINT64_C(0x51a88b49b0631b2d)},
    {TARE_ENCODING_Q5_0, UINT64_C(0xcee503a98a6e092a)},
    {TARE_ENCODING_Q5_1, UINT64_C(0x75371bf7beb96935)},
    {TARE_ENCODING_Q8_0, UINT64_C(0x2cbef59f3ec42cac)},
    {TARE_ENCODING_Q2_K, UINT64_C(0xf028a59d2855c7c0)},
    {TARE_ENCODING_Q3_K, UINT64_C(0x8b763268b17f8265)},
    {TARE_ENCODING_Q4_K, UINT64_C(0x76b6c9e100fd73d6)},
    {TARE_ENCODING_Q5_K, UINT64_C(0x9095f36978a48ba0)},
    {TARE_ENCODING_Q6_K, UINT64_C(0x3145f35f38920c54)},
    {TARE_ENCODING_IQ2_XXS, UINT64_C(0x3e9f7e794b83a55d)},
    {TARE_ENCODING_IQ2_XS, UINT64_C(0x2fff0392e1e2b611)},
    {TARE_ENCODING_IQ2_S, UINT64_C(0x95ec3718757bd871)},
    {TARE_ENCODING_IQ3_XXS, UINT64_C(0x5a108e3fbbd4c99c)},
    {TARE_ENCODING_IQ3_S, UINT64_C(0xcc225b4090249e5f)},
    {TARE_ENCODING_IQ1_S, UINT64_C(0x6fba8daaab219414)},
    {TARE_ENCODING_IQ1_M, UINT64_C(0xabc95c554978c31e)},
    {TARE_ENCODING_IQ4_NL, UINT64_C(0xa011973dad9b7bd3)},
    {TARE_ENCODING_IQ4_XS, UINT64_C(0x53fdfbc467ed9f1d)},
    {TARE_ENCODING_TQ1_0, UINT64_C(0x2babb284102f2fa3)},
    {TARE_ENCODING_TQ2_0, UINT64_C(0xae6d7b736bbca137)},
    {TARE_ENCODING_MXFP4, UINT64_C(0x98519436854eb9e5)},
    {TARE_ENCODING_NVFP4, UINT64_C(0x0e36ecb50d22da9e)},
    {TARE_ENCODING_Q1_0, UINT64_C(0x7efdeeb29cfa9575)},
    {TARE_ENCODING_Q2_0, UINT64_C(0x2262306683bdb887)},
    {TARE_ENCODING_Q8, UINT64_C(0x5a0e254dc795bb27)},
    {TARE_ENCODING_Q4, UINT64_C(0x047e499eb364bfcb)},
    {TARE_ENCODING_K6, UINT64_C(0x02f1bec2be52a633)},
    {TARE_ENCODING_K4, UINT64_C(0x5e9666407ee17987)},
    {TARE_ENCODING_K3, UINT64_C(0x5b7fa567c492d22e)},
    {TARE_ENCODING_K2, UINT64_C(0x39375d5595e59d9c)},
    {TARE_ENCODING_MCF_INT8, UINT64_C(0x86863d07e88d6cd7)},
    {TARE_ENCODING_MCF_INT4, UINT64_C(0xe449c85472cd9b12)},
    {TARE_ENCODING_MCF_INT8_ZERO, UINT64_C(0x9acfc7f52df3f76b)},
    {TARE_ENCODING_MCF_INT4_ZERO, UINT64_C(0xa71e29a5013e03f9)},
    {TARE_ENCODING_INT8_ROWWISE, UINT64_C(0xc84a6d36b3e7520e)},
    {TARE_ENCODING_INT4_ROWWISE, UINT64_C(0x246d2c5f263e46a8)},
};

static const struct {
    tare_encoding_id id;
    uint64_t digest;
} mantles[] = {
    {TARE_ENCODING_Q8, UINT64_C(0xe339a2cf9388cc43)},
    {TARE_ENCODING_Q4, UINT64_C(0x6fb1cd695bc15f99)},
    {TARE_ENCODING_K6, UINT64_C(0x02905c3e79593c65)},
    {TARE_ENCODING_K4, UINT64_C(0x62166b2ad1412723)},
    {TARE_ENCODING_K3, UINT64_C(0xdb3bc9d119abc109)},
    {TARE_ENCODING_K2, UINT64_C(0x3a72ed95b8c70f89)},
};

static void test_mantle(void **state) {
    (void)state;
    bool is_same = true;
    for (size_t i = 0; i < sizeof mantles / sizeof mantles[0]; i++) {
        const tare_encoding *e = tare_encoding_get(mantles[i].id);
        uint64_t digest = digest_of_mantle(tare_kernels_get(), e);
        if (digest == mantles[i].digest) continue;
        print_error("%s: mantle 0x%016" PRIx64 "\n", e->name, digest);
        is_same = false;
    }
    assert_true(is_same);
}

/* What ggml up to 0.21 wrote, of before September 2026. */
static void test_older(void **state) {
    (void)state;
    const tare_encoding *e = tare_encoding_get(TARE_ENCODING_IQ1_M);
    for (unsigned is_scalar = 0; is_scalar < 2; is_scalar++) {
        tare_kernels k;
        tare_kernels_init(&k, is_scalar ? TARE_CPU_NONE : tare_cpu_mask_detect());
        k.encode[e->id] = k.encode_weighted[e->id] = k.encode_older[e->id];
        assert_true(digest_of_encoded(&k, e) == UINT64_C(0x2f2e490219a5587d));
        assert_true(digest_of_weighted(&k, e) == UINT64_C(0xb231e2d00eccea94));
    }
}

static void test_best(void **state) {
    (void)state;
    const tare_kernels *k = tare_kernels_get();
    bool is_same = true;
    for (size_t i = 0; i < sizeof bests / sizeof bests[0]; i++) {
        const tare_encoding *e = tare_encoding_get(bests[i].id);
        uint64_t digest = digest_of_best(k, e);
        if (digest == bests[i].digest) continue;
        print_error("%s: best 0x%016" PRIx64 "\n", e->name, digest);
        is_same = false;
    }
    assert_true(is_same);
}

static void test_scalar(void **state) {
    (void)state;
    check_level(TARE_CPU_NONE);
}

static void test_kernels_of_this_machine(void **state) {
    (void)state;
    check_level(tare_cpu_mask_detect());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalar), cmocka_unit_test(test_kernels_of_this_machine),
        cmocka_unit_test(test_best),   cmocka_unit_test(test_mantle),
        cmocka_unit_test(test_older),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
