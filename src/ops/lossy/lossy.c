/* SPDX-License-Identifier: MIT
 *
 * Packing with loss, from its beginning: a common factor of all steps is found by samples, all is
 * encoded and packed, and if the size that comes out is not the one asked for, again with what it
 * has told. docs/wcodec.md, 14. */
#include "ops/lossy/lossy.h"

#include "base/arith.h"
#include "base/report.h"
#include "ops/packing/pack_run.h"
#include "wcodec/layer/wc_cut.h"

enum { ATTEMPTS = 6, PATIENT = 2 /* the first ones, which aim to come closer */ };

/* How far below its target a size may be, in the first attempts and later. */
#define CLOSE 0.003
#define NEAR  0.01
/* A target that is missed is aimed at from so much further away, and from twice as far each time: layers
 * are whole units of bytes, and small files jump. */
#define MARGIN      0.0004
#define MOST_MARGIN 0.005
#define UNITS       64

/* An attempt and what became of it. */
typedef struct attempt {
    tare_lossy_run *r;
    unsigned number;
    const tare_pack_outcome *outcome; /* while it is packed */
    size_t n_told;                    /* layers */
    uint64_t size;                    /* what counts towards the target */
    uint64_t tensor_bytes;
    uint64_t from_bytes; /* that all layers had */
    bool is_off;         /* the size is not what is asked for */
} attempt;

/* ---- what is asked for ----------------------------------------------------------------------- */

static tare_status check_wish(const tare_lossy_run *r, tare_error *err) {
    const tare_lossy_options *w = r->wish;
    const int n = (w->target_bytes > 0) + (w->target_bpw > 0) + (w->target_damage > 0);
    if (n != 1 || w->target_bpw < 0 || w->target_damage < 0)
        return tare_fail(err, TARE_ERR_ARG,
                         "packing with loss needs one target: a size, bits for each weight, or a "
                         "damage");
    if (!(w->target_bpw <= 64) || !(w->target_damage <= 1e6))
        return tare_fail(err, TARE_ERR_ARG, "target: at most 64 bits, or a damage of a million");
    if (r->options->n_bases)
        return tare_fail(
            err, TARE_ERR_ARG,
            "what is stored as a difference to a base loses nothing: one or the other");
    if (r->options->n_exclude)
        return tare_fail(err, TARE_ERR_ARG,
                         "`exclude`: packing with loss takes the model, not the files of a "
                         "directory");
    if (r->options->mode != TARE_CODED_SMALLEST)
        return tare_fail(err, TARE_ERR_ARG,
                         "packing with loss chooses the mode of segments itself");
    if (tare_model_is_big_endian(r->in))
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "big-endian: types of several planes are little-endian");
    return TARE_OK;
}

static double guess_resources(const tare_lossy_run *r) {
    const tare_catalog *c = &r->in->catalog;
    double bytes = 0;
    for (size_t i = 0; i < c->n_resources; i++) bytes += 0.25 * (double)c->resources[i].info.size;
    return bytes;
}

/* Of what is not lossy: tensors and side files. What it is really becomes known by the first attempt. */
static void guess_others(tare_lossy_run *r) {
    const tare_catalog *c = &r->in->catalog;
    double bytes = r->wish->target_bytes ? guess_resources(r) : 0, targets = 0;
    for (size_t i = 0; i < c->n_tensors; i++) bytes += r->kept[i];
    for (size_t i = 0; i < r->n_targets; i++) targets += r->targets[i].kept_bytes;
    r->other_bytes = bytes - targets;
}

static void set_target(tare_lossy_run *r) {
    const tare_lossy_options *w = r->wish;
    r->damage = w->target_damage;
    r->target_bytes = w->target_bytes     ? w->target_bytes
                      : w->target_bpw > 0 ? (uint64_t)(w->target_bpw * (double)r->n_weights / 8)
                                          : UINT64_MAX;
}

/* ---- an attempt ------------------------------------------------------------------------------ */

/* What tensors without loss really take. */
static void learn_kept(attempt *a) {
    tare_lossy_run *r = a->r;
    for (size_t i = 0; i < r->n_targets; i++) {
        tare_lossy_target *t = &r->targets[i];
        const tare_packed_layer *layer = &a->outcome->layers[t->tensor];
        if (!t->choice.is_kept || layer->is_shared) continue;
        r->bytes += (double)layer->to_bytes - t->kept_bytes;
        t->kept_bytes = (double)layer->to_bytes;
    }
}

/* A tensor comes from its bytes in the model that is packed, not from those of its steps. */
static uint64_t bytes_before(const tare_lossy_run *r, size_t i, const tare_packed_layer *layer) {
    return i < r->in->catalog.n_tensors ? r->in->catalog.tensors[i].size_bytes : layer->from_bytes;
}

/* Before the output has its name. */
static tare_status check_size(void *ctx, tare_outset *set, tare_error *err) {
    attempt *a = ctx;
    const uint64_t target = a->r->target_bytes;
    (void)set;
    a->tensor_bytes = a->from_bytes = 0;
    for (size_t i = 0; i < a->outcome->n_layers; i++) {
        const tare_packed_layer *layer = &a->outcome->layers[i];
        if (layer->encoding) a->tensor_bytes += layer->to_bytes;
        a->from_bytes += bytes_before(a->r, i, layer);
    }
    learn_kept(a);
    a->size = a->r->wish->target_bytes ? a->outcome->size : a->tensor_bytes;
    if (target == UINT64_MAX) return TARE_OK;
    const double near = (a->number < PATIENT ? CLOSE : NEAR) * (double)target;
    const double least = (a->r->is_closest ? a->r->bytes : (double)target) - near;
    const bool is_last = a->number + 1 == ATTEMPTS;
    a->is_off = a->size > target || (!is_last && (double)a->size < least);
    return a->is_off ? tare_fail(err, TARE_ERR_ARG, "the requested size cannot be met") : TARE_OK;
}

static double damage_of(const tare_lossy_run *r) {
    double sum = 0;
    for (size_t i = 0; i < r->n_targets; i++) sum += r->targets[i].choice.damage;
    return sum;
}

static uint64_t lossy_weights(const tare_lossy_run *r) {
    uint64_t n = 0;
    for (size_t i = 0; i < r->n_targets; i++) n += r->targets[i].n;
    return n;
}

static uint64_t opened_bytes(const tare_lossy_run *r) {
    return tare_catalog_tensor_bytes(&r->in->catalog) + 4 * lossy_weights(r);
}

static tare_steps steps_of(const attempt *a) {
    const tare_lossy_run *r = a->r;
    tare_steps s = r->before;
    s.total = lossy_weights(r);
    s.total += tare_pack_work(&r->in->catalog) + opened_bytes(r);
    if (a->number) s.done = s.total; /* the first one was counted */
    return s;
}

static void tell_layer(void *ctx, const tare_packed_layer *layer) {
    attempt *a = ctx;
    const tare_lossy_run *r = a->r;
    tare_packed_layer told = *layer;
    told.from_bytes = bytes_before(r, a->n_told++, layer);
    r->options->packed(r->options->packed_ctx, &told);
}

static tare_status pack_models(tare_pack_summary *out, attempt *a, const char *path,
                               const tare_model *stored, const tare_model *opened,
                               tare_steps *steps, tare_error *err) {
    tare_lossy_run *r = a->r;
    tare_pack_options o = *r->options;
    o.directory = NULL;
    o.lossy = NULL;
    if (o.packed) o.packed = tell_layer, o.packed_ctx = a;
    const tare_pack_source source = {.format = tare_format_packing(),
                                     .model = stored,
                                     .opened = opened,
                                     .codes = r->codes,
                                     .check = check_size,
                                     .check_ctx = a,
                                     .outcome = &a->outcome,
                                     .steps = steps};
    return tare_pack_run(out, path, &source, &o, err);
}

static tare_status make(tare_pack_summary *out, attempt *a, const char *path,
                        const tare_digest *source, tare_error *err) {
    tare_lossy_run *r = a->r;
    tare_model *stored, *opened;
    tare_steps steps = steps_of(a);
    TARE_TRY(tare_lossy_find_factor(r, err));
    TARE_TRY(tare_lossy_encode(r, path, &steps, err));
    tare_steps_end(&steps, lossy_weights(r));
    if (r->target_bytes == UINT64_MAX && damage_of(r) > r->wish->target_damage) {
        a->is_off = true;
        return tare_fail(err, TARE_ERR_ARG, "the requested damage cannot be met");
    }
    for (size_t i = 0; i < r->n_targets; i++)
        r->codes[r->targets[i].tensor] =
            (tare_pack_codes){r->targets[i].choice.states, r->targets[i].choice.is_wide};
    TARE_TRY(tare_lossy_models(&stored, &opened, r, source, err));
    tare_status status = pack_models(out, a, path, stored, opened, &steps, err);
    tare_model_free(opened);
    tare_model_free(stored);
    return status;
}

static void free_made(tare_lossy_run *r) {
    tare_outset_free(r->made);
    tare_free(r->options->context->allocator, r->side, (size_t)r->side_bytes);
    r->made = NULL;
    r->side = NULL;
    r->side_bytes = 0;
}

/* Aims again, from what was missed. */
static void learn(const attempt *a) {
    tare_lossy_run *r = a->r;
    const double target = (double)r->target_bytes, times = (double)(1u << a->number);
    if (r->target_bytes == UINT64_MAX) {
        r->damage *= r->wish->target_damage / damage_of(r) * (1 - times * MARGIN);
        return;
    }
    double margin = times * (MARGIN * target + UNITS);
    if (margin > MOST_MARGIN * target) margin = MOST_MARGIN * target;
    r->other_bytes += (double)a->size - r->bytes + margin;
}

static tare_status try_all(tare_pack_summary *out, tare_lossy_run *r, const char *path,
                           const tare_digest *source, tare_error *err) {
    for (unsigned i = 0;; i++) {
        attempt a = {.r = r, .number = i};
        tare_status status = make(out, &a, path, source, err);
        free_made(r);
        r->tensor_bytes = a.tensor_bytes;
        r->from_bytes = a.from_bytes;
        r->size = a.size;
        if (!a.is_off || i + 1 == ATTEMPTS) return status;
        learn(&a);
    }
}

/* ---- without writing ------------------------------------------------------------------------- */

static void tell_targets(const tare_lossy_run *r) {
    for (size_t i = 0; i < r->n_targets && r->options->packed; i++) {
        const tare_lossy_target *t = &r->targets[i];
        const tare_tensor *tensor = &r->in->catalog.tensors[t->tensor];
        const tare_packed_layer layer = {
            .name = tensor->name,
            .encoding = tare_lossy_encoding(t, tensor->encoding),
            .from_bytes = tensor->size_bytes,
            .to_bytes = (uint64_t)(t->choice.is_kept ? t->kept_bytes : t->choice.bytes)};
        r->options->packed(r->options->packed_ctx, &layer);
    }
}

static tare_status estimate(tare_pack_summary *out, tare_lossy_run *r, tare_error *err) {
    TARE_TRY(tare_lossy_find_factor(r, err));
    const double others = guess_resources(r);
    r->tensor_bytes = (uint64_t)(r->bytes - (r->wish->target_bytes ? others : 0));
    r->size = (uint64_t)r->bytes;
    out->n_tensors = r->in->catalog.n_tensors;
    out->to_bytes = r->tensor_bytes + (uint64_t)others;
    for (size_t i = 0; i < r->n_targets; i++)
        if (r->targets[i].choice.is_kept) r->targets[i].choice.damage = 0;
    tell_targets(r);
    return TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void summarize(tare_pack_summary *sum, const tare_lossy_run *r) {
    sum->from_bytes = r->from_bytes ? r->from_bytes : tare_catalog_bytes(&r->in->catalog);
    sum->bits_per_weight = 8 * (double)r->tensor_bytes / (double)r->n_weights;
    sum->damage = damage_of(r);
    for (size_t i = 0; i < r->n_targets; i++) sum->n_lossy += !r->targets[i].choice.is_kept;
}

static void report_finest(const tare_lossy_run *r, size_t n_lossy) {
    if (r->target_bytes == UINT64_MAX || (double)r->size >= (1 - NEAR) * (double)r->target_bytes)
        return;
    tare_report_addf(r->options->context->report, &TARE_FINDING(WARNING, TARE_OK, "pack.finest"),
                     n_lossy ? "smaller than requested: finer steps of a tensor would be too large"
                             : "smaller than requested: nothing is lost");
}

/* Quantized numbers that lose something are opened again as plain ones. */
static void report_decoded(const tare_lossy_run *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->n_targets; i++) {
        const tare_lossy_target *t = &r->targets[i];
        n += !t->choice.is_kept &&
             r->in->catalog.tensors[t->tensor].encoding->kind == TARE_KIND_BLOCK;
    }
    if (n == 0) return;
    tare_report_addf(r->options->context->report,
                     &TARE_FINDING(INFO, TARE_OK, "pack.lossy-decodes"),
                     "%zu tensor%s quantized already: unpacked %s f16, which is larger", n,
                     n == 1 ? " is" : "s are", n == 1 ? "it becomes" : "they become");
}

static void report_unweighed(const tare_lossy_run *r) {
    const size_t n = r->n_unweighed, n_unseen = r->n_unseen;
    if (n_unseen)
        tare_report_addf(r->options->context->report,
                         &TARE_FINDING(WARNING, TARE_OK, "pack.importance-zero"),
                         "the importance matrix has zeros for most columns of %zu tensor%s, or of "
                         "an expert of %s: all columns count the same there",
                         n_unseen, n_unseen == 1 ? "" : "s", n_unseen == 1 ? "it" : "them");
    if (n == 0) return;
    tare_report_addf(r->options->context->report,
                     &TARE_FINDING(WARNING, TARE_OK, "pack.importance-missing"),
                     "the importance matrix has no entry for %zu tensor%s: all columns count the "
                     "same there",
                     n, n == 1 ? "" : "s");
}

/* Choosing takes a while, so an output that cannot be is found before. */
static tare_status check_output(const tare_lossy_run *r, const char *path, tare_error *err) {
    const tare_pack_options *o = r->options;
    const tare_out_options out = {.force = o->output->force, .no_sync = o->output->no_sync};
    return tare_outset_check(path, &out, o->context->allocator, err);
}

static tare_status run(tare_pack_summary *sum, tare_lossy_run *r, const char *path,
                       tare_error *err) {
    const tare_pack_options *o = r->options;
    const tare_wc_effort effort = {.log2_segment = (uint8_t)o->log2_segment,
                                   .is_for_gpu = o->is_for_gpu};
    tare_digest source;
    r->before = (tare_steps){.progress = o->context->progress,
                             .ctx = o->context->progress_ctx,
                             .total = 1,
                             .shown = tare_catalog_tensor_bytes(&r->in->catalog)};
    TARE_TRY(check_wish(r, err));
    TARE_TRY(check_output(r, path, err));
    r->log2_segment = tare_wc_trellis_log2(&effort);
    for (size_t i = 0; i < r->in->catalog.n_tensors; i++)
        TARE_TRY(tare_tensor_check_data(r->in, i, err));
    TARE_TRY(tare_lossy_find_targets(r, err));
    guess_others(r);
    set_target(r);
    r->codes = TARE_NEW_ARRAY(&r->arena, tare_pack_codes, r->in->catalog.n_tensors);
    if (!r->codes) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    if (o->output->dry_run) {
        TARE_TRY(estimate(sum, r, err));
    } else {
        const tare_context digest = tare_steps_context_retain(o->context, &r->before);
        TARE_TRY(tare_model_digest(NULL, &source, r->in, &digest, err));
        TARE_TRY(try_all(sum, r, path, &source, err));
    }
    summarize(sum, r);
    report_finest(r, sum->n_lossy);
    report_decoded(r);
    report_unweighed(r);
    return TARE_OK;
}

tare_status tare_pack_lossy(tare_pack_summary *out, const char *out_path, const tare_model *in,
                            const tare_pack_options *options, tare_error *err) {
    tare_lossy_run r = {.in = in, .options = options, .wish = options->lossy};
    tare_pack_summary sum = tare_pack_summary_default();
    tare_arena_init(&r.arena, options->context->allocator);
    tare_status status = run(&sum, &r, out_path, err);
    tare_arena_free(&r.arena);
    if (out) tare_result_write(out, &sum, sizeof sum);
    return status;
}
