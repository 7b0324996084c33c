/* SPDX-License-Identifier: MIT
 *
 * Segments of a .wcodec that cannot be decoded, reported by the threads that read them. */
#ifndef TARE_OPS_PACKING_LOSSES_H
#define TARE_OPS_PACKING_LOSSES_H

#include <pthread.h>

#include "format/packed.h"

typedef struct tare_loss {
    uint64_t layer, segment; /* TARE_WC_ALL_SEGMENTS: all of the stream */
    unsigned stream;
    tare_error fault;
} tare_loss;

typedef struct tare_losses {
    const tare_allocator *allocator;
    pthread_mutex_t mutex;
    tare_loss *items;
    size_t n, capacity;
    size_t n_untold; /* for which there was no memory */
} tare_losses;

/* How they are told. */
typedef struct tare_losses_words {
    const char *code;
    const char *became; /* of what was lost: ", now zeros" */
    size_t most;        /* findings about a layer; one more says how many there are beyond */
} tare_losses_words;

tare_status tare_losses_init(tare_losses *losses, const tare_allocator *allocator, tare_error *err);
void tare_losses_free(tare_losses *losses);
/* What a watch calls. Thread safe. */
void tare_losses_note(tare_losses *losses, uint64_t layer, unsigned stream, uint64_t segment,
                      const tare_error *fault);
/* Reports them in the order of the container, each once; returns how many there are. */
size_t tare_losses_report(tare_losses *losses, const tare_packed *store,
                          const tare_losses_words *words, tare_report *report);

/* Layers with such segments, once they were reported: tensors, or all others. */
size_t tare_losses_layers(const tare_losses *losses, const tare_packed *store, bool of_tensors);

#endif
