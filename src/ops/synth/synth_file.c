/* SPDX-License-Identifier: MIT
 *
 * Bytes of a computed model: which tensor and which elements a range of the file is, made in runs
 * that always begin at the same places, so that every range of reads gives the same bytes. */
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "ops/synth/synth_file.h"

/* Values are made in runs that begin at multiples of this, so that a run is made alike whatever
 * range was asked for. Even, as two values share a random word; small enough for the stack. */
#define RUN 1024

static void raise_channels(const tare_synth_file *s, const tare_synth_tensor *t, float *values,
                           uint64_t first) {
    if (s->n_channels == 0 || t->mean != 0) return;
    for (uint64_t row = first - first % t->cols; row < first + RUN; row += t->cols) {
        for (size_t i = 0; i < s->n_channels; i++) {
            const tare_synth_channel *c = &s->channels[i];
            uint64_t at = row + c->index;
            if (c->cols == t->cols && at >= first && at < first + RUN)
                values[at - first] = values[at - first] * c->factor;
        }
    }
}

/* Nearest, ties to even; the values are finite. */
static uint16_t bf16_of(float value) {
    uint32_t bits = tare_f32_bits(value);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The bytes of elements [first, first + RUN). */
static void make_run(uint8_t *out, const tare_synth_file *s, const tare_synth_tensor *t,
                     uint64_t first) {
    float values[RUN];
    const tare_quantiles *q = t->mean == 0 ? &s->weights : &s->norms;
    tare_synth_fill(values, q, t->key, first, RUN, t->sigma, t->mean);
    raise_channels(s, t, values, first);
    if (s->element_bytes == 2)
        for (size_t i = 0; i < RUN; i++) tare_store_le16(out + 2 * i, bf16_of(values[i]));
    else
        for (size_t i = 0; i < RUN; i++) tare_store_le32(out + 4 * i, tare_f32_bits(values[i]));
}

/* The tensor that byte `offset` lies in. */
static size_t tensor_at(const tare_synth_file *s, uint64_t offset) {
    return tare_part_of(&s->tensors->offset, s->n_tensors, sizeof *s->tensors, offset);
}

tare_status tare_synth_read(void *ctx, uint64_t offset, void *buf, size_t n) {
    const tare_synth_file *s = ctx;
    uint8_t *out = buf;
    uint8_t run[RUN * sizeof(float)];
    const uint64_t run_bytes = (uint64_t)RUN * s->element_bytes;
    for (size_t i = tensor_at(s, offset); n > 0; i++) {
        const tare_synth_tensor *t = &s->tensors[i];
        uint64_t end = i + 1 < s->n_tensors ? s->tensors[i + 1].offset : UINT64_MAX;
        while (n > 0 && offset < end) {
            uint64_t skip = (offset - t->offset) % run_bytes;
            uint64_t first = (offset - t->offset - skip) / s->element_bytes;
            size_t take = (size_t)tare_min_u64(tare_min_u64(run_bytes - skip, n), end - offset);
            if (take == run_bytes) {
                make_run(out, s, t, first);
            } else {
                make_run(run, s, t, first);
                memcpy(out, run + skip, take);
            }
            out += take;
            offset += take;
            n -= take;
        }
    }
    return TARE_OK;
}

/* Factors of 8 to 20, in steps of 1/16, which are exact. */
void tare_synth_add_channels(tare_synth_file *s, uint64_t seed, uint64_t cols) {
    uint64_t key = tare_synth_key(seed, "channels", 8) ^ cols;
    for (uint64_t i = 0; i < cols / TARE_SYNTH_CHANNEL_STEP; i++) {
        uint64_t bits = tare_synth_word(key, i);
        uint64_t place = i * TARE_SYNTH_CHANNEL_STEP + bits % TARE_SYNTH_CHANNEL_STEP;
        s->channels[s->n_channels++] =
            (tare_synth_channel){cols, place, (float)(128 + (bits >> 32) % 193) / 16};
    }
}
