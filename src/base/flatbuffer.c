/* SPDX-License-Identifier: MIT
 *
 * FlatBuffers: a table begins with the distance back to its vtable, which has its own size, that of
 * the table, and for each field where it is in the table, all little-endian. What lies elsewhere is an
 * offset from where it is written (flatbuffers' "Internals"). */
#include "base/flatbuffer.h"

#include "base/bytes.h"

enum { OFFSET_BYTES = 4, VTABLE_HEAD = 4 };

static tare_status read_u32(uint32_t *out, tare_small_reads *file, uint64_t at, tare_error *err) {
    uint8_t bytes[4];
    TARE_TRY(tare_small_read(file, at, bytes, sizeof bytes, err));
    *out = tare_load_le32(bytes);
    return TARE_OK;
}

/* Where the offset at `at` leads. */
static tare_status follow(uint64_t *out, tare_small_reads *file, uint64_t at, tare_error *err) {
    uint32_t distance;
    TARE_TRY(read_u32(&distance, file, at, err));
    *out = at + distance;
    if (distance && *out < file->reader->size) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_CORRUPT, at, "flatbuffer: an offset that leads nowhere");
}

static tare_status read_table(tare_flatbuffer_table *out, tare_small_reads *file, uint64_t at,
                              tare_error *err) {
    uint32_t back;
    uint8_t head[VTABLE_HEAD];
    TARE_TRY(read_u32(&back, file, at, err));
    /* the distance is signed, and counted backwards */
    const int64_t vtable = (int64_t)at - (int32_t)back;
    if (vtable < 0 || (uint64_t)vtable >= file->reader->size)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "flatbuffer: a vtable outside the file");
    *out = (tare_flatbuffer_table){.at = at, .vtable = (uint64_t)vtable};
    TARE_TRY(tare_small_read(file, out->vtable, head, sizeof head, err));
    const uint16_t size = tare_load_le16(head);
    if (size < VTABLE_HEAD || size % 2)
        return tare_fail_at(err, TARE_ERR_CORRUPT, out->vtable, "flatbuffer: size of a vtable");
    out->n_fields = (size - VTABLE_HEAD) / 2u;
    return TARE_OK;
}

tare_status tare_flatbuffer_root(tare_flatbuffer_table *out, tare_small_reads *file,
                                 tare_error *err) {
    uint64_t at;
    TARE_TRY(follow(&at, file, 0, err));
    return read_table(out, file, at, err);
}

/* The place of a field; 0: it is absent. */
static tare_status find_field(uint64_t *out, tare_small_reads *file,
                              const tare_flatbuffer_table *table, unsigned field, tare_error *err) {
    uint8_t bytes[2];
    *out = 0;
    if (field >= table->n_fields) return TARE_OK;
    TARE_TRY(
        tare_small_read(file, table->vtable + VTABLE_HEAD + 2 * field, bytes, sizeof bytes, err));
    const uint16_t distance = tare_load_le16(bytes);
    if (distance) *out = table->at + distance;
    return TARE_OK;
}

tare_status tare_flatbuffer_number(uint64_t *out, tare_small_reads *file,
                                   const tare_flatbuffer_table *table, unsigned field,
                                   unsigned size, uint64_t absent, tare_error *err) {
    uint8_t bytes[8] = {0};
    uint64_t at;
    *out = absent;
    TARE_TRY(find_field(&at, file, table, field, err));
    if (!at) return TARE_OK;
    TARE_TRY(tare_small_read(file, at, bytes, size, err));
    *out = tare_load_le64(bytes);
    return TARE_OK;
}

tare_status tare_flatbuffer_vector_of(tare_flatbuffer_vector *out, tare_small_reads *file,
                                      const tare_flatbuffer_table *table, unsigned field,
                                      unsigned size, tare_error *err) {
    uint64_t at;
    uint32_t n;
    *out = (tare_flatbuffer_vector){0, 0};
    TARE_TRY(find_field(&at, file, table, field, err));
    if (!at) return TARE_OK;
    TARE_TRY(follow(&at, file, at, err));
    TARE_TRY(read_u32(&n, file, at, err));
    *out = (tare_flatbuffer_vector){at + OFFSET_BYTES, n};
    if ((uint64_t)n * size <= file->reader->size - out->at) return TARE_OK;
    return tare_fail_at(err, TARE_ERR_TRUNCATED, at,
                        "flatbuffer: a vector beyond the end of the file");
}

tare_status tare_flatbuffer_table_of(tare_flatbuffer_table *out, bool *is_there,
                                     tare_small_reads *file, const tare_flatbuffer_table *table,
                                     unsigned field, tare_error *err) {
    uint64_t at;
    *out = (tare_flatbuffer_table){0, 0, 0};
    TARE_TRY(find_field(&at, file, table, field, err));
    *is_there = at != 0;
    if (!at) return TARE_OK;
    TARE_TRY(follow(&at, file, at, err));
    return read_table(out, file, at, err);
}

tare_status tare_flatbuffer_item(tare_flatbuffer_table *out, tare_small_reads *file,
                                 const tare_flatbuffer_vector *tables, uint64_t i,
                                 tare_error *err) {
    uint64_t at;
    TARE_TRY(follow(&at, file, tables->at + OFFSET_BYTES * i, err));
    return read_table(out, file, at, err);
}
