/* SPDX-License-Identifier: MIT
 *
 * What can be done with encoded rows by their description alone: changing the byte order, and
 * finding scales that are not finite. Also counts NaN and Inf in floats. */
#include "base/arith.h"
#include "encoding/float16.h"
#include "encoding/scalar.h"
#include "encoding/table.h"

uint32_t tare_field_width(uint8_t type) {
    switch ((tare_field_type)type) {
    case TARE_FIELD_U8:
    case TARE_FIELD_I8:
    case TARE_FIELD_E8M0:
    case TARE_FIELD_UE4M3:
        return 1;
    case TARE_FIELD_U16:
    case TARE_FIELD_I16:
    case TARE_FIELD_F16:
    case TARE_FIELD_BF16:
        return 2;
    case TARE_FIELD_U32:
    case TARE_FIELD_F32:
        return 4;
    case TARE_FIELD_U64:
    case TARE_FIELD_F64:
        return 8;
    }
    return 1;
}

/* Units that some rows have in a plane; list planes are not rows. */
static size_t count_units(const tare_encoding *encoding, const tare_plane_info *plane,
                          uint64_t n_rows, uint64_t cols) {
    switch (plane->scope) {
    case TARE_PLANE_ELEMENTS:
        if (encoding->is_bit_packed) return (size_t)tare_ceil_div_u64(n_rows * cols, plane->unit);
        return (size_t)(n_rows * tare_ceil_div_u64(cols, plane->unit));
    case TARE_PLANE_ROW:
        return (size_t)n_rows;
    case TARE_PLANE_TENSOR:
        return 1;
    case TARE_PLANE_LIST:
        break;
    }
    return 0;
}

/* ---- byte order ------------------------------------------------------------------------------ */

void tare_swap_u16_c(uint8_t *bytes, uint64_t n) {
    for (uint64_t i = 0; i < n; i++, bytes += 2)
        tare_store_u16(bytes, tare_load_u16(bytes, true), false);
}

void tare_swap_u32_c(uint8_t *bytes, uint64_t n) {
    for (uint64_t i = 0; i < n; i++, bytes += 4)
        tare_store_u32(bytes, tare_load_u32(bytes, true), false);
}

void tare_swap_u64_c(uint8_t *bytes, uint64_t n) {
    for (uint64_t i = 0; i < n; i++, bytes += 8)
        tare_store_u64(bytes, tare_load_u64(bytes, true), false);
}

static void swap_run(uint8_t *bytes, size_t width, size_t n) {
    const tare_kernels *k = tare_kernels_get();
    if (width == 2)
        k->swap_u16(bytes, n);
    else if (width == 4)
        k->swap_u32(bytes, n);
    else if (width == 8)
        k->swap_u64(bytes, n);
}

static void swap_short_run(uint8_t *bytes, size_t width, size_t n) {
    if (width == 2)
        tare_swap_u16_c(bytes, n);
    else if (width == 4)
        tare_swap_u32_c(bytes, n);
    else if (width == 8)
        tare_swap_u64_c(bytes, n);
}

void tare_swap_rows(const tare_rows_mut *rows, const tare_encoding *encoding) {
    for (uint32_t f = 0; f < encoding->n_fields; f++) {
        const tare_field *field = &encoding->fields[f];
        const tare_plane_info *plane = &encoding->planes[field->plane];
        size_t width = tare_field_width(field->type);
        size_t n_units = count_units(encoding, plane, rows->n_rows, rows->cols);
        uint8_t *bytes = rows->planes[field->plane];
        if (width == 1 || n_units == 0 || !bytes) continue;
        if (width * field->count == plane->unit_bytes) {
            swap_run(bytes, width, n_units * field->count);
            continue;
        }
        for (size_t u = 0; u < n_units; u++)
            swap_short_run(bytes + u * plane->unit_bytes + field->offset, width, field->count);
    }
}

/* ---- NaN and Inf --------------------------------------------------------------------------------
 */

void tare_count_nonfinite_c(tare_nonfinite_counts *sum, const float *src, uint64_t n,
                            uint64_t position) {
    for (uint64_t i = 0; i < n; i++) {
        uint32_t size = tare_get_f32_bits(src, (size_t)i) & ~TARE_F32_SIGN;
        if (size < TARE_F32_INF) continue;
        if (size == TARE_F32_INF) {
            sum->n_inf++;
            sum->first_inf = tare_min_u64(sum->first_inf, position + i);
        } else {
            sum->n_nan++;
            sum->first_nan = tare_min_u64(sum->first_nan, position + i);
        }
    }
}

void tare_count_nonfinite(tare_nonfinite_counts *sum, const float *src, uint64_t n,
                          uint64_t position) {
    tare_kernels_get()->count_nonfinite(sum, src, n, position);
}

/* A factor or offset is out of range when it is NaN or infinite. */
static bool is_scale_overflow(const uint8_t *p, uint8_t type) {
    switch ((tare_field_type)type) {
    case TARE_FIELD_F16:
        return (tare_load_le16(p) & 0x7c00) == 0x7c00;
    case TARE_FIELD_BF16:
        return (tare_load_le16(p) & 0x7f80) == 0x7f80;
    case TARE_FIELD_F32:
        return (tare_load_le32(p) & TARE_F32_INF) == TARE_F32_INF;
    case TARE_FIELD_F64:
        return (tare_load_le64(p) >> 52 & 0x7ff) == 0x7ff;
    case TARE_FIELD_E8M0:
        return *p == 255;
    case TARE_FIELD_UE4M3:
        return (*p & 0x7f) == 0x7f;
    default:
        return false;
    }
}

/* What a plain float becomes when it is too large: infinity, or NaN where the format has none. */
static bool is_value_overflow(const uint8_t *p, tare_encoding_id id) {
    switch (id) {
    case TARE_ENCODING_F16:
        return (tare_load_le16(p) & 0x7fff) == 0x7c00;
    case TARE_ENCODING_BF16:
        return (tare_load_le16(p) & 0x7fff) == 0x7f80;
    case TARE_ENCODING_F32:
        return (tare_load_le32(p) & ~TARE_F32_SIGN) == TARE_F32_INF;
    case TARE_ENCODING_F64:
        return tare_load_le64(p) << 1 == UINT64_C(0x7ff) << 53;
    case TARE_ENCODING_F8_E4M3:
        return (*p & 0x7f) == 0x7f;
    case TARE_ENCODING_F8_E5M2:
        return (*p & 0x7f) == 0x7c;
    case TARE_ENCODING_F8_E4M3FNUZ:
    case TARE_ENCODING_F8_E5M2FNUZ:
        return *p == 0x80;
    default:
        return false;
    }
}

static void note_overflow(tare_nonfinite_counts *sum, uint64_t position) {
    sum->n_overflow++;
    sum->first_overflow = tare_min_u64(sum->first_overflow, position);
}

/* Whether one of n numbers has all bits of the mask: a loop that compilers vectorise. */
static bool has_u16_with(const uint8_t *p, size_t n, uint16_t mask) {
    unsigned found = 0;
    for (size_t i = 0; i < n; i++) found |= (tare_load_le16(p + 2 * i) & mask) == mask;
    return found != 0;
}
static bool has_u32_with(const uint8_t *p, size_t n, uint32_t mask) {
    unsigned found = 0;
    for (size_t i = 0; i < n; i++) found |= (tare_load_le32(p + 4 * i) & mask) == mask;
    return found != 0;
}

/* A first look at a run of values; false: no overflow among them. */
static bool may_overflow(const uint8_t *p, size_t n, tare_encoding_id id) {
    if (id == TARE_ENCODING_F16) return has_u16_with(p, n, 0x7c00);
    if (id == TARE_ENCODING_BF16) return has_u16_with(p, n, 0x7f80);
    if (id == TARE_ENCODING_F32) return has_u32_with(p, n, TARE_F32_INF);
    return true;
}

static void count_values(tare_nonfinite_counts *sum, const tare_encoding *encoding,
                         const tare_rows *rows, uint64_t position) {
    enum { RUN = 512 };
    size_t n = tare_rows_count(rows), width = encoding->planes[0].unit_bytes;
    if (encoding->is_bit_packed) return; /* none of these can show an overflow */
    for (size_t at = 0; at < n; at += RUN) {
        size_t end = n - at < RUN ? n : at + RUN;
        if (!may_overflow(rows->planes[0] + at * width, end - at, encoding->id)) continue;
        for (size_t i = at; i < end; i++) {
            if (is_value_overflow(rows->planes[0] + i * width, encoding->id))
                note_overflow(sum, position + i);
        }
    }
}

/* Element that unit u of a plane begins with, counted from the first row. */
static uint64_t first_element(const tare_plane_info *plane, size_t u, uint64_t cols) {
    if (plane->scope == TARE_PLANE_ROW) return u * cols;
    if (plane->scope == TARE_PLANE_TENSOR || cols == 0) return 0;
    uint64_t units_per_row = tare_ceil_div_u64(cols, plane->unit);
    return u / units_per_row * cols + u % units_per_row * plane->unit;
}

static void count_scales(tare_nonfinite_counts *sum, const tare_encoding *encoding,
                         const tare_field *field, const tare_rows *rows, uint64_t position) {
    const tare_plane_info *plane = &encoding->planes[field->plane];
    size_t n_units = count_units(encoding, plane, rows->n_rows, rows->cols);
    size_t width = tare_field_width(field->type);
    for (size_t u = 0; u < n_units; u++) {
        const uint8_t *p = rows->planes[field->plane] + u * plane->unit_bytes + field->offset;
        for (uint32_t i = 0; i < field->count; i++) {
            if (is_scale_overflow(p + i * width, field->type))
                note_overflow(sum, position + first_element(plane, u, rows->cols));
        }
    }
}

void tare_count_overflow(tare_nonfinite_counts *sum, const tare_encoding *encoding,
                         const tare_rows *rows, uint64_t position) {
    if (encoding->kind == TARE_KIND_FLOAT) {
        count_values(sum, encoding, rows, position);
        return;
    }
    for (uint32_t f = 0; f < encoding->n_fields; f++) {
        const tare_field *field = &encoding->fields[f];
        if (field->role == TARE_FIELD_SCALE || field->role == TARE_FIELD_MIN)
            count_scales(sum, encoding, field, rows, position);
    }
}

float tare_saturates_at(const tare_encoding *encoding) {
    switch (encoding->id) {
    case TARE_ENCODING_F4:
        return 6.0F;
    case TARE_ENCODING_NVFP4:
        return 6.0F * 448.0F; /* with the largest scale of a block */
    default:
        return 0;
    }
}
