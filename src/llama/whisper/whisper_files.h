/* SPDX-License-Identifier: MIT
 *
 * The texts of a Whisper model's side files. */
#ifndef TARE_LLAMA_WHISPER_FILES_H
#define TARE_LLAMA_WHISPER_FILES_H

#include "base/alloc.h"
#include "base/buffer.h"

typedef struct tare_whisper_sizes {
    uint64_t vocab_size, n_mels, width;
    uint64_t audio_context, n_encoder, encoder_heads, encoder_ffn;
    uint64_t text_context, n_decoder, decoder_heads, decoder_ffn;
} tare_whisper_sizes;

/* Which ids special tokens have. */
typedef struct tare_whisper_ids {
    uint32_t end; /* of a text; all others are behind it */
    uint32_t n_languages;
    bool is_multilingual;
} tare_whisper_ids;

/* False: no vocabulary of Whisper has this size. */
bool tare_whisper_ids_of(tare_whisper_ids *out, uint64_t vocab_size);

void tare_whisper_put_config(tare_buffer *b, const tare_whisper_sizes *s);
void tare_whisper_put_preprocessor(tare_buffer *b, const tare_whisper_sizes *s);
void tare_whisper_put_generation(tare_buffer *b, const tare_whisper_sizes *s,
                                 const tare_whisper_ids *ids);
/* added_tokens.json, and tokenizer_config.json. */
void tare_whisper_put_added(tare_buffer *b, const tare_whisper_ids *ids);
void tare_whisper_put_tokenizer(tare_buffer *b, const tare_whisper_sizes *s,
                                const tare_whisper_ids *ids);
/* vocab.json, and merges.txt of the tokens that have a rank. */
tare_status tare_whisper_put_vocab(tare_buffer *b, const tare_str *tokens, size_t n,
                                   tare_arena *scratch, tare_error *err);
tare_status tare_whisper_put_merges(tare_buffer *b, const tare_str *tokens, size_t n,
                                    tare_arena *scratch, const tare_allocator *allocator,
                                    tare_error *err);

#endif
