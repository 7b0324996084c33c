/* SPDX-License-Identifier: MIT
 *
 * Tensor names: what Hugging Face calls them, what llama.cpp calls them. One table for all
 * architectures; an architecture says which of llama.cpp's tensors it has, and so decides where one
 * name means different things. */
#ifndef TARE_LLAMA_TENSOR_NAMES_H
#define TARE_LLAMA_TENSOR_NAMES_H

#include "base/alloc.h"

/* The names of one architecture. */
typedef struct tare_llama_names {
    struct tare_llama_name_slot *slots;
    uint32_t mask;
    const char *arch;
} tare_llama_names;

/* `tensors`: names of llama.cpp without "blk.N.", one blank between them; `arch`: the architecture
 * that has them. */
tare_status tare_llama_names_init(tare_llama_names *names, const char *arch, const char *tensors,
                                  tare_arena *arena, tare_error *err);
/* The name in llama.cpp of a tensor, with its ".weight" or ".bias"; one without either is a weight,
 * but where llama.cpp's names have neither. ptr NULL: the architecture has none such. ERR_NOMEM only. */
tare_status tare_llama_names_find(tare_str *out, const tare_llama_names *names, tare_str name,
                                  tare_arena *arena, tare_error *err);
/* Whether the last part of a name before ".weight" and the like is one of the words. */
bool tare_llama_is_one_of(tare_str word, const char *words);
/* Whether llama.cpp's name of a tensor, without "blk.N.", ends without ".weight". */
bool tare_llama_is_bare(tare_str architecture, tare_str word);
/* The next word of a list, which moves behind it; empty at the end. Words end with a blank, or with any of
 * these characters. */
tare_str tare_llama_next_word(const char **words);
tare_str tare_llama_next_of(const char **words, const char *separators);
/* The side of a tensor of llama.cpp as rows spell it: "dec." of "dec.attn_q", "" of most. Static. */
const char *tare_llama_side_of(tare_str name);

#endif
