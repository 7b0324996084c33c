/* SPDX-License-Identifier: MIT
 *
 * What the files of the MCF driver share: a header, sections with a directory at the end of the
 * file, tensors in one of them, files of a Hugging Face directory in others (MCF specification
 * version 1; docs/mcf.md for what that leaves open and for our private sections). Reading:
 * mcf_read.c walks header and directory, mcf_tensors.c the tensor index, mcf_quant_info.c and
 * mcf_model_info.c the sections of these names, mcf_blobs.c the private ones. Writing: mcf_write.c
 * lays out; mcf_imitate.c and mcf_go_json.c reproduce what the public packer does differently. */
#ifndef TARE_FORMAT_MCF_MCF_H
#define TARE_FORMAT_MCF_MCF_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "format/format.h"

#define TARE_MCF_HEADER_BYTES  40
#define TARE_MCF_SECTION_BYTES 24
#define TARE_MCF_INDEX_BYTES   48 /* header of the tensor index */
#define TARE_MCF_ENTRY_BYTES   40
#define TARE_MCF_REGION        64 /* what regions of quantized tensors are aligned to */
#define TARE_MCF_ALIGNMENT     64 /* of tensors, unless something else is asked for */

#define TARE_MCF_FLAG_ALIGNED 1u /* FlagTensorDataAligned64, of the file */
#define TARE_MCF_FLAG_SORTED  1u /* of the tensor index */
#define TARE_MCF_FLAG_UTF8    2u

typedef enum tare_mcf_section_type {
    TARE_MCF_MODEL_INFO = 0x0001,
    TARE_MCF_QUANT_INFO = 0x0002,
    TARE_MCF_TENSOR_INDEX = 0x0003,
    TARE_MCF_TENSOR_DATA = 0x0004,
    TARE_MCF_RESOURCES = 0x0100, /* the first of those with a number of their own */
    TARE_MCF_FILES = 0x7A01,     /* ours: other resources */
    TARE_MCF_METADATA = 0x7A02,  /* ours: metadata of other containers */
} tare_mcf_section_type;

/* ---- types and names ------------------------------------------------------------------------- */

extern const tare_format_caps tare_mcf_caps;

/* How a dtype is stored: with a zero point or without. NULL: unknown, or not available in that
 * form. */
const tare_encoding *tare_mcf_encoding_of(uint32_t dtype, bool has_zero);
/* false: MCF has none. */
bool tare_mcf_dtype_of(const tare_encoding *encoding, uint32_t *dtype);
/* int8, int4. */
static inline bool tare_mcf_is_int(uint32_t dtype) {
    return dtype == 0x10 || dtype == 0x11;
}
/* q8 to k2, by the number. */
static inline bool tare_mcf_is_block(uint32_t dtype) {
    return dtype == 0x20 || dtype == 0x21 || (dtype >= 0x30 && dtype <= 0x33);
}
/* Elements of a block and of a super of a quantized dtype, as QuantInfo states them. */
void tare_mcf_block_sizes(uint32_t dtype, uint16_t *block, uint16_t *super);

/* The resource that a section contains ("config.json"); NULL: none. */
const char *tare_mcf_resource_name(uint32_t type);
/* The section of a resource; 0: none of its own. */
uint32_t tare_mcf_resource_type(tare_str name);
/* A section of unknown type is a resource of this name, so that it survives every container. */
size_t tare_mcf_section_name(char *buf, size_t size, uint32_t type, uint32_t version);
/* Whether a section is one that tare reads itself, but for resources. */
bool tare_mcf_is_own(uint32_t type);
/* The reverse; false: no such name, or that of a section that is never carried. */
bool tare_mcf_section_of_name(tare_str name, uint32_t *type, uint32_t *version);

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct tare_mcf_section {
    uint32_t type, version;
    uint64_t offset, size;
    uint64_t at; /* of its record in the directory */
} tare_mcf_section;

/* One record of QuantInfo. */
typedef struct tare_mcf_quant {
    uint64_t at;
    uint32_t tensor;
    uint8_t method, domain;
    uint16_t block, super;
    bool has_reserved; /* bytes that are not zero */
    float min, max;
} tare_mcf_quant;

typedef struct tare_mcf_reader {
    tare_model *m;
    tare_report *report;
    uint32_t file;
    uint64_t file_size;
    uint64_t flags, flags_at;
    tare_mcf_section *sections; /* without later ones of a type */
    size_t n_sections;
    tare_mcf_quant *quants;
    size_t n_quants;
    const tare_mcf_quant **quant_of; /* for each tensor; NULL: none */
    uint64_t *data_places;           /* for each tensor: where its data_off stands */
} tare_mcf_reader;

/* tare_layout.detail */
typedef struct tare_mcf_layout {
    tare_str model_info; /* the section as it was; empty: there is none */
} tare_mcf_layout;

/* mcf_sections.c. NULL: there is none. */
const tare_mcf_section *tare_mcf_find(const tare_mcf_reader *r, uint32_t type);
/* Reads a section, or n bytes of it from byte `from`, into memory that lives as long as the model.
 * LIMIT: exceeds the limit for directories. */
tare_status tare_mcf_load(tare_mcf_reader *r, const tare_mcf_section *s, uint64_t from, uint64_t n,
                          tare_cursor *out, tare_error *err);
/* The same for n bytes of the file, which are there. */
tare_status tare_mcf_load_at(tare_mcf_reader *r, uint64_t offset, uint64_t n, tare_cursor *out,
                             tare_error *err);
/* A finding of level error; tensor -1: none. */
void tare_mcf_report(const tare_mcf_reader *r, tare_level level, const char *code, int64_t tensor,
                     uint64_t offset, const char *text);

/* Fill the catalog. */
tare_status tare_mcf_read_quant_info(tare_mcf_reader *r, tare_error *err);
tare_status tare_mcf_read_tensors(tare_mcf_reader *r, tare_layout *layout, tare_error *err);
/* Checks records against tensors; fills the catalog's bounds. */
tare_status tare_mcf_check_quants(tare_mcf_reader *r, const uint32_t *dtypes, tare_error *err);
/* `as_metadata`: its contents become keys. A section that cannot be read is a finding. */
tare_status tare_mcf_read_model_info(tare_mcf_reader *r, tare_mcf_layout *layout, bool as_metadata,
                                     tare_error *err);
/* Named blobs of a private section become resources; of 0x7A02, metadata. */
tare_status tare_mcf_read_files(tare_mcf_reader *r, const tare_mcf_section *s, tare_error *err);
tare_status tare_mcf_read_metadata(tare_mcf_reader *r, const tare_mcf_section *s, tare_error *err);

/* ---- writing --------------------------------------------------------------------------------- */

/* A section to be. */
typedef struct tare_mcf_part {
    uint32_t type, version;
    uint64_t offset, size;
    const uint8_t *bytes; /* NULL: the resource, or the tensors */
    size_t resource;
} tare_mcf_part;

typedef struct tare_mcf_writer {
    tare_write_plan *plan;
    const tare_catalog *c;
    const tare_write_options *options;
    uint32_t file;
    uint32_t alignment;
    size_t *order;    /* of tensors, by name */
    uint64_t *places; /* for each tensor: where it lies */
    tare_mcf_part *parts;
    size_t n_parts;
    const size_t *files; /* resources without a section of their own */
    size_t n_files;
    const uint64_t *data_at; /* in their section, the head of which is so long: */
    uint64_t files_head;
} tare_mcf_writer;

tare_status tare_mcf_plan(tare_write_plan *out, const tare_catalog *catalog,
                          const tare_write_options *options, tare_error *err);
/* Bytes from the first region of a tensor to the end of the last. */
uint64_t tare_mcf_data_size(const tare_tensor *t);
/* The contents of the sections of these names; an empty buffer: there is nothing to write. */
void tare_mcf_put_quant_info(tare_buffer *out, const tare_mcf_writer *w);
tare_status tare_mcf_put_model_info(tare_buffer *out, const tare_mcf_writer *w, tare_error *err);
/* The head of a section of n named blobs: everything but the data. data_at[i]: where blob i's
 * begins in the section; *size: of the whole section. */
void tare_mcf_put_blobs(tare_buffer *out, const tare_str *names, const uint64_t *sizes, size_t n,
                        uint64_t *data_at, uint64_t *size);

/* tare_format.imitate: resources as the public packer writes them. */
tare_status tare_mcf_imitate(tare_catalog *catalog, const tare_model *source, tare_arena *arena,
                             tare_report *report, tare_error *err);
/* What the public packer makes of tokenizer_config.json and chat_template.jinja, either of which is
 * empty if absent. Nothing is output if the config stays as it is. CORRUPT with the offset in the
 * config: it is not JSON, or not an object. */
tare_status tare_mcf_merge_template(tare_buffer *out, tare_str config, tare_str chat,
                                    tare_arena *arena, tare_error *err);

#endif
