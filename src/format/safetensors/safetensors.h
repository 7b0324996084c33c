/* SPDX-License-Identifier: MIT
 *
 * What the files of the safetensors and Hugging Face drivers share. The format is specified in the
 * README of huggingface/safetensors, "Format". */
#ifndef TARE_FORMAT_SAFETENSORS_SAFETENSORS_H
#define TARE_FORMAT_SAFETENSORS_SAFETENSORS_H

#include "base/buffer.h"
#include "format/format.h"
#include "format/resources.h"

#define TARE_SAFETENSORS_SUFFIX        ".safetensors"
#define TARE_SAFETENSORS_INDEX_SUFFIX  ".safetensors.index.json"
#define TARE_SAFETENSORS_SIZE_BYTES    8         /* of the header's size, which stands before it */
#define TARE_SAFETENSORS_MAX_HEADER    100000000 /* what the format allows */
#define TARE_SAFETENSORS_METADATA      "__metadata__"
#define TARE_SAFETENSORS_FORMAT_KEY    "format" /* transformers refuses a __metadata__ without it */
#define TARE_SAFETENSORS_FORMAT        "pt"
#define TARE_SAFETENSORS_TYPED_KEY     "tare.metadata"  /* MODEL keys, as typed JSON */
#define TARE_SAFETENSORS_RESOURCES_KEY "tare.resources" /* resources, as JSON */

/* ---- number formats -------------------------------------------------------------------------- */

typedef struct tare_safetensors_dtype {
    const char *name;
    tare_encoding_id encoding;
} tare_safetensors_dtype;

/* NULL: the format has no such type. */
const tare_safetensors_dtype *tare_safetensors_dtype_find(tare_str name);
const tare_safetensors_dtype *tare_safetensors_dtype_of(const tare_encoding *encoding);

extern const tare_format_caps tare_safetensors_caps;

/* ---- reading --------------------------------------------------------------------------------- */

/* One file of a model. The names and texts live as long as the model. */
typedef struct tare_safetensors_shard {
    const char *name; /* within its directory; NULL: the source has none */
    uint32_t file;    /* of the model */
    tare_str header;  /* JSON text with its padding, as stored in the file */
    uint64_t data_offset;
    size_t first_tensor, n_tensors; /* of the catalog */
    size_t n_pairs;                 /* of __metadata__ */
    bool has_metadata;              /* the member __metadata__, even if empty or null */
    bool has_pairs;                 /* it is an object, even if empty */
} tare_safetensors_shard;

/* tare_layout.detail of both drivers. */
typedef struct tare_safetensors_layout {
    const tare_files *files; /* while opening */
    tare_safetensors_shard *shards;
    size_t n_shards;
    bool has_copies;        /* a shard has a tensor that is taken from another */
    const char *index_name; /* NULL: there is no index */
    const char *index_path; /* what messages call it */
    tare_str index_text;
    size_t typed_shard, resources_shard; /* where tare.metadata and tare.resources were found and
                                            taken; n_shards: nowhere */
} tare_safetensors_layout;

/* Reads the headers of shards whose `name` and `file` are set and fills the catalog but for
 * resources of a directory; checks every rule of the format. */
tare_status tare_safetensors_load(tare_model *m, tare_safetensors_layout *layout,
                                  const tare_format *format, tare_report *report, tare_error *err);

/* The same of the tensors alone. */
tare_status tare_safetensors_load_tensors(tare_model *m, tare_safetensors_layout *layout,
                                          tare_report *report, tare_error *err);

/* safetensors_header.c: reads one file's header text into shard->header and counts what it holds,
 * which proves it to be JSON of the right form. */
tare_status tare_safetensors_read_header(tare_model *m, tare_safetensors_shard *shard,
                                         tare_error *err);
/* Bytes of a file as a text that lives as long as the model: in place where the file is in memory.
 */
tare_status tare_safetensors_read_text(tare_model *m, const tare_reader *reader, uint64_t offset,
                                       size_t size, tare_str *text, tare_error *err);
/* Fills the shard's part of catalog.tensors. */
tare_status tare_safetensors_read_tensors(tare_model *m, const tare_safetensors_shard *shard,
                                          tare_report *report, tare_error *err);

/* safetensors_metadata.c: fills catalog.metadata from the __metadata__ of all shards, and
 * catalog.resources from the key tare.resources. */
tare_status tare_safetensors_read_metadata(tare_model *m, tare_safetensors_layout *layout,
                                           tare_report *report, tare_error *err);

/* ---- sets of shards -------------------------------------------------------------------------- */

/* Opens the set that layout->index_text describes; `directory` is where its shards lie ("" or
 * ending with a slash). Fills the layout's shards and the catalog. */
tare_status tare_safetensors_open_index(tare_model *m, tare_safetensors_layout *layout,
                                        const char *directory, const tare_format *format,
                                        const tare_open_options *options, tare_error *err);
/* The parts of "model-00001-of-00003.safetensors". */
typedef struct tare_safetensors_shard_name {
    tare_str stem;
    uint32_t number, count;
    int width; /* digits of the numbers */
} tare_safetensors_shard_name;

/* False: it is no member's name. The stem lies in `name`. */
bool tare_safetensors_parse_shard_name(tare_safetensors_shard_name *out, tare_str name);
/* Opens the set of a member without an index, as tare_safetensors_open_index does. */
tare_status tare_safetensors_open_numbered(tare_model *m, tare_safetensors_layout *layout,
                                           const char *directory,
                                           const tare_safetensors_shard_name *name,
                                           const tare_format *format,
                                           const tare_open_options *options, tare_error *err);
/* Makes layout->shards, `n` of them, empty. */
tare_status tare_safetensors_make_shards(tare_model *m, tare_safetensors_layout *layout, size_t n,
                                         tare_error *err);
/* Adds an open reader to the model's files, as that shard; closes it where that fails. */
tare_status tare_safetensors_add_reader(tare_model *m, tare_safetensors_shard *shard,
                                        tare_reader *reader, tare_error *err);
/* Opens shard `i`, of that name in a directory, and adds it to the model's files. */
tare_status tare_safetensors_open_shard(tare_model *m, tare_safetensors_layout *layout, size_t i,
                                        const char *directory, tare_str name, tare_map_mode map,
                                        tare_error *err);
/* The index that a set was opened by; false: none. For the formats whose layout this is. */
bool tare_safetensors_index_file(const char **path, tare_str *text, const tare_model *m);
/* Reads an index, a whole file, into layout->index_text. */
tare_status tare_safetensors_read_index(tare_model *m, tare_safetensors_layout *layout,
                                        const tare_reader *reader, tare_error *err);

/* ---- writing --------------------------------------------------------------------------------- */

#define TARE_SAFETENSORS_MODEL "model" /* stem of the files in a directory */

/* One member of the __metadata__ that is to be written. */
typedef struct tare_safetensors_pair {
    tare_str key, value;
    bool
        is_ours; /* tare.metadata, tare.resources, and "format" behind them: in the first shard only */
} tare_safetensors_pair;

typedef struct tare_safetensors_pairs {
    tare_safetensors_pair *items;
    size_t n;
    bool is_asked_for; /* __metadata__ is written even if there are none */
} tare_safetensors_pairs;

/* Tensors [first, first + n) of the catalog in one file. */
typedef struct tare_safetensors_part {
    const char *name; /* NULL: the output is this file */
    size_t first, n;
    bool is_first; /* of the parts: it holds what is ours of the metadata */
} tare_safetensors_part;

/* A writer at work. */
typedef struct tare_safetensors_writer {
    tare_write_plan *out;
    const tare_catalog *catalog;
    const tare_write_options *options;
    bool with_resources; /* in the header; else they are files */
    tare_safetensors_pairs pairs;
} tare_safetensors_writer;

tare_status tare_safetensors_plan(tare_write_plan *out, const tare_catalog *catalog,
                                  const tare_write_options *options, tare_error *err);
tare_status tare_hf_plan(tare_write_plan *out, const tare_catalog *catalog,
                         const tare_write_options *options, tare_error *err);
/* Plans the file or files of a catalog; a directory of "model..." files where out->is_directory is
 * set or the options ask for shards. */
tare_status tare_safetensors_plan_files(tare_write_plan *out, const tare_catalog *catalog,
                                        const tare_write_options *options, bool with_resources,
                                        tare_error *err);
/* safetensors_parts.c. */
void tare_safetensors_put_number(tare_buffer *out, uint64_t n);
/* "__metadata__":{...}, nothing where no pair is to be written, unless it is asked for. */
void tare_safetensors_put_metadata(tare_buffer *out, const tare_safetensors_pairs *pairs,
                                   bool with_ours);
/* Pads a header (whose first 8 bytes are room for its size) to `size` bytes of text, writes the
 * size and adds it to the file; *data_offset is where its data begins. */
tare_status tare_safetensors_add_header(tare_safetensors_writer *w, uint32_t file,
                                        tare_buffer *header, uint64_t size, uint64_t *data_offset,
                                        tare_error *err);

/* Adds an index of that name. */
tare_status tare_safetensors_plan_index(tare_safetensors_writer *w, const char *name,
                                        const tare_safetensors_part *parts, size_t n,
                                        tare_error *err);
/* Adds a text that is a whole file. */
tare_status tare_safetensors_plan_text(tare_safetensors_writer *w, const char *name, tare_str text,
                                       tare_error *err);

/* safetensors_splice.c: whether the files can be written as they were but for names and values, and
 * doing so. */
bool tare_safetensors_can_splice(const tare_safetensors_writer *w);
tare_status tare_safetensors_splice(tare_safetensors_writer *w, tare_error *err);

#endif
