/* SPDX-License-Identifier: MIT
 *
 * Special tokens between the files that tell of them. */
#ifndef TARE_LLAMA_SPECIALS_H
#define TARE_LLAMA_SPECIALS_H

#include "llama/tokenizer/context.h"

/* The texts of tokens with a role; len 0: none. */
typedef struct tare_llama_named {
    tare_str text[TARE_LLAMA_SPECIAL_COUNT];
    size_t n_roles; /* the first so many are looked up: MASK + 1, more with EOT and EOM */
} tare_llama_named;

bool tare_llama_has_id(const tare_llama_tokenizer *t, tare_llama_special special);
/* Sets an id; one that is set already keeps its place in the order. */
void tare_llama_set_id(tare_llama_tokenizer *t, tare_llama_special special, uint32_t id,
                       bool is_late);
/* Warns of a value in X_token_id of a file that is no number of a token; below 0 it stands for "no token". */
void tare_llama_note_no_id(const tare_llama_tokenizer *t, const tare_llama_file *file,
                           const char *role, const tare_json_value *v);
void tare_llama_set_add(tare_llama_tokenizer *t, tare_llama_add add, bool is_added);
/* What the post_processor of tokenizer.json puts around a text: add_* flags; it may name tokens
 * that tokenizer_config.json leaves out, or other ones. */
tare_status tare_llama_read_post_processor(tare_llama_tokenizer *t, tare_llama_named *named,
                                           tare_error *err);

/* EOS and other ends out of generation_config.json; after all other ids. */
tare_status tare_llama_find_ends(tare_llama_tokenizer *t, tare_error *err);

#endif
