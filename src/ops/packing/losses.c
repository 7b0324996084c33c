/* SPDX-License-Identifier: MIT */
#include "ops/packing/losses.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/report.h"

tare_status tare_losses_init(tare_losses *l, const tare_allocator *allocator, tare_error *err) {
    *l = (tare_losses){.allocator = allocator};
    return pthread_mutex_init(&l->mutex, NULL) == 0 ? TARE_OK
                                                    : tare_fail(err, TARE_ERR_NOMEM, "lock");
}

void tare_losses_free(tare_losses *l) {
    pthread_mutex_destroy(&l->mutex);
    tare_free(l->allocator, l->items, l->capacity * sizeof *l->items);
}

static int by_place(const void *a, const void *b) {
    const tare_loss *x = a, *y = b;
    if (x->layer != y->layer) return x->layer < y->layer ? -1 : 1;
    if (x->stream != y->stream) return x->stream < y->stream ? -1 : 1;
    return (x->segment > y->segment) - (x->segment < y->segment);
}

/* A segment that was read more than once was lost more than once. */
static size_t drop_repeated(tare_losses *l) {
    size_t n = 0;
    if (l->n) qsort(l->items, l->n, sizeof *l->items, by_place);
    for (size_t i = 0; i < l->n; i++)
        if (n == 0 || by_place(&l->items[i], &l->items[n - 1]) != 0) l->items[n++] = l->items[i];
    return n;
}

void tare_losses_note(tare_losses *l, uint64_t layer, unsigned stream, uint64_t segment,
                      const tare_error *fault) {
    pthread_mutex_lock(&l->mutex);
    void *items = l->items;
    size_t room = l->n + 1;
    if (l->n == l->capacity) { /* grows only if more than half of it is not repeated */
        l->n = drop_repeated(l);
        room = l->n > l->capacity / 2 ? l->capacity + 1 : l->n + 1;
    }
    if (tare_grow(l->allocator, &items, &l->capacity, room, sizeof *l->items)) {
        l->items = items;
        l->items[l->n++] = (tare_loss){layer, segment, stream, *fault};
    } else {
        l->n_untold++;
    }
    pthread_mutex_unlock(&l->mutex);
}

/* ---- telling --------------------------------------------------------------------------------- */

static tare_finding finding_of(const tare_losses_words *words, const tare_packed_part *layer,
                               const tare_error *fault) {
    tare_finding f = TARE_FINDING(ERROR, fault->status, words->code);
    f.item_kind = layer->is_tensor ? TARE_ITEM_TENSOR : TARE_ITEM_RESOURCE;
    f.item_name = layer->name;
    f.offset = fault->offset;
    return f;
}

static void report_one(const tare_loss *loss, const tare_packed_part *layer,
                       const tare_losses_words *words, tare_report *report) {
    const tare_finding f = finding_of(words, layer, &loss->fault);
    if (loss->segment == TARE_WC_ALL_SEGMENTS)
        tare_report_addf(report, &f,
                         "stream %u: its head is damaged and with it all segments%s: %s",
                         loss->stream, words->became, loss->fault.what);
    else
        tare_report_addf(report, &f, "stream %u, segment %" PRIu64 ": damaged%s: %s", loss->stream,
                         loss->segment, words->became, loss->fault.what);
}

size_t tare_losses_report(tare_losses *l, const tare_packed *store, const tare_losses_words *words,
                          tare_report *report) {
    l->n = drop_repeated(l);
    for (size_t i = 0, end; i < l->n; i = end) {
        const tare_packed_part layer =
            tare_packed_describe_layer(store, (uint32_t)l->items[i].layer);
        for (end = i; end < l->n && l->items[end].layer == l->items[i].layer; end++)
            if (end - i < words->most) report_one(&l->items[end], &layer, words, report);
        if (end - i <= words->most) continue;
        const tare_finding f = finding_of(words, &layer, &l->items[i + words->most].fault);
        tare_report_addf(report, &f, "%zu more segments: damaged%s", end - i - words->most,
                         words->became);
    }
    return l->n + l->n_untold;
}

size_t tare_losses_layers(const tare_losses *l, const tare_packed *store, bool of_tensors) {
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += tare_packed_describe_layer(store, (uint32_t)l->items[i].layer).is_tensor ==
                 of_tensors &&
             (i == 0 || l->items[i].layer != l->items[i - 1].layer);
    return n;
}
