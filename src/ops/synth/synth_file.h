/* SPDX-License-Identifier: MIT
 *
 * The file of a computed model: tensors back to back, made whenever they are read. */
#ifndef TARE_OPS_SYNTH_SYNTH_FILE_H
#define TARE_OPS_SYNTH_SYNTH_FILE_H

#include "base/reader.h"
#include "ops/synth/synth_values.h"

typedef struct tare_synth_tensor {
    uint64_t offset; /* in the computed file */
    uint64_t cols;
    uint64_t key;
    float sigma;
    float mean; /* 1: a norm, whose values are normal in every form; else 0 */
} tare_synth_tensor;

/* A channel that stands out in all tensors with rows of `cols`, as in trained networks, where the
 * same few channels of the residual stream do. */
typedef struct tare_synth_channel {
    uint64_t cols;
    uint64_t index;
    float factor;
} tare_synth_channel;

typedef struct tare_synth_file {
    const tare_allocator *allocator;
    tare_synth_tensor *tensors; /* in the order of their offsets */
    size_t n_tensors;
    tare_synth_channel *channels;
    size_t n_channels;
    uint32_t element_bytes; /* 4: F32, 2: BF16 */
    tare_quantiles weights, norms;
} tare_synth_file;

/* One channel in so many stands out: two in llama-tiny's residual stream, 32 in llama-8b's. */
#define TARE_SYNTH_CHANNEL_STEP 128

/* Adds the channels of rows of `cols` to file->channels, which has room for them. */
void tare_synth_add_channels(tare_synth_file *file, uint64_t seed, uint64_t cols);
/* A reader's callback; ctx is the file. Ranges are checked by the reader. */
tare_status tare_synth_read(void *ctx, uint64_t offset, void *buf, size_t n);

#endif
