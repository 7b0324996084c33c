/* SPDX-License-Identifier: MIT
 *
 * What a .wcodec says of itself: the CRC of each layer, over its heads and the CRCs of its
 * segments; of each segment, over what it decodes to; the digest of the model. The digest decodes
 * all tensors: only where it fails they are looked at segment by segment. */
#include "ops/packing/verify_packed.h"

#include <tare/inspect.h>
#include <tare/model.h>

#include <inttypes.h>
#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/pool.h"
#include "base/report.h"
#include "format/format.h"
#include "format/packed.h"
#include "ops/packing/losses.h"

/* ---- layers ---------------------------------------------------------------------------------- */

/* One for each layer, filled by any thread; reported in order. */
typedef struct check {
    tare_packed *store;
    tare_packed_contents contents;
    tare_error *faults;
    tare_report *report;
    tare_share share;
    uint32_t n_layers_wrong;
} check;

static bool is_ours(const check *c, uint64_t layer) {
    return tare_share_side(c->share, c->contents.n_layers, layer) == 0;
}

static tare_status check_layer(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    const check *c = ctx;
    (void)worker;
    c->faults[task] = (tare_error){.status = TARE_OK};
    if (!is_ours(c, task)) return TARE_OK;
    tare_status status = tare_packed_check(c->store, (uint32_t)task, &c->faults[task]);
    if (status == TARE_OK || tare_status_is_loss(status)) return TARE_OK;
    *err = c->faults[task];
    return status;
}

static void report_layer(check *c, uint32_t layer) {
    const tare_packed_part l = tare_packed_describe_layer(c->store, layer);
    const tare_error *fault = &c->faults[layer];
    if (fault->status == TARE_OK) return;
    c->n_layers_wrong++;
    tare_finding f = TARE_FINDING(ERROR, fault->status, "wcodec.layer");
    f.offset = fault->offset;
    f.item_kind = l.is_tensor ? TARE_ITEM_TENSOR : TARE_ITEM_RESOURCE;
    f.item_name = l.name;
    f.text = (tare_str){fault->what, strlen(fault->what)};
    tare_report_add(c->report, &f);
}

/* ---- segments -------------------------------------------------------------------------------- */

typedef struct survey {
    const check *of;
    tare_wc_watch watch;
    tare_losses losses;
    bool is_of_tensors; /* else of all other layers */
} survey;

static void note_loss(void *ctx, uint64_t layer, unsigned stream, uint64_t segment,
                      const tare_error *fault) {
    tare_losses_note(&((survey *)ctx)->losses, layer, stream, segment, fault);
}

static tare_status survey_layer(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    const survey *s = ctx;
    (void)worker;
    tare_packed *store = s->of->store;
    if (!is_ours(s->of, task) ||
        tare_packed_describe_layer(store, (uint32_t)task).is_tensor != s->is_of_tensors)
        return TARE_OK;
    return tare_packed_survey(store, (uint32_t)task, &s->watch, err);
}

static tare_status survey_layers(size_t *n_lost, const check *c, bool is_of_tensors,
                                 const tare_context *o, tare_error *err) {
    static const tare_losses_words words = {"wcodec.segment", "", 64};
    survey s = {.of = c, .is_of_tensors = is_of_tensors};
    s.watch = (tare_wc_watch){.lost = note_loss, .ctx = &s};
    TARE_TRY(tare_losses_init(&s.losses, o->allocator, err));
    const tare_run run = {
        .context = *o, .n_tasks = c->contents.n_layers, .task = survey_layer, .ctx = &s};
    tare_status status = tare_run_parallel(&run, err);
    *n_lost = tare_losses_report(&s.losses, c->store, &words, o->report);
    tare_losses_free(&s.losses);
    return status;
}

/* ---- the digest ------------------------------------------------------------------------------ */

static void report_digest(const check *c, const tare_digest *found) {
    char says[65], is[65];
    tare_hex(says, c->contents.digest, sizeof found->bytes);
    tare_hex(is, found->bytes, sizeof found->bytes);
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CHECKSUM, "wcodec.digest");
    f.offset = 12;
    tare_report_addf(c->report, &f, "the model's digest is %s, the header says %s", is, says);
}

static bool lacks_bases(const check *c) {
    for (uint32_t i = 0; i < c->contents.n_layers; i++)
        if (tare_packed_describe_layer(c->store, i).lacks_base) return true;
    return false;
}

static bool lacks(const check *c, uint32_t layer, uint32_t base) {
    const tare_packed_part l = tare_packed_describe_layer(c->store, layer);
    return l.lacks_base && l.base == base;
}

/* Without it the tensors that refer to a base model, and so the digest of all, cannot be checked.
 */
static void report_bases(const check *c) {
    for (uint32_t b = 0; b < c->contents.n_bases; b++) {
        const tare_packed_base *base = &c->contents.bases[b];
        char digest[65];
        uint32_t n = 0;
        for (uint32_t i = 0; i < c->contents.n_layers; i++) n += lacks(c, i, b + 1);
        if (!n) continue;
        tare_hex(digest, base->digest, sizeof base->digest);
        tare_finding f = TARE_FINDING(ERROR, TARE_ERR_ARG, TARE_CODE_NEEDS_BASE);
        tare_report_addf(c->report, &f,
                         "%" PRIu32
                         " tensor%s not verified: the base model \"%.*s\", which has the "
                         "digest %s, is missing",
                         n, n == 1 ? " is" : "s are", (int)tare_min_u64(base->hint.len, 200),
                         base->hint.ptr, digest);
    }
}

/* Where tensors cannot be read, *n_lost says how many segments are to blame. (A layer that is not the
 * one of its CRC cannot be read as a whole, and is reported.) */
static tare_status check_digest(size_t *n_lost, const check *c, const tare_model *model,
                                const tare_context *o, tare_error *err) {
    tare_context options = *o;
    tare_error fault = TARE_ERROR_NONE;
    tare_digest digest;
    options.report = NULL;
    *n_lost = 0;
    tare_status status = tare_model_digest(NULL, &digest, model, &options, &fault);
    if (status == TARE_OK && c->contents.digest &&
        memcmp(digest.bytes, c->contents.digest, sizeof digest.bytes) != 0)
        report_digest(c, &digest);
    if (tare_status_is_loss(status)) TARE_TRY(survey_layers(n_lost, c, true, o, err));
    if (status == TARE_OK || *n_lost || c->n_layers_wrong) return TARE_OK;
    if (err) *err = fault;
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static tare_status check_layers(check *c, const tare_context *o, tare_error *err) {
    uint32_t n = c->contents.n_layers;
    if (n == 0) return TARE_OK;
    c->faults = tare_alloc(o->allocator, n * sizeof *c->faults);
    if (!c->faults) return tare_fail(err, TARE_ERR_NOMEM, "list of layers");
    const tare_run run = {.context = *o, .n_tasks = n, .task = check_layer, .ctx = c};
    tare_status status = tare_run_parallel(&run, err);
    for (uint32_t i = 0; status == TARE_OK && i < n; i++) report_layer(c, i);
    tare_free(o->allocator, c->faults, n * sizeof *c->faults);
    return status;
}

tare_status tare_verify_layers(tare_packed *store, const tare_context *o, tare_error *err) {
    check c = {.store = store, .contents = tare_packed_describe(store), .report = o->report};
    return check_layers(&c, o, err);
}

tare_status tare_verify_packed(tare_packed_faults *out, const tare_model *model, tare_share share,
                               const tare_context *o, tare_error *err) {
    tare_packed *store = tare_packed_of(model);
    size_t n_lost = 0, n_lost_tensors = 0;
    *out = (tare_packed_faults){false, false};
    if (!store) return TARE_OK;
    check c = {.store = store,
               .contents = tare_packed_describe(store),
               .report = o->report,
               .share = share};
    TARE_TRY(check_layers(&c, o, err));
    TARE_TRY(survey_layers(&n_lost, &c, false, o, err));
    out->lacks_base = lacks_bases(&c);
    if (out->lacks_base) report_bases(&c);
    if (out->lacks_base || share.count) {
        TARE_TRY(survey_layers(&n_lost_tensors, &c, true, o, err));
    } else {
        TARE_TRY(check_digest(&n_lost_tensors, &c, model, o, err));
    }
    out->is_damaged = share.count || n_lost || n_lost_tensors || c.n_layers_wrong;
    return TARE_OK;
}
