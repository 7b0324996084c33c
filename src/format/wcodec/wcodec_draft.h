/* SPDX-License-Identifier: MIT
 *
 * A .wcodec being assembled: layers are added, then the records that restore the source files,
 * based on where the layers' bytes are in these; then everything is written. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_DRAFT_H
#define TARE_FORMAT_WCODEC_WCODEC_DRAFT_H

#include "format/packed.h"
#include "format/wcodec/wcodec_index.h"
#include "format/wcodec/wcodec_share.h"
#include "wcodec/layer/wc_cut.h"
#include "wcodec/layer/wc_layer_write.h"

/* The location of a layer's region in a source file. */
typedef struct tare_wcodec_span {
    const tare_reader *reader;
    uint64_t offset, size;
    uint32_t layer;
    uint8_t region;
} tare_wcodec_span;

typedef struct tare_wcodec_draft {
    tare_arena arena;
    tare_wc_effort effort;
    tare_wcodec_index index; /* layers, files; digest and the like are the caller's */
    tare_packed_base *bases; /* that layers may refer to, the caller's; records are made of those
                                that some do refer to */
    uint32_t n_bases;
    size_t layers_capacity;
    tare_wc_layer_job *jobs; /* of layers that have data of their own */
    size_t n_jobs, jobs_capacity;
    uint32_t *duplicates; /* for each layer: the one whose data it shares, or itself */
    size_t duplicates_capacity;
    tare_wcodec_span *spans;
    size_t n_spans, spans_capacity;
    bool shares_headers;            /* of files: what an earlier one has is stored there */
    tare_pack_share share;          /* which part is made; set it before layers are added */
    uint64_t others_at, tensors_at; /* in its row: where the next layer of a kind begins */
    bool *is_elsewhere;             /* for each layer: another part has its data */
    size_t elsewhere_capacity;
    tare_wcodec_roots headers;
} tare_wcodec_draft;

/* What a tensor may be predicted from: the same one of a base model, or what an encoder makes of
 * another tensor. */
typedef struct tare_wcodec_base_tensor {
    uint8_t base; /* number of the model among those of the draft */
    tare_wc_source source;
    tare_wcodec_derivation derived; /* is_set: there is no base */
} tare_wcodec_base_tensor;

void tare_wcodec_draft_init(tare_wcodec_draft *draft, const tare_wc_effort *effort,
                            const tare_allocator *allocator);
void tare_wcodec_draft_free(tare_wcodec_draft *draft);

/* Adds a tensor; plane p of its encoding begins at byte starts[p] of readers[p]. `duplicate`: the
 * number of a layer before that has the same bytes, encoding and shape; -1: none. `base_tensor`:
 * what the tensor may be predicted from (then draft->bases are to be filled in, and it cannot have
 * a duplicate); NULL: nothing. Everything pointed to must outlive the draft. */
tare_status tare_wcodec_draft_tensor(tare_wcodec_draft *draft, const tare_tensor *tensor,
                                     const tare_wc_source *source, bool is_big_endian,
                                     int64_t duplicate, const tare_wcodec_base_tensor *base_tensor,
                                     tare_error *err);
/* Adds bytes of another kind: n of them, from byte `offset` of a reader. */
tare_status tare_wcodec_draft_bytes(tare_wcodec_draft *draft, tare_wcodec_kind kind, tare_str name,
                                    const tare_reader *reader, uint64_t offset, uint64_t n,
                                    tare_error *err);
/* Adds a record for each file, and a layer for what no tensor holds of it. */
tare_status tare_wcodec_draft_files(tare_wcodec_draft *draft, const tare_packed_origin *files,
                                    size_t n, bool is_directory, tare_error *err);
/* What the header says of the tensors: 1 8-bit integers, 2 4-bit integers, 0 other or mixed. */
uint8_t tare_wcodec_base_quant(const tare_tensor *tensors, size_t n);

/* Writes the data of layers, with the threads and progress of `how`; their numbers are visited, but
 * for those that have a duplicate before them. *end: of what is written. */
tare_status tare_wcodec_draft_write_layers(tare_wcodec_draft *draft, const tare_wc_target *target,
                                           const tare_context *how, const tare_wc_visitor *visitor,
                                           uint64_t *end, tare_error *err);
/* Then everything else, after draft->index.digest is known. *size: of the file. */
tare_status tare_wcodec_draft_write_index(tare_wcodec_draft *draft, const tare_wc_target *target,
                                          uint64_t end, uint64_t *size, tare_error *err);

#endif
