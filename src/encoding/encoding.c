/* SPDX-License-Identifier: MIT
 *
 * Queries about an encoding itself: by id, by name, its sizes. */
#include "base/arith.h"
#include "base/status.h"
#include "encoding/slab.h"
#include "encoding/table.h"

typedef struct alias {
    const char *name; /* lower case */
    tare_encoding_id id;
} alias;

/* What PyTorch, NumPy, JAX and safetensors call the formats, where it is not our name. */
static const alias aliases[] = {
    {"double", TARE_ENCODING_F64},
    {"float64", TARE_ENCODING_F64},
    {"fp64", TARE_ENCODING_F64},
    {"float", TARE_ENCODING_F32},
    {"float32", TARE_ENCODING_F32},
    {"fp32", TARE_ENCODING_F32},
    {"float16", TARE_ENCODING_F16},
    {"fp16", TARE_ENCODING_F16},
    {"half", TARE_ENCODING_F16},
    {"bfloat16", TARE_ENCODING_BF16},
    {"float8_e4m3fn", TARE_ENCODING_F8_E4M3},
    {"f8_e4m3fn", TARE_ENCODING_F8_E4M3},
    {"fp8_e4m3", TARE_ENCODING_F8_E4M3},
    {"float8_e5m2", TARE_ENCODING_F8_E5M2},
    {"fp8_e5m2", TARE_ENCODING_F8_E5M2},
    {"float8_e4m3fnuz", TARE_ENCODING_F8_E4M3FNUZ},
    {"fp8_e4m3fnuz", TARE_ENCODING_F8_E4M3FNUZ},
    {"float8_e5m2fnuz", TARE_ENCODING_F8_E5M2FNUZ},
    {"fp8_e5m2fnuz", TARE_ENCODING_F8_E5M2FNUZ},
    {"float8_e8m0fnu", TARE_ENCODING_F8_E8M0},
    {"e8m0", TARE_ENCODING_F8_E8M0},
    {"float6_e2m3fn", TARE_ENCODING_F6_E2M3},
    {"float6_e3m2fn", TARE_ENCODING_F6_E3M2},
    {"f4_e2m1", TARE_ENCODING_F4},
    {"fp4", TARE_ENCODING_F4},
    {"float4_e2m1fn", TARE_ENCODING_F4},
    {"float4_e2m1fn_x2", TARE_ENCODING_F4},
    {"complex64", TARE_ENCODING_C64},
    {"boolean", TARE_ENCODING_BOOL},
    {"int8", TARE_ENCODING_I8},
    {"uint8", TARE_ENCODING_U8},
    {"int16", TARE_ENCODING_I16},
    {"uint16", TARE_ENCODING_U16},
    {"int32", TARE_ENCODING_I32},
    {"uint32", TARE_ENCODING_U32},
    {"int64", TARE_ENCODING_I64},
    {"uint64", TARE_ENCODING_U64},
};

const tare_encoding *tare_encoding_get(tare_encoding_id id) {
    return (unsigned)id < TARE_ENCODING_COUNT ? &tare_encoding_table[id] : NULL;
}

static bool is_same_name(tare_str name, const char *lower) {
    size_t i = 0;
    for (; i < name.len && lower[i] != '\0'; i++) {
        char c = name.ptr[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
        if (c != lower[i]) return false;
    }
    return i == name.len && lower[i] == '\0';
}

const tare_encoding *tare_encoding_find(tare_str name) {
    for (size_t i = 0; i < TARE_ENCODING_COUNT; i++) {
        if (is_same_name(name, tare_encoding_table[i].name)) return &tare_encoding_table[i];
    }
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (is_same_name(name, aliases[i].name)) return &tare_encoding_table[aliases[i].id];
    }
    return NULL;
}

double tare_encoding_bits(const tare_encoding *encoding) {
    double bits = 0;
    if (encoding->kind == TARE_KIND_UNKNOWN) return 0;
    for (uint32_t p = 0; p < encoding->n_planes; p++) {
        const tare_plane_info *plane = &encoding->planes[p];
        if (plane->scope == TARE_PLANE_ELEMENTS) bits += 8.0 * plane->unit_bytes / plane->unit;
    }
    return bits;
}

bool tare_encoding_fills_bytes(const tare_encoding *encoding, uint64_t n_elements) {
    return !encoding->is_bit_packed || encoding->is_edge_padded ||
           n_elements % tare_encoding_step(encoding) == 0;
}

static bool plane_size(uint64_t *out, const tare_encoding *encoding, const tare_plane_info *plane,
                       uint64_t rows, uint64_t cols) {
    switch (plane->scope) {
    case TARE_PLANE_ELEMENTS:
        if (encoding->is_bit_packed) {
            /* Units run on across rows; only the last may be partly filled. */
            return tare_mul_u64(rows, cols, out) &&
                   tare_mul_u64(tare_ceil_div_u64(*out, plane->unit), plane->unit_bytes, out);
        }
        return tare_mul_u64(rows, tare_ceil_div_u64(cols, plane->unit), out) &&
               tare_mul_u64(*out, plane->unit_bytes, out);
    case TARE_PLANE_ROW:
        return tare_mul_u64(rows, plane->unit_bytes, out);
    case TARE_PLANE_TENSOR:
        *out = plane->unit_bytes;
        return true;
    case TARE_PLANE_LIST:
        break;
    }
    *out = 0;
    return true;
}

tare_status tare_encoding_sizes(uint64_t *plane_bytes, const tare_encoding *encoding,
                                const uint64_t *dims, uint32_t n_dims, tare_error *err) {
    TARE_REQUIRE(plane_bytes && encoding && (dims || n_dims == 0), err);
    if (encoding->kind == TARE_KIND_UNKNOWN)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "type: unknown, and so is its size");
    uint64_t rows = 1, cols = n_dims > 0 ? dims[n_dims - 1] : 1, elements;
    for (uint32_t d = 0; d + 1 < n_dims; d++) {
        if (!tare_mul_u64(rows, dims[d], &rows))
            return tare_fail(err, TARE_ERR_LIMIT, "dimensions overflow");
    }
    if (!tare_mul_u64(rows, cols, &elements))
        return tare_fail(err, TARE_ERR_LIMIT, "dimensions overflow");
    if (!encoding->is_edge_padded && cols % encoding->block != 0)
        return tare_fail(err, TARE_ERR_CORRUPT, "row is not a whole number of blocks");
    if (!tare_encoding_fills_bytes(encoding, elements))
        return tare_fail(err, TARE_ERR_CORRUPT, "packed elements do not fill whole bytes");
    for (uint32_t p = 0; p < encoding->n_planes; p++) {
        if (!plane_size(&plane_bytes[p], encoding, &encoding->planes[p], rows, cols))
            return tare_fail(err, TARE_ERR_LIMIT, "tensor size overflows");
    }
    return TARE_OK;
}
