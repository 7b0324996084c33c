/* SPDX-License-Identifier: MIT
 *
 * FlatBuffers, read field by field in a file of any size: no schema, no allocation. A table's fields
 * are numbered in the order of its schema; one that is absent has its default. Places are proved to
 * be inside the file before they are followed. */
#ifndef TARE_BASE_FLATBUFFER_H
#define TARE_BASE_FLATBUFFER_H

#include "base/small_reads.h"

typedef struct tare_flatbuffer_table {
    uint64_t at;     /* in the file */
    uint64_t vtable; /* the places of its fields */
    uint32_t n_fields;
} tare_flatbuffer_table;

/* Items one after the other: numbers, or offsets of tables and texts. */
typedef struct tare_flatbuffer_vector {
    uint64_t at;
    uint64_t n; /* 0 also where the field is absent */
} tare_flatbuffer_vector;

/* The table that a file is. */
tare_status tare_flatbuffer_root(tare_flatbuffer_table *out, tare_small_reads *file,
                                 tare_error *err);
/* A number of `size` bytes (1, 2, 4 or 8) in a field; `absent` where there is none. */
tare_status tare_flatbuffer_number(uint64_t *out, tare_small_reads *file,
                                   const tare_flatbuffer_table *table, unsigned field,
                                   unsigned size, uint64_t absent, tare_error *err);
/* A vector of items of `size` bytes; a text is one of bytes. All of it lies in the file. */
tare_status tare_flatbuffer_vector_of(tare_flatbuffer_vector *out, tare_small_reads *file,
                                      const tare_flatbuffer_table *table, unsigned field,
                                      unsigned size, tare_error *err);
/* A table in a field; *is_there is false where it is absent. */
tare_status tare_flatbuffer_table_of(tare_flatbuffer_table *out, bool *is_there,
                                     tare_small_reads *file, const tare_flatbuffer_table *table,
                                     unsigned field, tare_error *err);
/* Table i, below n, of a vector of offsets. */
tare_status tare_flatbuffer_item(tare_flatbuffer_table *out, tare_small_reads *file,
                                 const tare_flatbuffer_vector *tables, uint64_t i, tare_error *err);

#endif
