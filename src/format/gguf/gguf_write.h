/* SPDX-License-Identifier: MIT
 *
 * What the files of the GGUF writer share: gguf_write.c lays out files and shards,
 * gguf_write_keys.c chooses and packs the keys. */
#ifndef TARE_FORMAT_GGUF_GGUF_WRITE_H
#define TARE_FORMAT_GGUF_GGUF_WRITE_H

#include "base/buffer.h"
#include "format/gguf/gguf.h"

/* One key of a file to be: an entry of the catalog, perhaps with another value, or a resource. */
typedef struct tare_gguf_key_out {
    tare_str prefix, key;
    tare_value value;
    bool is_resource;
    size_t resource;
} tare_gguf_key_out;

typedef struct tare_gguf_writer {
    tare_write_plan *plan;
    const tare_catalog *c;
    const tare_write_options *options;
    const tare_layout *kept; /* of a source that is repeated, else NULL */
    const tare_gguf_layout *detail;
    bool is_big_endian;
    uint32_t alignment;
    tare_gguf_key_out
        *keys; /* of the only or first file; split keys, where there are any, are the last */
    size_t n_keys;
    uint64_t keys_size;
    /* The file that is being laid out. */
    tare_buffer run; /* header bytes not yet in an extent */
    uint32_t file;
    uint64_t at; /* where the run begins */
} tare_gguf_writer;

/* Position of general.alignment in a catalog; -1: it is not there. */
int64_t tare_gguf_find_alignment(const tare_catalog *c);
/* A whole number as a value. */
tare_value tare_gguf_number(tare_value_type type, uint64_t n);
/* Fills w->keys and w->keys_size, with room for four keys more. `drops_split`: the keys about an
 * earlier split are left out. */
tare_status tare_gguf_list_keys(tare_gguf_writer *w, bool drops_split, tare_error *err);
/* Bytes a key takes. */
uint64_t tare_gguf_key_size(const tare_gguf_writer *w, const tare_gguf_key_out *k);
/* Puts a key into the header. */
tare_status tare_gguf_write_key(tare_gguf_writer *w, const tare_gguf_key_out *k, tare_error *err);
/* Turns the header bytes so far into an extent. */
tare_status tare_gguf_flush(tare_gguf_writer *w, tare_error *err);

#endif
