/* SPDX-License-Identifier: MIT
 *
 * Packing a model: its tensors, then its files or its metadata and resources become layers of a
 * draft, which is written. */
#include <string.h>

#include "base/str.h"
#include "format/wcodec/wcodec_draft.h"
#include "format/wcodec/wcodec_read.h"
#include "model/lossy_record.h"
#include "model/value.h"
#include "wcodec/wc_structured_encode.h"

typedef struct packing {
    const tare_pack_job *job;
    tare_wcodec_draft draft;
} packing;

/* ---- tensors --------------------------------------------------------------------------------- */

static tare_wc_source source_of(const tare_model *m, const tare_tensor *t) {
    tare_wc_source s = {0};
    for (uint32_t i = 0; i < t->encoding->n_planes; i++) {
        s.readers[i] = &m->files[t->planes[i].file].reader;
        s.starts[i] = t->planes[i].offset;
    }
    return s;
}

/* A reader looks for a layer's base by its own name: no duplicates of or among layers with one. */
static int64_t duplicate_of(const tare_pack_job *job, size_t i) {
    const size_t first = job->duplicates[i];
    const bool is_duplicate =
        first < i && !job->references[i].tensor && !job->references[first].tensor;
    return is_duplicate ? (int64_t)first : -1;
}

static tare_status add_tensor(packing *p, size_t i, tare_error *err) {
    const tare_model *m = p->job->model;
    const tare_tensor *t = &m->catalog.tensors[i];
    const tare_pack_reference *like = &p->job->references[i];
    const tare_wc_source source = source_of(m, t);
    tare_wcodec_base_tensor base_tensor = {0};
    if (like->tensor)
        base_tensor = (tare_wcodec_base_tensor){like->base, source_of(like->model, like->tensor)};
    if (p->job->codes) {
        p->draft.effort.trellis = p->job->codes[i].trellis;
        p->draft.effort.has_wide_codes = p->job->codes[i].is_wide;
    }
    return tare_wcodec_draft_tensor(&p->draft, t, &source, tare_model_is_big_endian(m),
                                    duplicate_of(p->job, i), like->tensor ? &base_tensor : NULL,
                                    err);
}

static tare_status add_tensors(packing *p, tare_error *err) {
    const tare_catalog *c = &p->job->model->catalog;
    for (size_t i = 0; i < c->n_tensors; i++) {
        tare_status status = add_tensor(p, i, err);
        if (status == TARE_OK) continue;
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, c->tensors[i].name);
        return status;
    }
    p->draft.index.base_quant = tare_wcodec_base_quant(c->tensors, c->n_tensors);
    return TARE_OK;
}

/* ---- what is no tensor ----------------------------------------------------------------------- */

/* A record of loss would be taken for that of this file: only packing with loss writes one. */
static tare_status add_metadata(packing *p, tare_error *err) {
    const tare_catalog *c = &p->job->model->catalog;
    tare_buffer text;
    tare_metadata *entries = TARE_NEW_ARRAY(&p->draft.arena, tare_metadata, c->n_metadata);
    size_t n = 0;
    if (!entries) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    for (size_t i = 0; i < c->n_metadata; i++)
        if (p->job->codes || !tare_lossy_is_record(&c->metadata[i])) entries[n++] = c->metadata[i];
    tare_buffer_init(&text, p->draft.arena.allocator);
    tare_metadata_all_to_json(&text, entries, n);
    tare_reader *reader = TARE_NEW(&p->draft.arena, tare_reader);
    tare_str kept = {0};
    tare_status status = tare_buffer_status(&text, err);
    if (status == TARE_OK)
        kept = tare_arena_str(&p->draft.arena, (tare_str){(const char *)text.data, text.size});
    tare_buffer_free(&text);
    if (status != TARE_OK) return status;
    if (!reader || !kept.ptr) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    tare_reader_memory(reader, kept.ptr, kept.len, "metadata");
    return tare_wcodec_draft_bytes(&p->draft, TARE_WCODEC_METADATA, TARE_STR("metadata"), reader, 0,
                                   kept.len, err);
}

static tare_status add_resource(packing *p, const tare_resource_entry *r, tare_error *err) {
    const tare_reader *reader = r->bytes ? NULL : &p->job->model->files[r->file].reader;
    if (r->bytes) {
        tare_reader *memory = TARE_NEW(&p->draft.arena, tare_reader);
        if (!memory) return tare_fail(err, TARE_ERR_NOMEM, "resource");
        tare_reader_memory(memory, r->bytes, r->info.size, "resource");
        reader = memory;
    }
    return tare_wcodec_draft_bytes(&p->draft, TARE_WCODEC_RESOURCE, r->info.name, reader,
                                   r->bytes ? 0 : r->offset, r->info.size, err);
}

static tare_status add_others(packing *p, tare_error *err) {
    const tare_catalog *c = &p->job->model->catalog;
    if (p->job->has_files)
        return tare_wcodec_draft_files(&p->draft, p->job->files, p->job->n_files,
                                       p->job->is_directory, err);
    if (c->n_metadata) TARE_TRY(add_metadata(p, err));
    for (size_t i = 0; i < c->n_resources; i++) TARE_TRY(add_resource(p, &c->resources[i], err));
    return TARE_OK;
}

/* ---- what became of it ----------------------------------------------------------------------- */

static tare_status tell_layers(tare_pack_outcome *out, const packing *p, tare_error *err) {
    const tare_wcodec_index *x = &p->draft.index;
    tare_packed_layer *layers = TARE_NEW_ARRAY(p->job->arena, tare_packed_layer, x->n_layers);
    if (!layers) return tare_fail(err, TARE_ERR_NOMEM, "layers");
    for (uint32_t i = 0; i < x->n_layers; i++) {
        const tare_wcodec_layer *l = &x->layers[i];
        tare_packed_layer *told = &layers[i];
        *told = (tare_packed_layer){.name = tare_arena_str(p->job->arena, l->name),
                                    .is_shared = p->draft.duplicates[i] != i};
        if (!told->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "layers");
        for (unsigned r = 0; r < l->coded.n_regions; r++)
            told->from_bytes += l->coded.region_bytes[r];
        if (l->kind == TARE_WCODEC_TENSOR) told->encoding = tare_encoding_find(l->encoding);
        if (!told->is_shared) told->to_bytes = l->coded.size;
        out->n_referring += l->base != 0;
    }
    out->layers = layers;
    out->n_layers = x->n_layers;
    return TARE_OK;
}

static void tell_bases(tare_pack_outcome *out, const packing *p) {
    const tare_wcodec_index *x = &p->draft.index;
    for (uint32_t i = 0; i < p->job->n_bases; i++)
        for (uint32_t used = 0; used < x->n_bases; used++)
            out->needs_base[i] |= memcmp(x->bases[used].digest, p->job->bases[i].digest,
                                         sizeof x->bases[used].digest) == 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The first layers are the tensors. */
static tare_status visit(void *ctx, size_t layer, tare_error *err) {
    const tare_pack_job *job = ((const packing *)ctx)->job;
    if (layer >= job->model->catalog.n_tensors) return TARE_OK;
    return job->digest.visit(job->digest.ctx, layer, err);
}

static tare_status write_all(packing *p, uint64_t *size, tare_error *err) {
    const tare_pack_job *job = p->job;
    const tare_wc_target target = {job->write, job->write_ctx};
    const tare_wc_visitor visitor = {job->digest.visit ? visit : NULL, p};
    uint64_t end;
    TARE_TRY(tare_wcodec_draft_write_layers(&p->draft, &target, &job->how, &visitor, &end, err));
    TARE_TRY(job->digest.finish(job->digest.ctx, p->draft.index.digest, err));
    return tare_wcodec_draft_write_index(&p->draft, &target, end, size, err);
}

static tare_status pack(tare_pack_outcome *out, packing *p, tare_error *err) {
    p->draft.bases = p->job->bases;
    p->draft.n_bases = p->job->n_bases;
    TARE_TRY(add_tensors(p, err));
    TARE_TRY(add_others(p, err));
    TARE_TRY(write_all(p, &out->size, err));
    tell_bases(out, p);
    return tell_layers(out, p, err);
}

tare_status tare_wcodec_pack(tare_pack_outcome *out, const tare_pack_job *job, tare_error *err) {
    const unsigned log2 = job->log2_segment;
    const tare_wc_effort effort = {.is_full = job->is_full,
                                   .mode = job->mode,
                                   .log2_segment = (uint8_t)log2,
                                   .is_for_gpu = job->is_for_gpu,
                                   .tiles = job->tiles};
    packing p = {.job = job};
    *out = (tare_pack_outcome){.size = 0};
    TARE_REQUIRE(!log2 || (log2 >= TARE_WC_MIN_LOG2 && log2 <= TARE_WC_MAX_LOG2), err);
    tare_wcodec_draft_init(&p.draft, &effort, job->arena->allocator);
    tare_status status = pack(out, &p, err);
    tare_wcodec_draft_free(&p.draft);
    return status;
}

tare_status tare_packed_check_tiles(const tare_tile_limits *limits, tare_error *err) {
    return tare_wc_limits_check(limits, err);
}
