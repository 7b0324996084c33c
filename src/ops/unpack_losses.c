/* SPDX-License-Identifier: MIT */
#include "ops/unpack_losses.h"

#include <stdatomic.h>

#include "base/report.h"

static void note_loss(void *ctx, uint64_t layer, unsigned plane, uint64_t segment,
                      const tare_error *fault) {
    tare_losses_note(&((tare_unpack_losses *)ctx)->segments, layer, plane, segment, fault);
}

static void note_coarse(void *ctx, uint64_t layer) {
    tare_unpack_losses *l = ctx;
    atomic_store_explicit(&l->is_coarse[layer], true, memory_order_relaxed);
}

tare_status tare_unpack_losses_init(tare_unpack_losses *l, const tare_wcodec_index *index,
                                    const tare_unpack_options *o, tare_error *err) {
    *l = (tare_unpack_losses){.is_coarse = NULL};
    TARE_TRY(tare_losses_init(&l->segments, o->allocator, err));
    l->watch.ctx = l;
    if (o->salvage) l->watch.lost = note_loss;
    if (!o->is_coarse || index->n_layers == 0) return TARE_OK;
    l->watch.coarse = note_coarse;
    l->is_coarse = tare_alloc(o->allocator, index->n_layers * sizeof *l->is_coarse);
    if (!l->is_coarse) return tare_fail(err, TARE_ERR_NOMEM, "list of layers");
    for (uint32_t i = 0; i < index->n_layers; i++) atomic_init(&l->is_coarse[i], false);
    return TARE_OK;
}

void tare_unpack_losses_free(tare_unpack_losses *l, const tare_wcodec_index *index) {
    if (!l->watch.ctx) return;
    if (l->is_coarse)
        tare_free(l->segments.allocator, l->is_coarse, index->n_layers * sizeof *l->is_coarse);
    tare_losses_free(&l->segments);
}

static void report_whole(const tare_unpack_losses *l, const tare_wcodec_index *index,
                         tare_report *report, tare_unpack_result *result) {
    for (uint32_t i = 0; i < index->n_layers; i++) {
        const tare_wcodec_layer *layer = &index->layers[i];
        if (layer->kind != TARE_WCODEC_TENSOR || !layer->size) continue;
        if (atomic_load_explicit(&l->is_coarse[i], memory_order_relaxed)) {
            result->n_coarse++;
            continue;
        }
        result->n_whole++;
        tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "unpack.whole");
        f.item_kind = TARE_ITEM_TENSOR;
        f.item_name = layer->name;
        f.text = (tare_str){"cannot be read with fewer bits: it is whole", 43};
        tare_report_add(report, &f);
    }
}

tare_status tare_unpack_losses_report(tare_unpack_losses *l, const tare_wcodec_index *index,
                                      const tare_unpack_options *o, tare_unpack_result *result,
                                      tare_error *err) {
    static const tare_losses_words words = {"unpack.lost", ", now zeros", SIZE_MAX};
    result->n_lost = tare_losses_report(&l->segments, index, &words, o->report);
    if (!o->is_coarse) return TARE_OK;
    if (l->is_coarse) report_whole(l, index, o->report, result);
    if (result->n_coarse && !(o->strict && result->n_whole)) return TARE_OK;
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     result->n_coarse ? "tensors that cannot be read with fewer bits"
                                      : "no tensor can be read with fewer bits");
}
