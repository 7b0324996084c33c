/* SPDX-License-Identifier: MIT
 *
 * Packing a model: its tensors, then its files or its metadata and resources become layers of a
 * draft, which is written. */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "format/wcodec/wcodec_derived.h"
#include "format/wcodec/wcodec_draft.h"
#include "format/wcodec/wcodec_part.h"
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

/* The layer that holds the bytes of a tensor, and how deep it is derived itself. */
static size_t stored_as(const packing *p, size_t tensor) {
    return p->job->duplicates[tensor];
}
static unsigned depth_of(const packing *p, size_t tensor) {
    const tare_wcodec_derivation *d = &p->draft.index.layers[stored_as(p, tensor)].derived;
    return d->is_set ? d->depth : 0;
}
static unsigned depth_beyond(const packing *p, const tare_pack_derivation *how) {
    unsigned deepest = how->pieces ? 0 : depth_of(p, how->source);
    for (size_t k = 0; how->pieces && k < how->pieces->n_pieces; k++) {
        const uint32_t source = how->pieces->pieces[k].source;
        const unsigned depth = source == TARE_PIECE_ZEROS ? 0 : depth_of(p, source);
        if (depth > deepest) deepest = depth;
    }
    return deepest + 1;
}
static int by_name(const void *name, const void *origin) {
    return tare_str_compare(*(const tare_str *)name, ((const tare_packed_origin *)origin)->name);
}

/* The file that has the rows of importance of a derivation; NULL: it is not packed. */
static const tare_packed_origin *importance_origin(const packing *p,
                                                   const tare_pack_derivation *how) {
    const tare_pack_job *job = p->job;
    const tare_packed_origin *found =
        job->n_files
            ? bsearch(&how->importance_file, job->files, job->n_files, sizeof *job->files, by_name)
            : NULL;
    if (found && !found->reader && found->content != SIZE_MAX) found = &job->files[found->content];
    return found && found->reader ? found : NULL;
}

static bool is_derived(const packing *p, size_t i) {
    enum { DEEPEST = 2 };
    const tare_pack_derivation *all = p->job->derivations;
    return all && all[i].is_set && (!all[i].importance || importance_origin(p, &all[i])) &&
           depth_beyond(p, &all[i]) <= DEEPEST;
}

static const tare_encoding *type_of_tensor(const void *ctx, uint32_t tensor) {
    return ((const tare_model *)ctx)->catalog.tensors[tensor].encoding;
}

static tare_status read_tensor(uint8_t *out, const void *ctx, const tare_composition *of,
                               uint32_t tensor, uint64_t first, uint64_t n, tare_error *err) {
    const uint32_t width = type_of_tensor(ctx, tensor)->planes[0].unit_bytes;
    (void)of;
    return tare_tensor_read(out, ctx, tensor, 0, first * width, (size_t)(n * width), err);
}

/* The numbers of pieces, read from the input; *layers: the same pieces of layers. */
static tare_status compose(const tare_reader **numbers, const tare_composition **layers, packing *p,
                           const tare_composition *of, uint64_t n_elements, tare_error *err) {
    tare_arena *arena = &p->draft.arena;
    tare_wcodec_composed *c = TARE_NEW(arena, tare_wcodec_composed);
    tare_composition *stored = TARE_NEW(arena, tare_composition);
    tare_piece *pieces = TARE_NEW_ARRAY(arena, tare_piece, of->n_pieces);
    if (!c || !stored || !pieces) return tare_fail(err, TARE_ERR_NOMEM, "derived tensor");
    for (size_t k = 0; k < of->n_pieces; k++) {
        pieces[k] = of->pieces[k];
        if (pieces[k].source != TARE_PIECE_ZEROS)
            pieces[k].source = (uint32_t)stored_as(p, pieces[k].source);
    }
    *stored = (tare_composition){pieces, of->n_pieces, of->encoding};
    *c = (tare_wcodec_composed){
        .of = of, .from = {arena->allocator, p->job->model, type_of_tensor, read_tensor}};
    tare_wcodec_composed_open(c, n_elements, "derived tensor");
    *layers = stored;
    *numbers = &c->reader;
    return TARE_OK;
}

/* The bytes that a derived tensor is compared with, which are made of the input's as a reader makes them
 * of the layer's. */
static tare_status derive(tare_wcodec_base_tensor *out, packing *p, size_t i, tare_error *err) {
    const tare_pack_derivation *how = &p->job->derivations[i];
    const tare_model *m = p->job->model;
    const tare_tensor *t = &m->catalog.tensors[i], *from = &m->catalog.tensors[how->source];
    tare_wcodec_derived *d = TARE_NEW(&p->draft.arena, tare_wcodec_derived);
    tare_wcodec_derivation record = {.is_set = true,
                                     .quality = how->quality,
                                     .version = how->compat == TARE_COMPAT_GGML_0_21
                                                    ? TARE_WCODEC_OLDER_ENCODERS
                                                    : TARE_WCODEC_ENCODERS,
                                     .depth = (uint8_t)depth_beyond(p, how)};
    if (!d) return tare_fail(err, TARE_ERR_NOMEM, "derived tensor");
    const tare_reader *importance = NULL;
    if (how->importance) {
        importance = importance_origin(p, how)->reader;
        record.divisors = how->divisors;
        record.n_divisors = how->n_importance / t->cols;
    }
    *d = (tare_wcodec_derived){.allocator = p->draft.arena.allocator,
                               .from = how->pieces ? how->pieces->encoding : from->encoding,
                               .to = t->encoding,
                               .n_elements = t->n_elements,
                               .cols = t->cols,
                               .slice_rows = how->slice_rows,
                               .importance = importance,
                               .importance_start = how->importance_at,
                               .divisors = how->divisors,
                               .quality = (tare_quality)how->quality,
                               .compat = (tare_compat)how->compat};
    if (how->pieces) {
        TARE_TRY(compose(&d->source, &record.pieces, p, how->pieces, t->n_elements, err));
    } else {
        d->source = &m->files[from->planes[0].file].reader;
        d->start = from->planes[0].offset;
        record.source = (uint32_t)stored_as(p, how->source);
    }
    tare_wcodec_derived_open(d, "derived tensor");
    *out = (tare_wcodec_base_tensor){.source = {.readers = {&d->reader}}, .derived = record};
    return TARE_OK;
}

static tare_status add_tensor(packing *p, size_t i, tare_error *err) {
    const tare_model *m = p->job->model;
    const tare_tensor *t = &m->catalog.tensors[i];
    const tare_pack_reference *like = &p->job->references[i];
    const tare_wc_source source = source_of(m, t);
    tare_wcodec_base_tensor base_tensor = {0};
    if (like->tensor)
        base_tensor = (tare_wcodec_base_tensor){.base = like->base,
                                                .source = source_of(like->model, like->tensor)};
    const int64_t duplicate = duplicate_of(p->job, i);
    const bool has_derivation = duplicate < 0 && is_derived(p, i);
    if (has_derivation) TARE_TRY(derive(&base_tensor, p, i, err));
    if (p->job->codes) {
        p->draft.effort.trellis = p->job->codes[i].trellis;
        p->draft.effort.has_wide_codes = p->job->codes[i].is_wide;
    }
    return tare_wcodec_draft_tensor(&p->draft, t, &source, tare_model_is_big_endian(m), duplicate,
                                    like->tensor || has_derivation ? &base_tensor : NULL, err);
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

/* ---- importance ------------------------------------------------------------------------------ */

/* The layer that has n bytes of a file from byte `at` on, which becomes that of the layer. */
static tare_status find_bytes(uint32_t *layer, uint64_t *at, const tare_packed_file *f, uint64_t n,
                              tare_error *err) {
    for (uint32_t i = 0; i < f->n_ranges; i++) {
        const tare_packed_range *r = &f->ranges[i];
        if (*at < r->length && n <= r->length - *at) {
            *layer = r->layer;
            *at += r->offset;
            return TARE_OK;
        }
        if (*at < r->length) break;
        *at -= r->length;
    }
    tare_fail(
        err, TARE_ERR_UNSUPPORTED,
        "an importance matrix that tensors are made with is stored in pieces, as a model's file");
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, f->name);
    return TARE_ERR_UNSUPPORTED;
}

/* Derivations were laid out before the files that their importance lies in. */
static tare_status place_importance(packing *p, tare_error *err) {
    const tare_pack_job *job = p->job;
    tare_wcodec_index *x = &p->draft.index;
    for (size_t i = 0; i < job->model->catalog.n_tensors; i++) {
        const tare_pack_derivation *how = &job->derivations[i];
        tare_wcodec_derivation *d = &x->layers[i].derived;
        uint32_t layer = 0;
        if (!d->is_set || !how->importance) continue;
        d->importance_offset = how->importance_at;
        TARE_TRY(find_bytes(&layer, &d->importance_offset,
                            &x->files[importance_origin(p, how) - job->files],
                            how->n_importance * sizeof(float), err));
        d->importance = layer + 1;
    }
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
    if (job->share.of.count)
        return tare_wcodec_part_write(&p->draft, &target, end, &job->digest, size, err);
    TARE_TRY(job->digest.finish(job->digest.ctx, p->draft.index.digest, err));
    return tare_wcodec_draft_write_index(&p->draft, &target, end, size, err);
}

static tare_status pack(tare_pack_outcome *out, packing *p, tare_error *err) {
    p->draft.bases = p->job->bases;
    p->draft.n_bases = p->job->n_bases;
    p->draft.shares_headers = p->job->derivations != NULL;
    p->draft.share = p->job->share;
    p->draft.tensors_at = p->job->share.others;
    TARE_TRY(add_tensors(p, err));
    TARE_TRY(add_others(p, err));
    if (p->job->derivations) TARE_TRY(place_importance(p, err));
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
    TARE_REQUIRE(!job->share.of.count || (!job->n_bases && !job->derivations && !job->codes), err);
    TARE_REQUIRE(!log2 || (log2 >= TARE_WC_MIN_LOG2 && log2 <= TARE_WC_MAX_LOG2), err);
    tare_wcodec_draft_init(&p.draft, &effort, job->arena->allocator);
    tare_status status = pack(out, &p, err);
    tare_wcodec_draft_free(&p.draft);
    return status;
}

tare_status tare_packed_check_tiles(const tare_tile_limits *limits, tare_error *err) {
    return tare_wc_limits_check(limits, err);
}
