/* SPDX-License-Identifier: MIT
 *
 * The table of number formats: one row for each entry of TARE_ENCODING_LIST. A row says how many
 * elements a block holds, which planes a tensor consists of, and which members lie in a unit of a
 * plane. The block formats are ggml's; their members are in the order of its structs, with the
 * width in which ggml reads them (a run of bytes that it reads as one u32 is a u32 here), because
 * that width is what the byte order depends on. The 8, 6 and 4 bit floats are those of OCP's "8-bit
 * Floating Point" and "Microscaling Formats", as safetensors stores them. */
#include "encoding/table.h"

#include "encoding/outliers.h"

#define COUNT(array) (uint8_t)(sizeof(array) / sizeof((array)[0]))

/* name, role, type, bits of one code (0: of the type), offset, count; all lie in plane 0 */
#define FIELD(name, role, type, bits, offset, count)                                               \
    { name, 0, TARE_FIELD_##role, TARE_FIELD_##type, bits, offset, count }

/* Formats that store one number per element and differ only in its type. */
#define PLAIN_FIELD(id, type)                                                                      \
    static const tare_field fields_##id[] = {FIELD("value", VALUE, type, 0, 0, 1)};
PLAIN_FIELD(u8, U8)
PLAIN_FIELD(i8, I8)
PLAIN_FIELD(u16, U16)
PLAIN_FIELD(i16, I16)
PLAIN_FIELD(u32, U32)
PLAIN_FIELD(u64, U64)
PLAIN_FIELD(f16, F16)
PLAIN_FIELD(bf16, BF16)
PLAIN_FIELD(f32, F32)
PLAIN_FIELD(f64, F64)
PLAIN_FIELD(e8m0, E8M0)

static const tare_field fields_c64[] = {FIELD("value", VALUE, F32, 0, 0, 2)};
static const tare_field fields_f6[] = {FIELD("codes", CODE, U8, 6, 0, 3)};
static const tare_field fields_f4[] = {FIELD("codes", CODE, U8, 4, 0, 1)};

static const tare_field fields_q4_0[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("qs", CODE, U8, 4, 2, 16),
};
static const tare_field fields_q4_1[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("m", MIN, F16, 0, 2, 1),
    FIELD("qs", CODE, U8, 4, 4, 16),
};
static const tare_field fields_q5_0[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("qh", HIGH, U32, 1, 2, 1),
    FIELD("qs", CODE, U8, 4, 6, 16),
};
static const tare_field fields_q5_1[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("m", MIN, F16, 0, 2, 1),
    FIELD("qh", HIGH, U32, 1, 4, 1),
    FIELD("qs", CODE, U8, 4, 8, 16),
};
static const tare_field fields_q8_0[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("qs", CODE, I8, 8, 2, 32),
};
static const tare_field fields_q8_1[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("s", SUM, F16, 0, 2, 1),
    FIELD("qs", CODE, I8, 8, 4, 32),
};

static const tare_field fields_q2_k[] = {
    FIELD("scales", SUBSCALE, U8, 4, 0, 16),
    FIELD("qs", CODE, U8, 2, 16, 64),
    FIELD("d", SCALE, F16, 0, 80, 1),
    FIELD("dmin", MIN, F16, 0, 82, 1),
};
static const tare_field fields_q3_k[] = {
    FIELD("hmask", HIGH, U8, 1, 0, 32),
    FIELD("qs", CODE, U8, 2, 32, 64),
    FIELD("scales", SUBSCALE, U8, 6, 96, 12),
    FIELD("d", SCALE, F16, 0, 108, 1),
};
static const tare_field fields_q4_k[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("dmin", MIN, F16, 0, 2, 1),
    FIELD("scales", SUBSCALE, U8, 6, 4, 12),
    FIELD("qs", CODE, U8, 4, 16, 128),
};
static const tare_field fields_q5_k[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),         FIELD("dmin", MIN, F16, 0, 2, 1),
    FIELD("scales", SUBSCALE, U8, 6, 4, 12), FIELD("qh", HIGH, U8, 1, 16, 32),
    FIELD("qs", CODE, U8, 4, 48, 128),
};
static const tare_field fields_q6_k[] = {
    FIELD("ql", CODE, U8, 4, 0, 128),
    FIELD("qh", HIGH, U8, 2, 128, 64),
    FIELD("scales", SUBSCALE, I8, 8, 192, 16),
    FIELD("d", SCALE, F16, 0, 208, 1),
};
static const tare_field fields_q8_k[] = {
    FIELD("d", SCALE, F32, 0, 0, 1),
    FIELD("qs", CODE, I8, 8, 4, 256),
    FIELD("bsums", SUM, I16, 0, 260, 16),
};

static const tare_field fields_iq2_xxs[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("qs", CODE, U16, 0, 2, 32),
};
static const tare_field fields_iq2_xs[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("qs", CODE, U16, 0, 2, 32),
    FIELD("scales", SUBSCALE, U8, 4, 66, 8),
};
static const tare_field fields_iq2_s[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),         FIELD("qs", CODE, U8, 8, 2, 32),
    FIELD("signs", SIGN, U8, 1, 34, 32),     FIELD("qh", HIGH, U8, 2, 66, 8),
    FIELD("scales", SUBSCALE, U8, 4, 74, 8),
};
static const tare_field fields_iq3_xxs[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("qs", CODE, U8, 8, 2, 64),
    FIELD("signs_scales", SIGN, U32, 7, 66, 8),
};
static const tare_field fields_iq3_s[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),          FIELD("qs", CODE, U8, 8, 2, 64),
    FIELD("qh", HIGH, U8, 1, 66, 8),          FIELD("signs", SIGN, U8, 1, 74, 32),
    FIELD("scales", SUBSCALE, U8, 4, 106, 4),
};
static const tare_field fields_iq1_s[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("qs", CODE, U8, 8, 2, 32),
    FIELD("qh", HIGH, U16, 3, 34, 8),
};
static const tare_field fields_iq1_m[] = {
    FIELD("qs", CODE, U8, 8, 0, 32), FIELD("qh", HIGH, U8, 3, 32, 16),
    FIELD("scales", SUBSCALE, U16, 3, 48, 4), /* the four top nibbles together are an f16 scale */
};
static const tare_field fields_iq4_xs[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("scales_h", SUBSCALE, U16, 2, 2, 1),
    FIELD("scales_l", SUBSCALE, U8, 4, 4, 4),
    FIELD("qs", CODE, U8, 4, 8, 128),
};

static const tare_field fields_tq1_0[] = {
    FIELD("qs", CODE, U8, 8, 0, 48), /* five trits a byte */
    FIELD("qh", CODE, U8, 8, 48, 4), /* four trits a byte */
    FIELD("d", SCALE, F16, 0, 52, 1),
};
static const tare_field fields_tq2_0[] = {
    FIELD("qs", CODE, U8, 2, 0, 64),
    FIELD("d", SCALE, F16, 0, 64, 1),
};
static const tare_field fields_mxfp4[] = {
    FIELD("e", SCALE, E8M0, 0, 0, 1),
    FIELD("qs", CODE, U8, 4, 1, 16),
};
static const tare_field fields_nvfp4[] = {
    FIELD("d", SCALE, UE4M3, 0, 0, 4),
    FIELD("qs", CODE, U8, 4, 4, 32),
};
static const tare_field fields_q1_0[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("qs", CODE, U8, 1, 2, 16),
};
static const tare_field fields_q2_0[] = {
    FIELD("d", SCALE, F16, 0, 0, 1),
    FIELD("qs", CODE, U8, 2, 2, 16),
};

/* MCF keeps scales and codes apart. */
#define FIELD_IN(plane, name, role, type, bits, count)                                             \
    { name, plane, TARE_FIELD_##role, TARE_FIELD_##type, bits, 0, count }
static const tare_field fields_q8[] = {
    FIELD_IN(0, "scale", SCALE, F16, 0, 1),
    FIELD_IN(1, "codes", CODE, I8, 8, 32),
};
static const tare_field fields_q4[] = {
    FIELD_IN(0, "scale", SCALE, F16, 0, 1),
    FIELD_IN(1, "codes", CODE, U8, 4, 16),
};
#define SUPER_FIELDS(id, bits)                                                                     \
    static const tare_field fields_##id[] = {                                                      \
        FIELD_IN(0, "super", SCALE, F16, 0, 1),                                                    \
        FIELD_IN(1, "sub", SUBSCALE, U8, 6, 1),                                                    \
        FIELD_IN(2, "codes", CODE, U8, bits, 4 * (bits)),                                          \
    };
SUPER_FIELDS(k6, 6)
SUPER_FIELDS(k4, 4)
SUPER_FIELDS(k3, 3)
SUPER_FIELDS(k2, 2)
static const tare_field fields_int8[] = {
    FIELD_IN(0, "scale", SCALE, F32, 0, 1),
    FIELD_IN(1, "codes", CODE, I8, 8, 1),
};
static const tare_field fields_int4[] = {
    FIELD_IN(0, "scale", SCALE, F32, 0, 1),
    FIELD_IN(1, "codes", CODE, U8, 4, 1),
};
static const tare_field fields_int8_zero[] = {
    FIELD_IN(0, "scale", SCALE, F32, 0, 1),
    FIELD_IN(1, "zero", MIN, F32, 0, 1),
    FIELD_IN(2, "codes", CODE, I8, 8, 1),
};
static const tare_field fields_int4_zero[] = {
    FIELD_IN(0, "scale", SCALE, F32, 0, 1),
    FIELD_IN(1, "zero", MIN, F32, 0, 1),
    FIELD_IN(2, "codes", CODE, U8, 4, 1),
};

/* INFQ has codes first, a scale for each row, and elements that stand for themselves. */
#define OUTLIER_FIELDS                                                                             \
    {"row", 2, TARE_FIELD_POSITION, TARE_FIELD_U32, 0, 0, 1},                                      \
        {"col", 2, TARE_FIELD_POSITION, TARE_FIELD_U16, 0, 4, 1}, {                                \
        "value", 2, TARE_FIELD_VALUE, TARE_FIELD_F16, 0, 6, 1                                      \
    }
static const tare_field fields_int8_rowwise[] = {
    FIELD_IN(0, "codes", CODE, I8, 8, 1), FIELD_IN(1, "scale", SCALE, F16, 0, 1), OUTLIER_FIELDS};
static const tare_field fields_int4_rowwise[] = {
    FIELD_IN(0, "codes", CODE, U8, 4, 1), FIELD_IN(1, "scale", SCALE, F16, 0, 1), OUTLIER_FIELDS};

/* `unit` elements of plane 0 in `bytes` bytes. */
#define ONE_PLANE(plane_name, unit, bytes)                                                         \
    {                                                                                              \
        { plane_name, TARE_PLANE_ELEMENTS, unit, bytes }                                           \
    }

#define PLAIN(ID, name, kind, bytes, field_list)                                                   \
    [TARE_ENCODING_##ID] = {name,                                                                  \
                            TARE_ENCODING_##ID,                                                    \
                            TARE_KIND_##kind,                                                      \
                            1,                                                                     \
                            false,                                                                 \
                            false,                                                                 \
                            1,                                                                     \
                            COUNT(field_list),                                                     \
                            ONE_PLANE("values", 1, bytes),                                         \
                            field_list}

#define PACKED(ID, name, unit, bytes, field_list)                                                  \
    [TARE_ENCODING_##ID] = {name,                                                                  \
                            TARE_ENCODING_##ID,                                                    \
                            TARE_KIND_FLOAT,                                                       \
                            1,                                                                     \
                            false,                                                                 \
                            true,                                                                  \
                            1,                                                                     \
                            COUNT(field_list),                                                     \
                            ONE_PLANE("codes", unit, bytes),                                       \
                            field_list}

#define BLOCK(ID, name, block, bytes, field_list)                                                  \
    [TARE_ENCODING_##ID] = {name,                                                                  \
                            TARE_ENCODING_##ID,                                                    \
                            TARE_KIND_BLOCK,                                                       \
                            block,                                                                 \
                            false,                                                                 \
                            false,                                                                 \
                            1,                                                                     \
                            COUNT(field_list),                                                     \
                            ONE_PLANE("blocks", block, bytes),                                     \
                            field_list}

#define ELEMENTS(name, unit, bytes)                                                                \
    { name, TARE_PLANE_ELEMENTS, unit, bytes }
#define ONCE(name, bytes)                                                                          \
    { name, TARE_PLANE_TENSOR, 1, bytes }
#define EACH_ROW(name, bytes)                                                                      \
    { name, TARE_PLANE_ROW, 1, bytes }
#define LIST(name, bytes)                                                                          \
    { name, TARE_PLANE_LIST, 1, bytes }

/* Planes that lie apart; the last block of a row may be partly filled. */
#define PLANES(ID, name, block, is_packed, n_planes, field_list, ...)                              \
    [TARE_ENCODING_##ID] = {name,          TARE_ENCODING_##ID, TARE_KIND_BLOCK, block,             \
                            true,          is_packed,          n_planes,        COUNT(field_list), \
                            {__VA_ARGS__}, field_list}
/* One field each. */
#define APART(ID, name, block, is_packed, field_list, ...)                                         \
    PLANES(ID, name, block, is_packed, COUNT(field_list), field_list, __VA_ARGS__)
#define SUPER(ID, name, bits, field_list)                                                          \
    APART(ID, name, 256, false, field_list, ELEMENTS("supers", 256, 2), ELEMENTS("subs", 32, 1),   \
          ELEMENTS("codes", 32, 4 * (bits)))

const tare_encoding tare_encoding_table[] = {
    [TARE_ENCODING_UNKNOWN] = {"unknown", TARE_ENCODING_UNKNOWN, TARE_KIND_UNKNOWN, 1, false, false,
                               1, 0, ONE_PLANE("bytes", 1, 1), NULL},
    PLAIN(F64, "f64", FLOAT, 8, fields_f64),
    PLAIN(F32, "f32", FLOAT, 4, fields_f32),
    PLAIN(F16, "f16", FLOAT, 2, fields_f16),
    PLAIN(BF16, "bf16", FLOAT, 2, fields_bf16),
    PLAIN(F8_E4M3, "f8_e4m3", FLOAT, 1, fields_u8),
    PLAIN(F8_E5M2, "f8_e5m2", FLOAT, 1, fields_u8),
    PLAIN(F8_E4M3FNUZ, "f8_e4m3fnuz", FLOAT, 1, fields_u8),
    PLAIN(F8_E5M2FNUZ, "f8_e5m2fnuz", FLOAT, 1, fields_u8),
    PLAIN(F8_E8M0, "f8_e8m0", FLOAT, 1, fields_e8m0),
    PACKED(F6_E2M3, "f6_e2m3", 4, 3, fields_f6),
    PACKED(F6_E3M2, "f6_e3m2", 4, 3, fields_f6),
    PACKED(F4, "f4", 2, 1, fields_f4),
    PLAIN(C64, "c64", COMPLEX, 8, fields_c64),
    PLAIN(BOOL, "bool", INTEGER, 1, fields_u8),
    PLAIN(I8, "i8", INTEGER, 1, fields_i8),
    PLAIN(U8, "u8", INTEGER, 1, fields_u8),
    PLAIN(I16, "i16", INTEGER, 2, fields_i16),
    PLAIN(U16, "u16", INTEGER, 2, fields_u16),
    PLAIN(I32, "i32", INTEGER, 4, fields_u32),
    PLAIN(U32, "u32", INTEGER, 4, fields_u32),
    PLAIN(I64, "i64", INTEGER, 8, fields_u64),
    PLAIN(U64, "u64", INTEGER, 8, fields_u64),
    BLOCK(Q4_0, "q4_0", 32, 18, fields_q4_0),
    BLOCK(Q4_1, "q4_1", 32, 20, fields_q4_1),
    BLOCK(Q5_0, "q5_0", 32, 22, fields_q5_0),
    BLOCK(Q5_1, "q5_1", 32, 24, fields_q5_1),
    BLOCK(Q8_0, "q8_0", 32, 34, fields_q8_0),
    BLOCK(Q8_1, "q8_1", 32, 36, fields_q8_1),
    BLOCK(Q2_K, "q2_k", 256, 84, fields_q2_k),
    BLOCK(Q3_K, "q3_k", 256, 110, fields_q3_k),
    BLOCK(Q4_K, "q4_k", 256, 144, fields_q4_k),
    BLOCK(Q5_K, "q5_k", 256, 176, fields_q5_k),
    BLOCK(Q6_K, "q6_k", 256, 210, fields_q6_k),
    BLOCK(Q8_K, "q8_k", 256, 292, fields_q8_k),
    BLOCK(IQ2_XXS, "iq2_xxs", 256, 66, fields_iq2_xxs),
    BLOCK(IQ2_XS, "iq2_xs", 256, 74, fields_iq2_xs),
    BLOCK(IQ2_S, "iq2_s", 256, 82, fields_iq2_s),
    BLOCK(IQ3_XXS, "iq3_xxs", 256, 98, fields_iq3_xxs),
    BLOCK(IQ3_S, "iq3_s", 256, 110, fields_iq3_s),
    BLOCK(IQ1_S, "iq1_s", 256, 50, fields_iq1_s),
    BLOCK(IQ1_M, "iq1_m", 256, 56, fields_iq1_m),
    BLOCK(IQ4_NL, "iq4_nl", 32, 18, fields_q4_0),
    BLOCK(IQ4_XS, "iq4_xs", 256, 136, fields_iq4_xs),
    BLOCK(TQ1_0, "tq1_0", 256, 54, fields_tq1_0),
    BLOCK(TQ2_0, "tq2_0", 256, 66, fields_tq2_0),
    BLOCK(MXFP4, "mxfp4", 32, 17, fields_mxfp4),
    BLOCK(NVFP4, "nvfp4", 64, 36, fields_nvfp4),
    BLOCK(Q1_0, "q1_0", 128, 18, fields_q1_0),
    BLOCK(Q2_0, "q2_0", 64, 18, fields_q2_0),
    APART(Q8, "q8", 32, false, fields_q8, ELEMENTS("scales", 32, 2), ELEMENTS("codes", 32, 32)),
    APART(Q4, "q4", 32, false, fields_q4, ELEMENTS("scales", 32, 2), ELEMENTS("codes", 32, 16)),
    SUPER(K6, "k6", 6, fields_k6),
    SUPER(K4, "k4", 4, fields_k4),
    SUPER(K3, "k3", 3, fields_k3),
    SUPER(K2, "k2", 2, fields_k2),
    APART(MCF_INT8, "mcf_int8", 1, false, fields_int8, ONCE("scale", 4), ELEMENTS("codes", 1, 1)),
    APART(MCF_INT4, "mcf_int4", 1, true, fields_int4, ONCE("scale", 4), ELEMENTS("codes", 2, 1)),
    APART(MCF_INT8_ZERO, "mcf_int8_zero", 1, false, fields_int8_zero, ONCE("scale", 4),
          ONCE("zero", 4), ELEMENTS("codes", 1, 1)),
    APART(MCF_INT4_ZERO, "mcf_int4_zero", 1, true, fields_int4_zero, ONCE("scale", 4),
          ONCE("zero", 4), ELEMENTS("codes", 2, 1)),
    PLANES(INT8_ROWWISE, "int8_rowwise", 1, false, 3, fields_int8_rowwise, ELEMENTS("codes", 1, 1),
           EACH_ROW("scales", 2), LIST("outliers", TARE_OUTLIER_BYTES)),
    PLANES(INT4_ROWWISE, "int4_rowwise", 1, false, 3, fields_int4_rowwise, ELEMENTS("codes", 2, 1),
           EACH_ROW("scales", 2), LIST("outliers", TARE_OUTLIER_BYTES)),
};

_Static_assert(sizeof tare_encoding_table / sizeof tare_encoding_table[0] == TARE_ENCODING_COUNT,
               "one row for each encoding of the list");

/* In ggml's loops: h is the nibble of a byte, l the byte of a run of 32 (i: of 16). The comments
 * say what the bits of a value's number are, and those of its high bits' number, from bit 0 on. */
static const tare_joined joined[TARE_ENCODING_COUNT][TARE_MAX_JOINED] = {
    /* h iiii: iiii h */
    [TARE_ENCODING_Q5_0] = {{6, 2, 1, 5, {4, 0, 1, 2, 3}}},
    [TARE_ENCODING_Q5_1] = {{8, 4, 1, 5, {4, 0, 1, 2, 3}}},
    /* Two codes a value, l and l + 32. h lllll half: h half lllll. And scales, byte bbb h: h bb b.
     */
    [TARE_ENCODING_Q3_K] = {{32, 0, 2, 7, {0, 2, 3, 4, 5, 6, 1}}, {96, 104, 2, 4, {1, 2, 3, 0}}},
    /* h lllll qq: h qq lllll */
    [TARE_ENCODING_Q5_K] = {{48, 16, 1, 8, {0, 3, 4, 5, 6, 7, 1, 2}}},
    /* h lllll a half: a h lllll half */
    [TARE_ENCODING_Q6_K] = {{0, 128, 2, 8, {1, 2, 3, 4, 5, 6, 0, 7}}},
    /* scales, in order */
    [TARE_ENCODING_IQ4_XS] = {{4, 2, 2, 3, {0, 1, 2}}},
};

const tare_joined *tare_encoding_joined(const tare_encoding *e) {
    return joined[e->id];
}

bool tare_encoding_has_codebook(const tare_encoding *e) {
    static const bool has_codebook[TARE_ENCODING_COUNT] = {
        [TARE_ENCODING_IQ2_XXS] = true, [TARE_ENCODING_IQ2_XS] = true,
        [TARE_ENCODING_IQ2_S] = true,   [TARE_ENCODING_IQ3_XXS] = true,
        [TARE_ENCODING_IQ3_S] = true,   [TARE_ENCODING_IQ1_S] = true,
        [TARE_ENCODING_IQ1_M] = true,   [TARE_ENCODING_IQ4_NL] = true,
        [TARE_ENCODING_IQ4_XS] = true,  [TARE_ENCODING_MXFP4] = true,
        [TARE_ENCODING_NVFP4] = true,
    };
    return has_codebook[e->id];
}
