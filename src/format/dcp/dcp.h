/* SPDX-License-Identifier: MIT
 *
 * What a checkpoint of torch.distributed.checkpoint says of itself: its tensors, and the chunks of
 * them. The form is that of torch/distributed/checkpoint/metadata.py and filesystem.py. */
#ifndef TARE_FORMAT_DCP_DCP_H
#define TARE_FORMAT_DCP_DCP_H

#include "format/hf/hf_folder.h"
#include "format/joined.h"
#include "format/torch/torch.h"

#define TARE_DCP_METADATA ".metadata"
#define TARE_DCP_SUFFIX   ".distcp"

/* Something that a file holds: a chunk of a tensor, or a value of another kind. */
typedef struct tare_dcp_entry {
    tare_str file;           /* within the folder */
    uint64_t offset, length; /* there */
    tare_str name;
    size_t of; /* which of the tensors; TARE_NOT_A_CHUNK: a value */
    uint64_t at[TARE_MAX_DIMS];
    uint64_t record; /* offset of what says so */
} tare_dcp_entry;

/* The chunks of a tensor, in any order. */
typedef struct tare_dcp_boxes {
    size_t n;
    uint64_t sum; /* of the hashes of where they are and how large */
} tare_dcp_boxes;

/* A checkpoint that is being read. */
typedef struct tare_dcp {
    tare_model *m;
    tare_hf_folder *folder;
    tare_report *report;
    tare_map_mode map;
    tare_str text;               /* of .metadata, in the model's arena; ptr NULL: there is none */
    tare_arena scratch;          /* until it is read */
    tare_joined_tensor *tensors; /* of the model's arena: names come first in it */
    size_t n_tensors;
    tare_str *values; /* names of what is listed and no tensor, in .metadata's text */
    size_t n_values;
    tare_dcp_boxes *listed, *stored; /* that each tensor is said to have (of safetensors only their
                                        number), and has */
    tare_hash_key key;
    tare_dcp_entry *entries;
    size_t n_entries;
    tare_joined_chunk *chunks; /* of the catalog's tensors */
    size_t n_chunks_known, chunks_capacity;
} tare_dcp;

/* dcp_findings.c: at a byte of .metadata. */
void tare_dcp_report(const tare_dcp *d, tare_level level, const char *code, tare_item_kind kind,
                     tare_str name, uint64_t offset, const char *text);
/* What of a kind is not read: a finding, and a loss where the model is written. */
tare_status tare_dcp_leave_out(const tare_dcp *d, tare_torch_file *f, const tare_dcp_entry *e,
                               tare_level level, const char *code, const char *why,
                               tare_error *err);
/* dcp_metadata.c: fills the tensors and the entries from the text of .metadata. */
tare_status tare_dcp_read_metadata(tare_dcp *d, tare_torch_file *f, tare_error *err);
void tare_dcp_add_box(tare_dcp_boxes *to, const tare_dcp *d, const uint64_t *at,
                      const uint64_t *dims, size_t n_dims);
/* dcp_chunks.c: the entries become tensors and metadata of the model. */
tare_status tare_dcp_read_entries(tare_dcp *d, tare_torch_file *f, tare_error *err);
/* What tensor i of the catalog is; `i` grows from call to call. False: memory is out. */
bool tare_dcp_note_chunk(tare_dcp *d, size_t i, const tare_joined_chunk *chunk);

/* dcp_safetensors.c: whether a file of the folder has a name of that form. */
bool tare_dcp_is_safetensors(const tare_hf_entry *e);
/* Reads all that have such a name, or the suffix .distcp. */
tare_status tare_dcp_open_safetensors(tare_dcp *d, bool by_suffix, tare_error *err);

#endif
