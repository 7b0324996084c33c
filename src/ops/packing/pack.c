/* SPDX-License-Identifier: MIT
 *
 * tare pack: the files of a model in one .wcodec. Tensors are read from where they lie in the
 * files; what else the files hold goes with them, so that they come back byte for byte. */
#include <tare/packing.h>

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "ops/convert/sinks.h"
#include "ops/inspect/digest.h"
#include "ops/item_walk.h"
#include "ops/packing/bases.h"
#include "ops/packing/pack_files.h"
#include "ops/packing/pack_run.h"
#include "ops/replaced.h"

/* What one run needs. */
typedef struct packing {
    const tare_model *in;
    const tare_pack_source *source;
    tare_pack_options options;
    tare_pack_files files;
    tare_wcodec_draft draft;
    tare_digest *digests;
    tare_outset *set;
    tare_steps *steps, own_steps;
    uint64_t write_bytes; /* of all layers */
} packing;

/* ---- progress -------------------------------------------------------------------------------- */

/* Tensors are read for their digests, and then with all else. */
uint64_t tare_pack_work(const tare_catalog *c) {
    return tare_catalog_tensor_bytes(c) + tare_catalog_bytes(c);
}

static void begin_steps(packing *p, uint64_t file_bytes) {
    const tare_catalog *c = &p->in->catalog;
    p->write_bytes = p->source->has_files ? file_bytes : tare_catalog_bytes(c);
    p->own_steps = (tare_steps){.progress = p->options.progress,
                                .ctx = p->options.progress_ctx,
                                .total = tare_catalog_tensor_bytes(c) +
                                         tare_bases_bytes(p->options.bases, p->options.n_bases) +
                                         p->write_bytes,
                                .shown = p->write_bytes};
    p->steps = p->source->steps ? p->source->steps : &p->own_steps;
}

/* The digest of a model, a step. */
static tare_status digest_model(packing *p, tare_digest *tensors, tare_digest *whole,
                                const tare_model *m, tare_error *err) {
    tare_run_options o = TARE_RUN_OPTIONS_INIT;
    TARE_COPY_RUN_OPTIONS(&o, &p->options);
    TARE_COPY_RUN_OPTIONS_STEPS(&o, p->steps);
    TARE_TRY(tare_model_digest(tensors, whole, m, &o, err));
    tare_steps_end(p->steps, tare_catalog_tensor_bytes(&m->catalog));
    return TARE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static tare_status digest_tensors(packing *p, tare_error *err) {
    size_t n = p->in->catalog.n_tensors;
    tare_digest whole;
    p->digests = TARE_NEW_ARRAY(&p->draft.arena, tare_digest, n);
    if (!p->digests) return tare_fail(err, TARE_ERR_NOMEM, "digests");
    for (size_t i = 0; i < n; i++) TARE_TRY(tare_tensor_check_data(p->in, i, err));
    TARE_TRY(digest_model(p, p->digests, &whole, p->in, err));
    if (p->source->opened) TARE_TRY(digest_model(p, NULL, &whole, p->source->opened, err));
    memcpy(p->draft.index.digest, whole.bytes, sizeof whole.bytes);
    return TARE_OK;
}

typedef struct known {
    const tare_digest *digest;
    size_t tensor;
} known;

static int by_digest(const void *a, const void *b) {
    const known *x = a, *y = b;
    int order = memcmp(x->digest->bytes, y->digest->bytes, sizeof x->digest->bytes);
    return order ? order : (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* For each tensor the first one of the same bytes, type and shape, itself where there is none. */
static tare_status find_duplicates(const packing *p, size_t *duplicates, tare_error *err) {
    size_t n = p->in->catalog.n_tensors;
    known *all = tare_alloc(p->options.allocator, n * sizeof *all);
    if (n && !all) return tare_fail(err, TARE_ERR_NOMEM, "digests");
    for (size_t i = 0; i < n; i++) all[i] = (known){&p->digests[i], i};
    if (n) qsort(all, n, sizeof *all, by_digest);
    for (size_t i = 0; i < n; i++) {
        bool is_duplicate =
            i && memcmp(all[i].digest, all[i - 1].digest, sizeof *all[i].digest) == 0;
        duplicates[all[i].tensor] = is_duplicate ? duplicates[all[i - 1].tensor] : all[i].tensor;
    }
    tare_free(p->options.allocator, all, n * sizeof *all);
    return TARE_OK;
}

static tare_wc_source source_of(const tare_model *m, const tare_tensor *t) {
    tare_wc_source s = {0};
    for (uint32_t i = 0; i < t->encoding->n_planes; i++) {
        s.readers[i] = &m->files[t->planes[i].file].reader;
        s.starts[i] = t->planes[i].offset;
    }
    return s;
}

/* The tensor that one may be predicted from; false: there is none. */
static bool find_base_tensor(tare_wcodec_base_tensor *out, const packing *p, const tare_tensor *t) {
    size_t which;
    const tare_tensor *like =
        tare_bases_like(&which, p->options.bases, p->options.n_bases, p->in, t);
    if (like)
        *out = (tare_wcodec_base_tensor){(uint8_t)which, source_of(p->options.bases[which], like)};
    return like != NULL;
}

/* What is known of the bases: their digests, and names for messages. */
static tare_status describe_bases(packing *p, tare_error *err) {
    const tare_pack_options *o = &p->options;
    if (o->n_bases > UINT8_MAX) return tare_fail(err, TARE_ERR_LIMIT, "number of base models");
    p->draft.n_bases = (uint32_t)o->n_bases;
    p->draft.bases = TARE_NEW_ARRAY(&p->draft.arena, tare_wcodec_base, o->n_bases);
    if (!p->draft.bases) return tare_fail(err, TARE_ERR_NOMEM, "base models");
    for (size_t i = 0; i < o->n_bases; i++) {
        const char *hint = o->base_hints ? o->base_hints[i] : NULL;
        tare_digest digest;
        TARE_REQUIRE(!hint || strlen(hint) <= UINT16_MAX, err);
        tare_status status = digest_model(p, NULL, &digest, o->bases[i], err);
        if (status != TARE_OK && hint) tare_error_file(err, hint);
        TARE_TRY(status);
        memcpy(p->draft.bases[i].digest, digest.bytes, sizeof digest.bytes);
        p->draft.bases[i].hint = tare_str_of(hint ? hint : "");
    }
    return TARE_OK;
}

static tare_status add_tensors(packing *p, tare_error *err) {
    const tare_catalog *c = &p->in->catalog;
    bool is_big = tare_model_is_big_endian(p->in);
    size_t *duplicates = TARE_NEW_ARRAY(&p->draft.arena, size_t, c->n_tensors);
    if (!duplicates) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(find_duplicates(p, duplicates, err));
    TARE_TRY(describe_bases(p, err));
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_tensor *t = &c->tensors[i];
        const tare_wc_source source = source_of(p->in, t);
        tare_wcodec_base_tensor base_tensor, other;
        bool has_base_tensor = find_base_tensor(&base_tensor, p, t);
        int64_t duplicate = duplicates[i] < i ? (int64_t)duplicates[i] : -1;
        /* A reader looks for a layer's base by its own name: no duplicates of or among such layers.
         */
        if (duplicate >= 0 &&
            (has_base_tensor || find_base_tensor(&other, p, &c->tensors[duplicate])))
            duplicate = -1;
        tare_status status = tare_wcodec_draft_tensor(&p->draft, t, &source, is_big, duplicate,
                                                      has_base_tensor ? &base_tensor : NULL, err);
        TARE_TRY(tare_walk_blame(status, p->in, i, err));
    }
    p->draft.index.base_quant = tare_wcodec_base_quant(c->tensors, c->n_tensors);
    return TARE_OK;
}

/* ---- what is no tensor ----------------------------------------------------------------------- */

static tare_status add_metadata(packing *p, tare_error *err) {
    const tare_catalog *c = &p->in->catalog;
    tare_buffer text;
    tare_buffer_init(&text, p->options.allocator);
    tare_metadata_all_to_json(&text, c->metadata, c->n_metadata);
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
    const tare_reader *reader = r->bytes ? NULL : &p->in->files[r->file].reader;
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
    const tare_catalog *c = &p->in->catalog;
    if (p->source->has_files)
        return tare_wcodec_draft_files(&p->draft, p->files.files, p->files.n, p->files.is_directory,
                                       err);
    if (c->n_metadata) TARE_TRY(add_metadata(p, err));
    for (size_t i = 0; i < c->n_resources; i++) TARE_TRY(add_resource(p, &c->resources[i], err));
    return TARE_OK;
}

/* ---- the output ------------------------------------------------------------------------------ */

static tare_status put(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n,
                       tare_error *err) {
    const tare_sink *sink = ctx;
    return sink->put(sink->ctx, 0, offset, bytes, n, NULL, err);
}

static tare_status write_file(packing *p, tare_pack_summary *sum, tare_error *err) {
    _Atomic uint64_t hinted = 0;
    tare_file_sink files = {p->set, &hinted};
    tare_sink sink =
        p->source->output ? tare_sink_of_output(p->source->output) : tare_sink_of_files(&files);
    const tare_wc_target target = {put, &sink};
    const tare_run how = {TARE_RUN_THREADS(&p->options),
                          .progress = p->steps->progress ? tare_steps_tell : NULL,
                          .progress_ctx = p->steps};
    TARE_TRY(tare_wcodec_draft_write(&p->draft, &target, &how, &sum->to_bytes, err));
    tare_steps_end(p->steps, p->write_bytes);
    if (p->source->check) TARE_TRY(p->source->check(p->source->check_ctx, p->set, err));
    return p->set ? tare_outset_commit(p->set, err) : TARE_OK;
}

static tare_status begin_output(packing *p, const char *path, tare_error *err) {
    const tare_out_options out = {
        .force = p->options.force, .no_sync = p->options.no_sync, .report = p->options.report};
    uint32_t index;
    if (p->source->output) return TARE_OK;
    for (size_t i = 0; i < p->options.n_bases; i++) {
        if (!tare_replaces_model(path, p->options.bases[i])) continue;
        tare_fail(err, TARE_ERR_ARG, "the output is the base, which it would need");
        tare_error_file(err, path);
        return TARE_ERR_ARG;
    }
    for (size_t i = 0; i < p->files.n; i++) {
        const tare_reader *reader = p->files.files[i].reader;
        if (reader && tare_same_file(path, reader))
            return tare_fail(err, TARE_ERR_ARG, "the output is the input");
    }
    TARE_TRY(tare_outset_new(&p->set, path, &out, p->options.allocator, err));
    return tare_outset_add(p->set, NULL, 0, &index, err);
}

/* ---- what became of it ----------------------------------------------------------------------- */

static void tell_layers(const packing *p, tare_pack_summary *sum) {
    for (uint32_t i = 0; i < p->draft.index.n_layers; i++) {
        const tare_wcodec_layer *l = &p->draft.index.layers[i];
        tare_packed_layer told = {.name = l->name, .is_shared = p->draft.duplicates[i] != i};
        for (unsigned r = 0; r < l->coded.n_regions; r++)
            told.from_bytes += l->coded.region_bytes[r];
        if (l->kind == TARE_WCODEC_TENSOR) told.encoding = tare_encoding_find(l->encoding);
        if (!told.is_shared) told.to_bytes = l->coded.size;
        sum->n_tensors += l->kind == TARE_WCODEC_TENSOR;
        sum->n_shared += told.is_shared;
        sum->n_referring += l->base != 0;
        if (p->options.packed) p->options.packed(p->options.packed_ctx, &told);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool is_used(const packing *p, const tare_wcodec_base *base) {
    const tare_wcodec_index *x = &p->draft.index;
    for (uint32_t i = 0; i < x->n_bases; i++)
        if (memcmp(x->bases[i].digest, base->digest, sizeof base->digest) == 0) return true;
    return false;
}

static void tell_bases(const packing *p) {
    for (uint32_t i = 0; i < p->draft.n_bases; i++) {
        const tare_wcodec_base *b = &p->draft.bases[i];
        const bool is_needed = is_used(p, b);
        if (is_needed && !p->source->has_files) /* else the summary says it */
            tare_report_addf(p->options.report,
                             &TARE_FINDING(INFO, TARE_ERR_ARG, "pack.base-needed"),
                             "what reads the output needs the base \"%.*s\" again",
                             (int)b->hint.len, b->hint.ptr);
        if (is_needed) continue;
        tare_report_addf(p->options.report,
                         &TARE_FINDING(WARNING, TARE_ERR_ARG, "pack.base-unused"),
                         "no tensor is stored as what it differs in from the base \"%.*s\": the "
                         "output does not need it",
                         (int)b->hint.len, b->hint.ptr);
    }
}

static tare_status pack(packing *p, const char *path, tare_pack_summary *sum, tare_error *err) {
    if (p->source->has_files) TARE_TRY(tare_pack_files_open(&p->files, p->in, &p->options, err));
    sum->n_files = p->files.n;
    for (size_t i = 0; i < p->files.n; i++)
        if (p->files.files[i].reader) sum->from_bytes += p->files.files[i].reader->size;
    begin_steps(p, sum->from_bytes);
    TARE_TRY(begin_output(p, path, err));
    TARE_TRY(digest_tensors(p, err));
    TARE_TRY(add_tensors(p, err));
    TARE_TRY(add_others(p, err));
    TARE_TRY(write_file(p, sum, err));
    tell_layers(p, sum);
    tell_bases(p);
    return TARE_OK;
}

tare_status tare_pack_run(tare_pack_summary *out, const char *out_path,
                          const tare_pack_source *source, const tare_pack_options *options,
                          tare_error *err) {
    tare_pack_summary sum = TARE_PACK_SUMMARY_INIT;
    packing p = {.in = source->model, .source = source, .options = *options};
    unsigned log2 = options->log2_segment;
    TARE_REQUIRE(!log2 || (log2 >= TARE_WC_MIN_LOG2 && log2 <= TARE_WC_MAX_LOG2), err);
    TARE_REQUIRE((unsigned)options->mode <= TARE_CODED_STRUCTURED, err);
    const tare_wc_effort effort = {.is_full = options->effort == TARE_EFFORT_FULL,
                                   .mode = options->mode,
                                   .log2_segment = (uint8_t)log2};
    tare_wcodec_draft_init(&p.draft, &effort, options->allocator);
    tare_status status = pack(&p, out_path, &sum, err);
    tare_outset_free(p.set);
    tare_wcodec_draft_free(&p.draft);
    if (source->has_files) tare_pack_list_free(&p.files);
    if (out) tare_result_write(out, &sum, sizeof sum);
    return status;
}

static tare_status pack_to(tare_pack_summary *out, const char *out_path, const tare_output *output,
                           const tare_model *in, const tare_pack_options *options,
                           tare_error *err) {
    tare_pack_options o = TARE_PACK_OPTIONS_INIT;
    if (out) TARE_TRY(tare_result_check(out, err));
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    /* A model that was computed has no files: what it is made of is packed. */
    const tare_pack_source source = {
        .model = in, .has_files = in->catalog.layout || o.directory, .output = output};
    /* Its files are not those of the model alone: some would be lost. */
    if (strcmp(in->format, tare_format_wcodec.name) == 0)
        return tare_fail(err, TARE_ERR_ARG,
                         "the input is packed already: unpack it, or convert it");
    return tare_pack_run(out, out_path, &source, &o, err);
}

tare_status tare_pack(tare_pack_summary *out, const char *out_path, const tare_model *in,
                      const tare_pack_options *options, tare_error *err) {
    TARE_REQUIRE(out_path && in, err);
    return pack_to(out, out_path, NULL, in, options, err);
}

tare_status tare_pack_to(tare_pack_summary *out, const tare_output *output, const tare_model *in,
                         const tare_pack_options *options, tare_error *err) {
    TARE_REQUIRE(output && in, err);
    tare_output own;
    TARE_TRY(tare_output_read(&own, output, err));
    if (own.in_order)
        return tare_fail(err, TARE_ERR_ARG, "a packed model is not written in one go");
    return pack_to(out, NULL, &own, in, options, err);
}
