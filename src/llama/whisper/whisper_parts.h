/* SPDX-License-Identifier: MIT
 *
 * Whisper's models under the names of whisper.cpp: what the two directions share. */
#ifndef TARE_LLAMA_WHISPER_PARTS_H
#define TARE_LLAMA_WHISPER_PARTS_H

#include "base/json_node.h"
#include "model/catalog.h"

#define TARE_WHISPER_NAME 128 /* bytes of the longest name, and more */

/* A tensor that such a model has. */
typedef struct tare_whisper_place {
    char hf[TARE_WHISPER_NAME], ours[TARE_WHISPER_NAME];
    bool is_column; /* a vector, which whisper.cpp has as a matrix of one column */
} tare_whisper_place;

/* The i-th, in the order of transformers, of a model of so many layers; false beyond the end. */
bool tare_whisper_place_at(tare_whisper_place *out, uint64_t i, uint64_t n_encoder,
                           uint64_t n_decoder);

enum { TARE_WHISPER_BINS = 201 }; /* of a spectrum of 400 samples */
/* n rows of mel filters (Slaney's, 16 kHz), as librosa computes them, little-endian. */
void tare_whisper_filters(uint8_t *out, size_t n);

/* whisper.tokens from vocab.json, else tokenizer.json. UNSUPPORTED: neither is there; CORRUPT: ids
 * with gaps, or tokens that are not in GPT-2's alphabet of bytes. */
tare_status tare_whisper_read_tokens(tare_value *out, const tare_model *hf, uint64_t most,
                                     tare_arena *arena, tare_error *err);

/* The way there. *out NULL with status OK: there is no config.json, so names are kept. UNSUPPORTED:
 * another architecture, a tensor too many, packed weights; CORRUPT: one too few. */
tare_status tare_whisper_map(tare_model **out, const tare_model *in, const tare_context *context,
                             tare_error *err);

/* Whether a model is one of whisper.cpp, in whatever container. */
bool tare_whisper_can_restore(const tare_model *model);
/* The way back: Hugging Face's names, and its side files. UNSUPPORTED: a tensor too many, or numbers
 * that no such model has; CORRUPT: a tensor or key too few. */
tare_status tare_whisper_restore(tare_model **out, const tare_model *in,
                                 const tare_context *context, tare_error *err);

#endif
