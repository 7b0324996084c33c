/* SPDX-License-Identifier: MIT
 *
 * Probes derived from fields. Field types are mostly sufficient: an IEEE member with all exponent
 * bits set is not a number. What fields do not express (8-bit floats and BOOL are plain bytes to
 * them, IQ1_M's scale is spread over four words) is in one small table. */
#include <string.h>

#include "base/bytes.h"
#include "encoding/mcf_blocks.h"
#include "encoding/rowwise.h"
#include "ops/inspect/bad_patterns.h"

#define U64(x) UINT64_C(x)

/* By tare_field_type; width 0: every pattern is a number. */
static const tare_pattern_rule type_rules[] = {
    [TARE_FIELD_F16] = {2, false, TARE_BAD_NAN, 0x7c00, 0x7c00, 0x03ff},
    [TARE_FIELD_BF16] = {2, false, TARE_BAD_NAN, 0x7f80, 0x7f80, 0x007f},
    [TARE_FIELD_F32] = {4, false, TARE_BAD_NAN, 0x7f800000, 0x7f800000, 0x007fffff},
    [TARE_FIELD_F64] = {8, false, TARE_BAD_NAN, U64(0x7ff0000000000000), U64(0x7ff0000000000000),
                        U64(0x000fffffffffffff)},
    [TARE_FIELD_E8M0] = {1, false, TARE_BAD_NAN, 0xff, 0xff, 0},
    [TARE_FIELD_UE4M3] = {1, false, TARE_BAD_NAN, 0x7f, 0x7f, 0},
};

/* Six bits in a byte. */
#define SIX_BITS                                                                                   \
    { 1, true, TARE_BAD_CODE, 0xc0, 0, 0 }

/* By encoding. */
static const struct {
    tare_encoding_id id;
    uint8_t plane;
    uint16_t offset;
    tare_pattern_rule rule;
} encoding_rules[] = {
    {TARE_ENCODING_F8_E4M3, 0, 0, {1, false, TARE_BAD_NAN, 0x7f, 0x7f, 0}},
    {TARE_ENCODING_F8_E5M2, 0, 0, {1, false, TARE_BAD_NAN, 0x7c, 0x7c, 0x03}},
    {TARE_ENCODING_F8_E4M3FNUZ, 0, 0, {1, false, TARE_BAD_NAN, 0xff, 0x80, 0}},
    {TARE_ENCODING_F8_E5M2FNUZ, 0, 0, {1, false, TARE_BAD_NAN, 0xff, 0x80, 0}},
    {TARE_ENCODING_BOOL, 0, 0, {1, true, TARE_BAD_CODE, 0xfe, 0, 0}},
    /* The top nibbles of the four words are an f16 from its low end up: its exponent, bits 10 to
     * 14, is bits 46, 47, 60, 61, 62 of the eight bytes. */
    {TARE_ENCODING_IQ1_M,
     0,
     48,
     {8, false, TARE_BAD_SCALE, U64(0x7000c00000000000), U64(0x7000c00000000000), 0}},
    {TARE_ENCODING_K6, 1, 0, SIX_BITS},
    {TARE_ENCODING_K4, 1, 0, SIX_BITS},
    {TARE_ENCODING_K3, 1, 0, SIX_BITS},
    {TARE_ENCODING_K2, 1, 0, SIX_BITS},
};

static bool is_of_scale(const tare_field *f) {
    return f->role == TARE_FIELD_SCALE || f->role == TARE_FIELD_MIN || f->role == TARE_FIELD_SUM;
}

size_t tare_patterns_of(tare_pattern_site *out, const tare_encoding *encoding) {
    size_t n = 0;
    for (size_t i = 0; i < encoding->n_fields; i++) {
        const tare_field *f = &encoding->fields[i];
        if (f->type >= sizeof type_rules / sizeof *type_rules) continue;
        tare_pattern_rule rule = type_rules[f->type];
        if (is_of_scale(f)) rule.kind = TARE_BAD_SCALE;
        for (uint16_t k = 0; rule.width && k < f->count && n < TARE_MAX_PATTERNS; k++)
            out[n++] = (tare_pattern_site){rule, f->plane, (uint16_t)(f->offset + k * rule.width)};
    }
    for (size_t i = 0; i < sizeof encoding_rules / sizeof *encoding_rules; i++)
        if (encoding_rules[i].id == encoding->id && n < TARE_MAX_PATTERNS)
            out[n++] = (tare_pattern_site){encoding_rules[i].rule, encoding_rules[i].plane,
                                           encoding_rules[i].offset};
    return n;
}

/* ---- looking --------------------------------------------------------------------------------- */

static inline uint64_t load(const uint8_t *p, uint32_t width) {
    switch (width) {
    case 1:
        return *p;
    case 2:
        return tare_load_le16(p);
    case 4:
        return tare_load_le32(p);
    default:
        return tare_load_le64(p);
    }
}

/* Whether any of n members, `stride` apart, is bad. One function per width, inlined with constant
 * strides for plain numbers, so that the loop is vectorized. */
#define DEFINE_ANY_ODD(bits, load_member)                                                          \
    static inline bool any_bad_##bits(const uint8_t *p, uint64_t n, uint32_t stride,               \
                                      const tare_pattern_rule *rule) {                             \
        const uint##bits##_t mask = (uint##bits##_t)rule->mask;                                    \
        const uint##bits##_t match = (uint##bits##_t)rule->match;                                  \
        const uint##bits##_t inverted = rule->is_inverted;                                         \
        uint##bits##_t bad = 0;                                                                    \
        for (uint64_t i = 0; i < n; i++)                                                           \
            bad |= (uint##bits##_t)((load_member(p + i * stride) & mask) == match) ^ inverted;     \
        return bad != 0;                                                                           \
    }
static inline uint8_t load_u8(const uint8_t *p) {
    return *p;
}
DEFINE_ANY_ODD(8, load_u8)
DEFINE_ANY_ODD(16, tare_load_le16)
DEFINE_ANY_ODD(32, tare_load_le32)
DEFINE_ANY_ODD(64, tare_load_le64)

static bool any_bad(const uint8_t *p, uint64_t n, uint32_t stride, const tare_pattern_rule *rule) {
    switch (rule->width) {
    case 1:
        return stride == 1 ? any_bad_8(p, n, 1, rule) : any_bad_8(p, n, stride, rule);
    case 2:
        return stride == 2 ? any_bad_16(p, n, 2, rule) : any_bad_16(p, n, stride, rule);
    case 4:
        return stride == 4 ? any_bad_32(p, n, 4, rule) : any_bad_32(p, n, stride, rule);
    default:
        return any_bad_64(p, n, stride, rule);
    }
}

static void note(tare_bad_patterns *sum, tare_bad_kind kind, uint64_t position) {
    if (sum->n[kind]++ == 0) sum->first[kind] = position;
}

/* Units are checked in groups, and one by one only if a group contains a bad one. */
#define GROUP 4096

void tare_find_bad_units(tare_bad_patterns *sum, const tare_pattern_site *site,
                         const uint8_t *bytes, uint64_t n, uint32_t unit_bytes, uint64_t position) {
    const tare_pattern_rule *rule = &site->rule;
    for (uint64_t from = 0; from < n; from += GROUP) {
        const uint64_t count = n - from < GROUP ? n - from : GROUP;
        const uint64_t at = from * unit_bytes + site->offset;
        if (!any_bad(bytes + at, count, unit_bytes, rule)) continue;
        for (uint64_t i = 0; i < count; i++) {
            const uint64_t here = at + i * unit_bytes;
            const uint64_t bits = load(bytes + here, rule->width);
            if (((bits & rule->mask) == rule->match) == rule->is_inverted) continue;
            bool is_inf = rule->kind == TARE_BAD_NAN && rule->fraction && !(bits & rule->fraction);
            note(sum, is_inf ? TARE_BAD_INF : (tare_bad_kind)rule->kind, position + here);
        }
    }
}

/* ---- codes ----------------------------------------------------------------------------------- */

/* Bits per code for types whose codes have rules of their own; 0: another type. */
static int bits_of_code(const tare_encoding *e, uint32_t plane) {
    const bool is_ours = e->is_edge_padded && !e->is_bit_packed && e->n_planes > 1 &&
                         e->planes[plane].unit == TARE_MCF_BLOCK &&
                         e->fields[plane].role == TARE_FIELD_CODE;
    return is_ours ? e->fields[plane].bits : 0;
}

/* The codes of whole rows: bytes, or two in each. */
static void find_bad_rowwise(tare_bad_patterns *sum, int bits, uint64_t cols, const uint8_t *bytes,
                             uint64_t first, uint64_t n) {
    const uint64_t per_row = tare_rowwise_bytes(cols, bits);
    const int lowest = -tare_rowwise_top(bits) - 1;
    for (uint64_t i = 0; i < n; i++) {
        const bool is_last = (first + i) % per_row == per_row - 1;
        const bool is_half = bits == 4 && is_last && cols % 2;
        for (size_t j = 0; j < (bits == 4 ? 2 : 1); j++) {
            const int code = tare_code_at(bytes + i, j, bits);
            const bool is_padding = is_half && j == 1;
            if (is_padding && code != 0) note(sum, TARE_BAD_PADDING, first + i);
            if (!is_padding && code == lowest) note(sum, TARE_BAD_LOWEST, first + i);
        }
    }
}

void tare_find_bad_codes(tare_bad_patterns *sum, const tare_encoding *encoding, uint32_t plane,
                         uint64_t cols, const uint8_t *bytes, uint64_t first, uint64_t n) {
    if (plane == 0 && cols && encoding->id == TARE_ENCODING_INT8_ROWWISE)
        find_bad_rowwise(sum, 8, cols, bytes, first, n);
    if (plane == 0 && cols && encoding->id == TARE_ENCODING_INT4_ROWWISE)
        find_bad_rowwise(sum, 4, cols, bytes, first, n);
    const int bits = bits_of_code(encoding, plane);
    const uint64_t per_row = tare_mcf_n_blocks(cols);
    const size_t size = 4 * (size_t)bits;
    if (bits == 0 || per_row == 0) return;
    for (uint64_t b = 0; b < n; b++) {
        int8_t codes[TARE_MCF_BLOCK];
        uint64_t left = cols - (first + b) % per_row * TARE_MCF_BLOCK;
        int n_used = left < TARE_MCF_BLOCK ? (int)left : TARE_MCF_BLOCK;
        const uint64_t at = (first + b) * size;
        tare_mcf_unpack(codes, bytes + b * size, bits);
        for (int j = 0; j < TARE_MCF_BLOCK; j++) {
            const uint64_t here = at + (uint64_t)(j * bits / 8);
            if (codes[j] < -tare_mcf_top(bits)) note(sum, TARE_BAD_LOWEST, here);
            if (j >= n_used && codes[j] != 0) note(sum, TARE_BAD_PADDING, here);
        }
    }
}
