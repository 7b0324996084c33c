/* SPDX-License-Identifier: MIT
 *
 * The tokenizer of a synthetic model: files as a Hugging Face directory has them. */
#ifndef TARE_OPS_SYNTH_TOKENIZER_H
#define TARE_OPS_SYNTH_TOKENIZER_H

#include "base/buffer.h"

#define TARE_SYNTH_TOKENS 512

/* tokenizer.json: byte-level BPE with as many tokens; tokenizer_config.json: with a chat template.
 * Both end in the buffer's status. */
void tare_synth_tokenizer_json(tare_buffer *out);
void tare_synth_tokenizer_config(tare_buffer *out);

/* Ids of the tokens that begin and end a text. */
uint32_t tare_synth_begin_token(void);
uint32_t tare_synth_end_token(void);

#endif
