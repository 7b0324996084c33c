/* SPDX-License-Identifier: MIT
 *
 * What unpacking did not give back: segments that were damaged, bits that were not asked for. */
#include "ops/unpack_losses.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/report.h"

static void note_loss(void *ctx, uint64_t layer, unsigned plane, uint64_t segment,
                      const tare_error *fault) {
    tare_losses *l = ctx;
    void *items = l->items;
    pthread_mutex_lock(&l->mutex);
    if (tare_grow(l->allocator, &items, &l->capacity, l->n + 1, sizeof *l->items)) {
        l->items = items;
        l->items[l->n++] = (tare_loss){layer, segment, plane, *fault};
    } else {
        l->n_untold++;
    }
    pthread_mutex_unlock(&l->mutex);
}

static void note_coarse(void *ctx, uint64_t layer) {
    tare_losses *l = ctx;
    atomic_store_explicit(&l->is_coarse[layer], true, memory_order_relaxed);
}

tare_status tare_losses_init(tare_losses *l, const tare_wcodec_index *index,
                             const tare_unpack_options *o, tare_error *err) {
    *l = (tare_losses){.allocator = o->allocator, .watch.ctx = l};
    if (pthread_mutex_init(&l->mutex, NULL) != 0) return tare_fail(err, TARE_ERR_NOMEM, "lock");
    if (o->salvage) l->watch.lost = note_loss;
    if (!o->is_coarse || index->n_layers == 0) return TARE_OK;
    l->watch.coarse = note_coarse;
    l->is_coarse = tare_alloc(o->allocator, index->n_layers * sizeof *l->is_coarse);
    for (uint32_t i = 0; l->is_coarse && i < index->n_layers; i++)
        atomic_init(&l->is_coarse[i], false);
    if (l->is_coarse) return TARE_OK;
    pthread_mutex_destroy(&l->mutex);
    return tare_fail(err, TARE_ERR_NOMEM, "list of layers");
}

void tare_losses_free(tare_losses *l, const tare_wcodec_index *index) {
    pthread_mutex_destroy(&l->mutex);
    tare_free(l->allocator, l->items, l->capacity * sizeof *l->items);
    if (l->is_coarse) tare_free(l->allocator, l->is_coarse, index->n_layers * sizeof *l->is_coarse);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
    const tare_loss *x = a, *y = b;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    if (x->plane != y->plane) return x->plane < y->plane ? -1 : 1;
    return (x->segment > y->segment) - (x->segment < y->segment);
}

static void report_loss(const tare_loss *loss, const tare_wcodec_layer *layer,
                        tare_report *report) {
    tare_finding f = TARE_FINDING(ERROR, loss->fault.status, "unpack.lost");
    f.item_kind = layer->kind == TARE_WCODEC_TENSOR ? TARE_ITEM_TENSOR : TARE_ITEM_RESOURCE;
    f.item_name = layer->name;
    f.offset = loss->fault.offset;
    if (loss->segment == TARE_WCODEC_ALL_SEGMENTS)
        tare_report_addf(report, &f, "plane %u: its head is damaged, all of it is zeros: %s",
                         loss->plane, loss->fault.what);
    else
        tare_report_addf(report, &f, "plane %u, segment %" PRIu64 ": damaged, now zeros: %s",
                         loss->plane, loss->segment, loss->fault.what);
}

/* A segment that was read more than once was lost more than once. */
void tare_losses_report(tare_losses *l, const tare_wcodec_index *index, tare_report *report,
                        tare_unpack_result *result) {
    if (l->n) qsort(l->items, l->n, sizeof *l->items, by_place);
    result->n_lost = l->n_untold;
    for (size_t i = 0; i < l->n; i++) {
        if (i && by_place(&l->items[i], &l->items[i - 1]) == 0) continue;
        report_loss(&l->items[i], &index->layers[l->items[i].layer], report);
        result->n_lost++;
    }
}

/* ---- bits ------------------------------------------------------------------------------------ */

tare_status tare_losses_check_coarse(const tare_losses *l, const tare_wcodec_index *index,
                                     const tare_unpack_options *o, tare_unpack_result *result,
                                     tare_error *err) {
    for (uint32_t i = 0; o->is_coarse && i < index->n_layers; i++) {
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
        tare_report_add(o->report, &f);
    }
    if (!o->is_coarse || (result->n_coarse && !(o->strict && result->n_whole))) return TARE_OK;
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     result->n_coarse ? "tensors that cannot be read with fewer bits"
                                      : "no tensor can be read with fewer bits");
}
