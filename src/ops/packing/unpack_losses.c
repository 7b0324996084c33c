/* SPDX-License-Identifier: MIT */
#include "ops/packing/unpack_losses.h"

#include <stdatomic.h>

#include "base/report.h"

static void note_loss(void *ctx, uint64_t layer, unsigned stream, uint64_t segment,
                      const tare_error *fault) {
    tare_losses_note(&((tare_unpack_losses *)ctx)->segments, layer, stream, segment, fault);
}

static void note_coarse(void *ctx, uint64_t layer) {
    tare_unpack_losses *l = ctx;
    atomic_store_explicit(&l->is_coarse[layer], true, memory_order_relaxed);
}

tare_status tare_unpack_losses_init(tare_unpack_losses *l, const tare_packed *store,
                                    const tare_unpack_options *o, tare_error *err) {
    *l = (tare_unpack_losses){.is_coarse = NULL};
    const uint32_t n_layers = tare_packed_describe(store).n_layers;
    TARE_TRY(tare_losses_init(&l->segments, o->context->allocator, err));
    l->watch.ctx = l;
    if (o->salvage) l->watch.lost = note_loss;
    if (!o->is_coarse || n_layers == 0) return TARE_OK;
    l->watch.coarse = note_coarse;
    l->is_coarse = tare_alloc(o->context->allocator, n_layers * sizeof *l->is_coarse);
    if (!l->is_coarse) return tare_fail(err, TARE_ERR_NOMEM, "list of layers");
    for (uint32_t i = 0; i < n_layers; i++) atomic_init(&l->is_coarse[i], false);
    return TARE_OK;
}

void tare_unpack_losses_free(tare_unpack_losses *l, const tare_packed *store) {
    if (!l->watch.ctx) return;
    if (l->is_coarse)
        tare_free(l->segments.allocator, l->is_coarse,
                  tare_packed_describe(store).n_layers * sizeof *l->is_coarse);
    tare_losses_free(&l->segments);
}

/* Tensors that were restored exactly, because they always are or because enough bits were
 * requested: one line for all of them and, at a finer level, one each. *most: the largest number of
 * groups of any tensor. */
static tare_status report_whole(const tare_unpack_losses *l, tare_packed *store,
                                const tare_unpack_options *o, tare_unpack_result *result,
                                unsigned *most, tare_error *err) {
    const uint32_t n_layers = tare_packed_describe(store).n_layers;
    size_t n_fixed = 0;
    for (uint32_t i = 0; i < n_layers; i++) {
        const tare_packed_part layer = tare_packed_describe_layer(store, i);
        unsigned groups;
        if (!layer.is_tensor || !layer.has_data) continue;
        if (atomic_load_explicit(&l->is_coarse[i], memory_order_relaxed)) {
            result->n_coarse++;
            continue;
        }
        TARE_TRY(tare_packed_groups(store, i, &groups, err));
        if (groups > *most) *most = groups;
        result->n_whole++;
        tare_finding f = TARE_FINDING(INFO, TARE_ERR_UNSUPPORTED, "unpack.whole");
        f.item_kind = TARE_ITEM_TENSOR;
        f.item_name = layer.name;
        n_fixed += groups == 0;
        if (groups)
            tare_report_addf(o->context->report, &f, "read whole: it has %u group%s of bits",
                             groups, groups == 1 ? "" : "s");
        else
            tare_report_addf(o->context->report, &f, "read whole: its type has no coarse form");
    }
    if (!result->n_whole || !result->n_coarse) return TARE_OK;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "unpack.whole");
    const size_t n_asked = (size_t)result->n_whole - n_fixed;
    if (n_asked)
        tare_report_addf(o->context->report, &f,
                         "%zu tensors are read whole: they have no more groups of bits", n_asked);
    if (n_fixed)
        tare_report_addf(o->context->report, &f,
                         "%zu tensors are read whole: they have no coarse form", n_fixed);
    return TARE_OK;
}

/* Why no tensor is coarse. */
static const char *none_is_coarse(unsigned most) {
    static const char *const words[] = {
        "no tensor of this file has a coarse form",
        "no tensor of this file has more than 1 group of bits: only 0 leaves something out",
        "no tensor of this file has more than 2 groups of bits: only 0 and 1 leave something out",
        "no tensor of this file has more than 3 groups of bits: only 0 to 2 leave something out",
        "no tensor of this file has more than 4 groups of bits: only 0 to 3 leave something out",
    };
    unsigned last = sizeof words / sizeof *words - 1;
    return words[most < last ? most : last];
}

tare_status tare_unpack_losses_report(tare_unpack_losses *l, tare_packed *store,
                                      const tare_unpack_options *o, tare_unpack_result *result,
                                      tare_error *err) {
    static const tare_losses_words words = {"unpack.lost", ", now zeros", SIZE_MAX};
    unsigned most = 0;
    result->n_lost = tare_losses_report(&l->segments, store, &words, o->context->report);
    result->n_tensors_damaged = tare_losses_layers(&l->segments, store, true);
    if (!o->is_coarse) return TARE_OK;
    if (l->is_coarse) TARE_TRY(report_whole(l, store, o, result, &most, err));
    if (result->n_coarse && !(o->output->strict && result->n_whole)) return TARE_OK;
    return tare_fail(
        err, TARE_ERR_UNSUPPORTED,
        result->n_coarse
            ? "some tensors have no coarse form, or no more groups of bits than requested"
            : none_is_coarse(most));
}
