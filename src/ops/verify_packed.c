/* SPDX-License-Identifier: MIT
 *
 * What a .wcodec says of itself: the CRC of each layer, over its heads and the CRCs of its
 * segments, and the digest of the model. */
#include "ops/verify_packed.h"

#include <tare/ops.h>

#include <string.h>

#include "base/hash.h"
#include "base/pool.h"
#include "base/report.h"
#include "format/wcodec_read.h"

/* One for each layer, filled by any thread; reported in order. */
typedef struct check {
    tare_wcodec_store *store;
    const tare_wcodec_index *index;
    tare_error *faults;
    tare_report *report;
} check;

static tare_status check_layer(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    const check *c = ctx;
    const tare_wcodec_opened o = {.file = tare_wcodec_store_file(c->store),
                                  .layer = &c->index->layers[task]};
    (void)worker;
    c->faults[task] = (tare_error){.status = TARE_OK};
    tare_status status = tare_wcodec_check_layer(&o, &c->faults[task]);
    if (status == TARE_OK || tare_wcodec_is_loss(status)) return TARE_OK;
    *err = c->faults[task];
    return status;
}

static void report_layer(const check *c, uint32_t layer) {
    const tare_wcodec_layer *l = &c->index->layers[layer];
    const tare_error *fault = &c->faults[layer];
    if (fault->status == TARE_OK) return;
    tare_finding f = TARE_FINDING(ERROR, fault->status, "wcodec.layer");
    f.offset = fault->offset;
    f.item_kind = l->kind == TARE_WCODEC_TENSOR ? TARE_ITEM_TENSOR : TARE_ITEM_RESOURCE;
    f.item_name = l->name;
    f.text = (tare_str){fault->what, strlen(fault->what)};
    tare_report_add(c->report, &f);
}

static tare_status check_digest(const check *c, const tare_model *model, const tare_run_options *o,
                                tare_error *err) {
    tare_run_options options = *o;
    tare_digest digest;
    char says[65], is[65];
    options.progress = NULL; /* the pass over all data that follows is what is shown */
    options.report = NULL;
    TARE_TRY(tare_model_digest(NULL, &digest, model, &options, err));
    if (memcmp(digest.bytes, c->index->digest, sizeof digest.bytes) == 0) return TARE_OK;
    tare_hex(says, c->index->digest, sizeof c->index->digest);
    tare_hex(is, digest.bytes, sizeof digest.bytes);
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CHECKSUM, "wcodec.digest");
    f.offset = 12;
    tare_report_addf(c->report, &f, "the model's digest is %s, the header says %s", is, says);
    return TARE_OK;
}

tare_status tare_verify_packed(const tare_model *model, const tare_run_options *o,
                               tare_error *err) {
    tare_wcodec_store *store = tare_wcodec_model_store(model);
    if (!store) return TARE_OK;
    check c = {.store = store, .index = tare_wcodec_store_index(store), .report = o->report};
    uint32_t n = c.index->n_layers;
    if (n) c.faults = tare_alloc(o->allocator, n * sizeof *c.faults);
    if (n && !c.faults) return tare_fail(err, TARE_ERR_NOMEM, "list of layers");
    const tare_run run = {.threads = o->threads, .n_tasks = n, .task = check_layer, .ctx = &c};
    tare_status status = tare_run_parallel(&run, err);
    for (uint32_t i = 0; status == TARE_OK && i < n; i++) report_layer(&c, i);
    if (n) tare_free(o->allocator, c.faults, n * sizeof *c.faults);
    return status == TARE_OK ? check_digest(&c, model, o, err) : status;
}
