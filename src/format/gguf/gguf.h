/* SPDX-License-Identifier: MIT
 *
 * What the files of the GGUF driver share. Reading a file: gguf_read.c walks header, keys and
 * tensor records, gguf_value.c takes them apart, gguf_findings.c reports what is unusual about
 * them, gguf_split.c puts shards together. */
#ifndef TARE_FORMAT_GGUF_GGUF_H
#define TARE_FORMAT_GGUF_GGUF_H

#include "format/format.h"
#include "format/gguf/gguf_window.h"

#define TARE_GGUF_ALIGNMENT       32
#define TARE_GGUF_ALIGNMENT_KEY   "general.alignment"
#define TARE_GGUF_SPARE_BYTES     32               /* tare.pad without its bytes: 8 + 8, 4, 4 + 8 */
#define TARE_GGUF_RESOURCE_PREFIX "tare.resource." /* arrays of u8: resources of the model */
#define TARE_GGUF_PAIR_PREFIX     "tare.safetensors." /* strings: keys of that space */

/* tare_layout.detail: what byte-for-byte rewriting needs in addition to the fillers. */
typedef struct tare_gguf_layout {
    uint64_t infos_end; /* of the only file */
    uint64_t file_size;
    size_t n_resources;
    const size_t *resource_places; /* how many keys stand before each resource */
} tare_gguf_layout;

/* One of the keys that make a file a shard. */
typedef struct tare_gguf_split_key {
    bool is_present, is_number;
    uint64_t value;
    int64_t item;    /* index among the file's keys */
    uint64_t offset; /* of the value */
} tare_gguf_split_key;

typedef struct tare_gguf_reader {
    tare_model *m;
    tare_report *report;
    bool is_set; /* several files: faults and findings name theirs */
    size_t metadata_capacity, tensors_capacity, resources_capacity, places_capacity;
    size_t *resource_places;
    /* The file being read. */
    tare_gguf_window w;
    uint32_t file;
    uint32_t version;
    bool is_big_endian;
    uint64_t n_keys, n_tensors;
    tare_str architecture;   /* as far as the keys are read; ptr NULL: not yet */
    uint64_t string_lengths; /* of the strings of the key at hand, or-ed; UINT64_MAX: not known */
    uint32_t alignment;
    size_t first_key, first_tensor, first_resource;
    uint64_t infos_end, data_offset;
    tare_gguf_split_key split_no, split_count, split_tensors;
    tare_filler *fillers;
    size_t n_fillers;
    bool is_joined; /* another GGUF file follows the last tensor */
} tare_gguf_reader;

/* One key and value, and where their parts lie. */
typedef struct tare_gguf_key {
    tare_metadata entry;
    uint64_t type_at, value_at;
    bool is_resource;       /* then only the head of the array has been read */
    uint64_t resource_size; /* the bytes that follow */
} tare_gguf_key;

/* One tensor record. Dimensions in the file's order, the fastest first. */
typedef struct tare_gguf_info {
    tare_str name;
    uint32_t n_dims;
    uint64_t dims[TARE_MAX_DIMS];
    uint32_t type;
    uint64_t relative; /* offset in the data section */
    uint64_t at, n_dims_at, dims_at, type_at, relative_at;
} tare_gguf_info;

/* Parse one record at the cursor; false: a failure is latched. */
bool tare_gguf_take_key(tare_gguf_reader *r, tare_gguf_key *out);
bool tare_gguf_take_info(tare_gguf_reader *r, tare_gguf_info *out);

/* Findings of a record that was read. `i`: its index in the file. */
void tare_gguf_report_key(tare_gguf_reader *r, const tare_gguf_key *key, uint64_t i);
void tare_gguf_report_info(tare_gguf_reader *r, const tare_gguf_info *info, size_t tensor);
/* A finding about the file as a whole; `text` is static. */
void tare_gguf_report_file(tare_gguf_reader *r, tare_level level, const char *code, uint64_t offset,
                           const char *text);
/* The same about a tensor of the model. */
void tare_gguf_report_tensor(tare_gguf_reader *r, tare_level level, tare_status status,
                             const char *code, size_t tensor, uint64_t offset, const char *text);

/* Reads the whole directory of file r->file of the model into its catalog. */
tare_status tare_gguf_read_file(tare_gguf_reader *r, tare_error *err);
/* Reads header and keys only, quietly, to see whether the file is a shard. */
tare_status tare_gguf_peek(tare_gguf_reader *r, tare_error *err);
/* tare_format.open and its directory probe. */
tare_status tare_gguf_open(tare_model *m, const tare_open_context *ctx, tare_error *err);
bool tare_gguf_probe_directory(const tare_probe *p);
bool tare_gguf_is_later_part(tare_str name);
/* tare_format.plan. */
tare_status tare_gguf_plan(tare_write_plan *out, const tare_catalog *catalog,
                           const tare_write_options *options, tare_error *err);

#endif
