/* SPDX-License-Identifier: MIT
 *
 * tare/encoding.h: the number formats. An encoding is a set of planes (where the bits of a tensor
 * lie) and two row functions: rows to f32, rows from f32. Everything here works on memory; no
 * model is needed. All bytes are little-endian, whatever the machine.
 */
#ifndef TARE_ENCODING_H
#define TARE_ENCODING_H

#include <tare/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TARE_MAX_DIMS   8
#define TARE_MAX_PLANES 4

/* Every number format, X(ID, number, "canonical name"). The canonical name is what digests hash
 * and commands print; numbers never change; the list only grows at its end. */
#define TARE_ENCODING_LIST(X)                                                                      \
    X(UNKNOWN, 0, "unknown")                                                                       \
    X(F64, 1, "f64")                                                                               \
    X(F32, 2, "f32")                                                                               \
    X(F16, 3, "f16")                                                                               \
    X(BF16, 4, "bf16")                                                                             \
    X(F8_E4M3, 5, "f8_e4m3")                                                                       \
    X(F8_E5M2, 6, "f8_e5m2")                                                                       \
    X(F8_E4M3FNUZ, 7, "f8_e4m3fnuz")                                                               \
    X(F8_E5M2FNUZ, 8, "f8_e5m2fnuz")                                                               \
    X(F8_E8M0, 9, "f8_e8m0")                                                                       \
    X(F6_E2M3, 10, "f6_e2m3")                                                                      \
    X(F6_E3M2, 11, "f6_e3m2")                                                                      \
    X(F4, 12, "f4")                                                                                \
    X(C64, 13, "c64")                                                                              \
    X(BOOL, 14, "bool")                                                                            \
    X(I8, 15, "i8")                                                                                \
    X(U8, 16, "u8")                                                                                \
    X(I16, 17, "i16")                                                                              \
    X(U16, 18, "u16")                                                                              \
    X(I32, 19, "i32")                                                                              \
    X(U32, 20, "u32")                                                                              \
    X(I64, 21, "i64")                                                                              \
    X(U64, 22, "u64")                                                                              \
    X(Q4_0, 23, "q4_0")                                                                            \
    X(Q4_1, 24, "q4_1")                                                                            \
    X(Q5_0, 25, "q5_0")                                                                            \
    X(Q5_1, 26, "q5_1")                                                                            \
    X(Q8_0, 27, "q8_0")                                                                            \
    X(Q8_1, 28, "q8_1")                                                                            \
    X(Q2_K, 29, "q2_k")                                                                            \
    X(Q3_K, 30, "q3_k")                                                                            \
    X(Q4_K, 31, "q4_k")                                                                            \
    X(Q5_K, 32, "q5_k")                                                                            \
    X(Q6_K, 33, "q6_k")                                                                            \
    X(Q8_K, 34, "q8_k")                                                                            \
    X(IQ2_XXS, 35, "iq2_xxs")                                                                      \
    X(IQ2_XS, 36, "iq2_xs")                                                                        \
    X(IQ2_S, 37, "iq2_s")                                                                          \
    X(IQ3_XXS, 38, "iq3_xxs")                                                                      \
    X(IQ3_S, 39, "iq3_s")                                                                          \
    X(IQ1_S, 40, "iq1_s")                                                                          \
    X(IQ1_M, 41, "iq1_m")                                                                          \
    X(IQ4_NL, 42, "iq4_nl")                                                                        \
    X(IQ4_XS, 43, "iq4_xs")                                                                        \
    X(TQ1_0, 44, "tq1_0")                                                                          \
    X(TQ2_0, 45, "tq2_0")                                                                          \
    X(MXFP4, 46, "mxfp4")                                                                          \
    X(NVFP4, 47, "nvfp4")                                                                          \
    X(Q1_0, 48, "q1_0")                                                                            \
    X(Q2_0, 49, "q2_0")                                                                            \
    X(Q8, 50, "q8")                                                                                \
    X(Q4, 51, "q4")                                                                                \
    X(K6, 52, "k6")                                                                                \
    X(K4, 53, "k4")                                                                                \
    X(K3, 54, "k3")                                                                                \
    X(K2, 55, "k2")                                                                                \
    X(MCF_INT8, 56, "mcf_int8")                                                                    \
    X(MCF_INT4, 57, "mcf_int4")                                                                    \
    X(MCF_INT8_ZERO, 58, "mcf_int8_zero")                                                          \
    X(MCF_INT4_ZERO, 59, "mcf_int4_zero")                                                          \
    X(INT8_ROWWISE, 60, "int8_rowwise")                                                            \
    X(INT4_ROWWISE, 61, "int4_rowwise")

typedef enum tare_encoding_id {
#define TARE_ENCODING_ENUM(id, number, name) TARE_ENCODING_##id = number,
    TARE_ENCODING_LIST(TARE_ENCODING_ENUM)
#undef TARE_ENCODING_ENUM
        TARE_ENCODING_COUNT
} tare_encoding_id;

typedef enum tare_encoding_kind {
    TARE_KIND_UNKNOWN = 0, /* only stored bytes: neither layout nor values are known */
    TARE_KIND_FLOAT = 1,   /* one IEEE-like number an element */
    TARE_KIND_INTEGER = 2, /* whole numbers, BOOL among them */
    TARE_KIND_COMPLEX = 3,
    TARE_KIND_BLOCK = 4, /* quantized: codes and what they are scaled by */
} tare_encoding_kind;

/* What `unit_bytes` of a plane are for: `unit` elements of a row, a row, or the tensor. */
typedef enum tare_plane_scope {
    TARE_PLANE_ELEMENTS = 0, /* ceil(cols / unit) * unit_bytes a row */
    TARE_PLANE_ROW = 1,      /* unit_bytes a row (per-row scales) */
    TARE_PLANE_TENSOR = 2,   /* unit_bytes once (per-tensor scales) */
    TARE_PLANE_LIST = 3, /* records of unit_bytes, their number is the tensor's own (outliers) */
} tare_plane_scope;

typedef struct tare_plane_info {
    const char *name; /* "blocks", "scales", "codes", ... */
    tare_plane_scope scope;
    uint32_t unit; /* elements along the fastest dimension */
    uint32_t unit_bytes;
} tare_plane_info;

typedef enum tare_field_role {
    TARE_FIELD_VALUE = 0,    /* a plain number */
    TARE_FIELD_CODE = 1,     /* quantized codes, whole or their low part */
    TARE_FIELD_HIGH = 2,     /* further bits of codes kept apart */
    TARE_FIELD_SCALE = 3,    /* a factor of the block */
    TARE_FIELD_MIN = 4,      /* an offset of the block */
    TARE_FIELD_SUBSCALE = 5, /* packed integer factors of sub-blocks */
    TARE_FIELD_SIGN = 6,
    TARE_FIELD_SUM = 7,      /* derived: a sum of codes */
    TARE_FIELD_POSITION = 8, /* row or column that a record of a list is about */
} tare_field_role;

typedef enum tare_field_type {
    TARE_FIELD_U8 = 0,
    TARE_FIELD_I8 = 1,
    TARE_FIELD_U16 = 2,
    TARE_FIELD_I16 = 3,
    TARE_FIELD_U32 = 4,
    TARE_FIELD_U64 = 5,
    TARE_FIELD_F16 = 6,
    TARE_FIELD_BF16 = 7,
    TARE_FIELD_F32 = 8,
    TARE_FIELD_F64 = 9,
    TARE_FIELD_E8M0 = 10,  /* 2^(x - 127); 255 is not a number */
    TARE_FIELD_UE4M3 = 11, /* unsigned, bias 7 */
} tare_field_type;

/* One member of a plane's unit: `count` numbers of `type` at byte `offset`. Members in order of
 * offset tile the unit. Byte swapping, the codec and verify all work on them. `bits` is the width of one code inside (0: that of the type). */
typedef struct tare_field {
    const char *name;
    uint8_t plane;
    uint8_t role; /* tare_field_role */
    uint8_t type; /* tare_field_type */
    uint8_t bits;
    uint16_t offset;
    uint16_t count;
} tare_field;

/* One number format. Static, immutable; compare by pointer or id. */
typedef struct tare_encoding {
    const char *name; /* canonical */
    tare_encoding_id id;
    tare_encoding_kind kind;
    uint32_t block;      /* a row is a whole number of blocks unless is_edge_padded */
    bool is_edge_padded; /* the last block of a row may be partly filled (if bit packed: the last
                            unit of the tensor) */
    bool is_bit_packed;  /* units run on across rows (F4, F6): only the whole tensor fills bytes */
    uint8_t n_planes;
    uint8_t n_fields;
    tare_plane_info planes[TARE_MAX_PLANES];
    const tare_field *fields;
} tare_encoding;

/* What a reader of raw bytes has to know about a number. */
typedef enum tare_number_kind {
    TARE_NUMBER_MIXED = 0, /* several kinds side by side: `fields` tell them apart */
    TARE_NUMBER_INTEGER = 1,
    TARE_NUMBER_FLOAT = 2,
    TARE_NUMBER_COMPLEX = 3, /* two floats of half the bits */
    TARE_NUMBER_BOOL = 4,
} tare_number_kind;

typedef struct tare_number {
    tare_number_kind kind;
    uint8_t bits;   /* of one number, which may lie packed: 4, 6, 8, ...; MIXED: 0 */
    bool is_signed; /* two's complement, or a float with a sign; MIXED: false */
} tare_number;

/* The numbers of a member of a unit. */
TARE_API tare_number tare_field_number(const tare_field *field);
/* The numbers that a plane consists of: the elements of a plain encoding, the codes or the scales
 * of one with a plane for each. MIXED for blocks that hold both, for a plane that does not exist, and
 * for UNKNOWN. */
TARE_API tare_number tare_plane_number(const tare_encoding *encoding, uint32_t plane);

/* The encoding of an id; NULL for a number not in the list. O(1). */
TARE_API const tare_encoding *tare_encoding_get(tare_encoding_id id);
/* The encoding of a name in any case, including "fp16", "float32", "half", "bfloat16" and the like;
 * NULL if there is none. */
TARE_API const tare_encoding *tare_encoding_find(tare_str name);
/* Whether rows can be turned into f32, and made from it. */
TARE_API bool tare_encoding_can_decode(const tare_encoding *encoding);
TARE_API bool tare_encoding_can_encode(const tare_encoding *encoding);
/* Whether rows can be made from f32 only with an importance vector. */
TARE_API bool tare_encoding_needs_importance(const tare_encoding *encoding);
/* Bits an element takes, scales included; 0 for UNKNOWN and list planes not counted. */
TARE_API double tare_encoding_bits(const tare_encoding *encoding);

/* Bytes of each plane of a tensor: `dims` outermost first, the row is the last one; n_dims 0 is a
 * single element. List planes count 0. Writes n_planes numbers to plane_bytes.
 * TARE_ERR_CORRUPT: a row is not a whole number of blocks, or the bits fill no whole byte;
 * TARE_ERR_LIMIT: the product does not fit 64 bits; TARE_ERR_UNSUPPORTED: UNKNOWN. */
TARE_API tare_status tare_encoding_sizes(uint64_t *plane_bytes, const tare_encoding *encoding,
                                         const uint64_t *dims, uint32_t n_dims, tare_error *err);

/* Where the planes of some consecutive rows lie. planes[p] points at the first row's part; for
 * TENSOR planes at the only part. */
typedef struct tare_rows {
    const uint8_t *planes[TARE_MAX_PLANES];
    uint64_t n_rows;
    uint64_t cols;
} tare_rows;

typedef struct tare_rows_mut {
    uint8_t *planes[TARE_MAX_PLANES];
    uint64_t n_rows;
    uint64_t cols;
} tare_rows_mut;

typedef enum tare_quality {
    TARE_QUALITY_DEFAULT = 0, /* byte for byte what the format's reference encoder writes */
    TARE_QUALITY_BEST = 1,    /* same format, smaller error, slower */
} tare_quality;

/* Another program whose encoder is reproduced byte for byte where it differs from tare's. */
typedef enum tare_compat {
    TARE_COMPAT_NONE = 0,
    TARE_COMPAT_MANTLE = 1, /* the public implementation of MCF; its types q8, q4, k6, k4, k3, k2 */
    TARE_COMPAT_GGML_0_21 = 2, /* ggml up to 0.21, of before September 2026; its type iq1_m */
} tare_compat;

/* How to encode. */
typedef struct tare_encode_params {
    size_t size;
    const float *importance; /* cols weights, one row for all rows; NULL: none */
    tare_quality quality;
    tare_compat compat; /* plain numbers have only one encoder */
    /* Values are clamped to these bounds before they are encoded; types of MCF only. Types with one
     * scale for the tensor also derive it from them, or else from the rows given.
     * TARE_ERR_ARG if clip_min is not at most clip_max. */
    bool has_clip;
    float clip_min, clip_max;
} tare_encode_params;

TARE_DECLARE_INIT(tare_encode_params)

/* n_rows * cols floats from planes. `dst` need not be aligned. Every bit pattern can be
 * decoded. List planes are ignored: tare_tensor_rows_f32 applies them.
 * TARE_ERR_UNSUPPORTED: this encoding cannot be decoded. */
TARE_API tare_status tare_decode_rows(float *dst, const tare_encoding *encoding,
                                      const tare_rows *src, tare_error *err);
/* The same as numbers of 16 bits, or as floats: `as` is F16, BF16 or F32, `dst` takes n_rows * cols
 * of them in the machine's byte order. Each is the float of tare_decode_rows, rounded to nearest,
 * to even where two are as near. (F64 and integers of more than 24 bits have been rounded to that
 * float before.) A NaN stays one; what is too large for F16 becomes infinite. Numbers that are
 * stored as `as` pass unchanged, NaNs with all their bits. ERR_ARG: another `as`. */
TARE_API tare_status tare_decode_rows_as(void *dst, tare_encoding_id as,
                                         const tare_encoding *encoding, const tare_rows *src,
                                         tare_error *err);
/* Planes from n_rows * cols floats. Writes every byte of the rows' units; list planes stay empty.
 * NaN, Inf and overflow are encoded as the format's reference does; tare_count_nonfinite finds
 * them. `params` NULL: the defaults. TARE_ERR_UNSUPPORTED: this encoding cannot be encoded, or not
 * as `params` ask. */
TARE_API tare_status tare_encode_rows(const tare_rows_mut *dst, const tare_encoding *encoding,
                                      const float *src, const tare_encode_params *params,
                                      tare_error *err);

/* Values that users should know of. `first_*` are element positions, UINT64_MAX: none. */
typedef struct tare_nonfinite_counts {
    uint64_t n_nan, n_inf, n_overflow;
    uint64_t first_nan, first_inf, first_overflow;
} tare_nonfinite_counts;

static inline tare_nonfinite_counts tare_nonfinite_counts_default(void) {
    tare_nonfinite_counts none = {0, 0, 0, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    return none;
}

/* Counts NaN and Inf in n floats whose first one is element `position` of its tensor, and adds
 * them to *sum. */
TARE_API void tare_count_nonfinite(tare_nonfinite_counts *sum, const float *src, uint64_t n,
                                   uint64_t position);
/* Counts scales that are Inf or NaN in encoded rows (with finite input: the scale overflowed), and
 * for plain floats values that are Inf, into n_overflow; `position` as above. */
TARE_API void tare_count_overflow(tare_nonfinite_counts *sum, const tare_encoding *encoding,
                                  const tare_rows *rows, uint64_t position);
/* Turns rows between little- and big-endian order, in place, field by field; planes that are NULL
 * are skipped. */
TARE_API void tare_swap_rows(const tare_rows_mut *rows, const tare_encoding *encoding);

#ifdef __cplusplus
}
#endif
#endif
