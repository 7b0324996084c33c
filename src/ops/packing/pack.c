/* SPDX-License-Identifier: MIT
 *
 * Packing: the files of a model in one .wcodec. Tensors are read at their positions in the files;
 * everything else in the files is packed too, so that they can be restored byte for byte. */
#include "ops/packing/pack_run.h"

#include <string.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "format/format.h"
#include "format/packed.h"
#include "ops/digest.h"
#include "ops/output/destination.h"
#include "ops/output/replaced.h"
#include "ops/output/sinks.h"
#include "ops/packing/bases.h"
#include "ops/packing/pack_digests.h"
#include "ops/packing/pack_files.h"

/* What one run needs. */
typedef struct packing {
    const tare_model *in;
    const tare_pack_source *source;
    tare_pack_options options;
    tare_pack_files files;
    tare_arena arena; /* of what is known of tensors and bases */
    tare_pack_digests digests;
    tare_packed_base *bases;
    tare_pack_reference *references;
    tare_pack_outcome outcome;
    tare_outset *set;
    tare_steps *steps, own_steps;
    uint64_t write_bytes; /* of all layers */
} packing;

/* ---- progress -------------------------------------------------------------------------------- */

uint64_t tare_pack_work(const tare_catalog *c) {
    return tare_catalog_bytes(c);
}

/* Bases are read for their digests; those of tensors are made where these are packed. */
static void begin_steps(packing *p, uint64_t file_bytes) {
    const tare_catalog *c = &p->in->catalog;
    p->write_bytes = p->source->has_files ? file_bytes : tare_catalog_bytes(c);
    p->own_steps = (tare_steps){.progress = p->options.context->progress,
                                .ctx = p->options.context->progress_ctx,
                                .total = tare_bases_bytes(p->options.bases, p->options.n_bases) +
                                         p->write_bytes,
                                .shown = p->write_bytes};
    p->steps = p->source->steps ? p->source->steps : &p->own_steps;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static tare_status find_references(packing *p, tare_error *err) {
    const tare_catalog *c = &p->in->catalog;
    p->references = TARE_NEW_ARRAY(&p->arena, tare_pack_reference, c->n_tensors);
    if (!p->references) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < c->n_tensors; i++) {
        size_t which = 0;
        tare_pack_reference *r = &p->references[i];
        *r = (tare_pack_reference){.tensor = NULL};
        TARE_TRY(tare_bases_like(&r->tensor, &which, p->options.bases, p->options.n_bases, p->in,
                                 &c->tensors[i], err));
        if (!r->tensor) continue;
        r->model = p->options.bases[which];
        r->base = (uint8_t)which;
    }
    return TARE_OK;
}

/* Facts about the bases: their digests, and names for messages. */
static tare_status describe_bases(packing *p, tare_error *err) {
    const tare_pack_options *o = &p->options;
    if (o->n_bases > UINT8_MAX) return tare_fail(err, TARE_ERR_LIMIT, "number of base models");
    p->bases = TARE_NEW_ARRAY(&p->arena, tare_packed_base, o->n_bases);
    if (!p->bases) return tare_fail(err, TARE_ERR_NOMEM, "base models");
    for (size_t i = 0; i < o->n_bases; i++) {
        const char *hint = o->base_hints ? o->base_hints[i] : NULL;
        tare_digest digest;
        TARE_REQUIRE(!hint || strlen(hint) <= UINT16_MAX, err);
        tare_status status = tare_pack_digest_model(&digest, &p->digests, o->bases[i], err);
        if (status != TARE_OK && hint) tare_error_file(err, hint);
        TARE_TRY(status);
        memcpy(p->bases[i].digest, digest.bytes, sizeof digest.bytes);
        p->bases[i].hint = tare_str_of(hint ? hint : "");
    }
    return TARE_OK;
}

/* ---- the output ------------------------------------------------------------------------------ */

static tare_status put(void *ctx, uint64_t offset, const uint8_t *bytes, size_t n,
                       tare_error *err) {
    const tare_sink *sink = ctx;
    return sink->put(sink->ctx, 0, offset, bytes, n, NULL, err);
}

static tare_status write_file(packing *p, tare_error *err) {
    _Atomic uint64_t hinted = 0;
    tare_file_sink files = {p->set, &hinted};
    const tare_pack_options *o = &p->options;
    tare_sink sink = o->output->dry_run  ? tare_sink_of_nothing()
                     : p->source->output ? tare_sink_of_output(p->source->output)
                                         : tare_sink_of_files(&files);
    const tare_pack_job job = {.model = p->in,
                               .digest = tare_pack_digests_hooks(&p->digests),
                               .duplicates = p->digests.duplicates,
                               .references = p->references,
                               .derivations = p->source->derivations,
                               .codes = p->source->codes,
                               .bases = p->bases,
                               .n_bases = (uint32_t)o->n_bases,
                               .has_files = p->source->has_files,
                               .files = p->files.files,
                               .n_files = p->files.n,
                               .is_directory = p->files.is_directory,
                               .is_full = o->effort == TARE_EFFORT_FULL,
                               .mode = o->mode,
                               .log2_segment = o->log2_segment,
                               .is_for_gpu = o->is_for_gpu,
                               .tiles = o->tiles,
                               .share = p->source->part ? p->source->part->share
                                                        : (tare_pack_share){.total = 0},
                               .write = put,
                               .write_ctx = &sink,
                               .how = tare_steps_context(o->context, p->steps),
                               .arena = &p->arena};
    TARE_TRY(p->source->format->write.pack(&p->outcome, &job, err));
    tare_steps_end(p->steps, p->write_bytes);
    if (p->source->outcome) *p->source->outcome = &p->outcome;
    if (p->source->check) TARE_TRY(p->source->check(p->source->check_ctx, p->set, err));
    return p->set ? tare_outset_commit(p->set, err) : TARE_OK;
}

static uint16_t withheld_of(const packing *p) {
    unsigned withheld = tare_model_withheld(p->in);
    for (size_t i = 0; i < p->files.n; i++)
        if (p->files.files[i].reader) withheld |= p->files.files[i].reader->withheld;
    return (uint16_t)withheld;
}

static tare_status begin_output(packing *p, const char *path, tare_error *err) {
    const tare_out_options out = {.force = p->options.output->force,
                                  .no_sync = p->options.output->no_sync,
                                  .withheld = withheld_of(p),
                                  .report = p->options.context->report,
                                  .store = tare_output_store(p->options.output)};
    uint32_t index;
    if (p->source->output) return TARE_OK;
    if (p->source->check)
        TARE_TRY(tare_output_refuse_store(p->options.output, path,
                                          "this output is looked at before it is final: write a "
                                          "file and upload it",
                                          err));
    for (size_t i = 0; i < p->options.n_bases; i++) {
        if (!tare_replaces_model(path, p->options.bases[i])) continue;
        tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_IS_INPUT,
                       "the output is the base, which it would need");
        tare_error_file(err, path);
        return TARE_ERR_ARG;
    }
    for (size_t i = 0; i < p->files.n; i++) {
        const tare_reader *reader = p->files.files[i].reader;
        if (reader && tare_same_file(path, reader))
            return tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_IS_INPUT,
                                  "the output is the input");
    }
    if (p->options.output->dry_run)
        return tare_outset_check(path, &out, p->options.context->allocator, err);
    TARE_TRY(tare_outset_new(&p->set, path, &out, p->options.context->allocator, err));
    return tare_outset_add(p->set, NULL, 0, &index, err);
}

/* ---- what became of it ----------------------------------------------------------------------- */

static void tell_layers(const packing *p, tare_pack_summary *sum) {
    const tare_pack_outcome *o = &p->outcome;
    sum->to_bytes = o->size;
    sum->n_tensors = p->in->catalog.n_tensors;
    sum->n_referring = o->n_referring;
    for (size_t i = 0; i < o->n_layers; i++) {
        sum->n_shared += o->layers[i].is_shared;
        if (p->options.packed) p->options.packed(p->options.packed_ctx, &o->layers[i]);
    }
}

static void tell_bases(const packing *p) {
    for (size_t i = 0; i < p->options.n_bases; i++) {
        const tare_packed_base *b = &p->bases[i];
        const bool is_needed = p->outcome.needs_base[i];
        if (is_needed && !p->source->has_files) /* else the summary says it */
            tare_report_addf(p->options.context->report,
                             &TARE_FINDING(INFO, TARE_ERR_ARG, "pack.base-needed"),
                             "what reads the output needs the base \"%.*s\" again",
                             (int)b->hint.len, b->hint.ptr);
        if (is_needed) continue;
        tare_report_addf(p->options.context->report,
                         &TARE_FINDING(WARNING, TARE_ERR_ARG, "pack.base-unused"),
                         "no tensor is stored as a difference from the base \"%.*s\": the "
                         "output does not need it",
                         (int)b->hint.len, b->hint.ptr);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Which part it is of what: tensors are bytes of the files, if there are any. */
static tare_status begin_part(packing *p, bool *is_done, uint64_t file_bytes, tare_error *err) {
    tare_pack_part *part = p->source->part;
    const uint64_t tensors = tare_catalog_tensor_bytes(&p->in->catalog);
    if (!part) return TARE_OK;
    if (p->options.n_bases)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "each part would read all of the base: what has one is packed whole");
    part->share.others = file_bytes > tensors ? file_bytes - tensors : 0;
    part->share.total = part->share.others + tensors;
    part->withheld = withheld_of(p);
    return part->begin(part->ctx, is_done, part, &p->files, err);
}

/* What the input and its bases state of their bytes. */
static tare_status check_stated(const packing *p, tare_error *err) {
    const tare_context quiet = tare_steps_context_quiet(p->options.context);
    if (p->options.output->dry_run) return TARE_OK;
    TARE_TRY(tare_digests_check(tare_model_as_stored(p->in), &quiet, err));
    for (size_t i = 0; i < p->options.n_bases; i++)
        TARE_TRY(tare_digests_check(tare_model_as_stored(p->options.bases[i]), &quiet, err));
    return TARE_OK;
}

static tare_status pack(packing *p, const char *path, tare_pack_summary *sum, tare_error *err) {
    bool is_done = false;
    if (p->source->has_files)
        TARE_TRY(tare_pack_files_open(&p->files, p->in, &p->options, p->source->list,
                                      p->source->list_ctx, err));
    sum->n_files = p->files.n;
    for (size_t i = 0; i < p->files.n; i++)
        if (p->files.files[i].reader) sum->from_bytes += p->files.files[i].reader->size;
    TARE_TRY(begin_part(p, &is_done, sum->from_bytes, err));
    if (is_done) return TARE_OK;
    begin_steps(p, sum->from_bytes);
    TARE_TRY(check_stated(p, err));
    TARE_TRY(begin_output(p, path, err));
    p->digests = (tare_pack_digests){.model = p->in,
                                     .opened = p->source->opened,
                                     .options = &p->options,
                                     .steps = p->steps,
                                     .is_part = p->source->part != NULL};
    TARE_TRY(tare_pack_digests_begin(&p->digests, &p->arena, err));
    TARE_TRY(describe_bases(p, err));
    TARE_TRY(find_references(p, err));
    TARE_TRY(write_file(p, err));
    tell_layers(p, sum);
    tell_bases(p);
    return TARE_OK;
}

tare_status tare_pack_source_of(tare_pack_source *out, const tare_model *in,
                                const tare_pack_options *o, tare_error *err) {
    in = tare_model_as_stored(in);
    /* A model that was computed has no files: what it is made of is packed. */
    *out = (tare_pack_source){.format = tare_format_packing(),
                              .model = in,
                              .has_files = in->catalog.layout || o->directory};
    /* Its files do not make up the model: some data would be lost. */
    if (tare_packed_of(in))
        return tare_fail(err, TARE_ERR_ARG,
                         "the input is packed already: unpack it, or convert it");
    if (o->n_exclude && !o->directory && !o->lossy)
        return tare_fail(err, TARE_ERR_ARG,
                         "`exclude`: only a directory has files that can be left out");
    return TARE_OK;
}

tare_status tare_pack_run(tare_pack_summary *out, const char *out_path,
                          const tare_pack_source *source, const tare_pack_options *options,
                          tare_error *err) {
    tare_pack_summary sum = tare_pack_summary_default();
    packing p = {.in = source->model, .source = source, .options = *options};
    TARE_REQUIRE((unsigned)options->mode <= TARE_CODED_STRUCTURED, err);
    TARE_TRY(tare_packed_check_tiles(&options->tiles, err));
    tare_arena_init(&p.arena, options->context->allocator);
    tare_status status = pack(&p, out_path, &sum, err);
    tare_outset_free(p.set);
    tare_arena_free(&p.arena);
    if (source->has_files) tare_pack_list_free(&p.files);
    if (out) tare_result_write(out, &sum, sizeof sum);
    return status;
}
