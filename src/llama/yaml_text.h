/* SPDX-License-Identifier: MIT
 *
 * Texts as YAML writes them in a model card: plain, or in either kind of quotes. */
#ifndef TARE_LLAMA_YAML_TEXT_H
#define TARE_LLAMA_YAML_TEXT_H

#include "base/alloc.h"

/* What a scalar denotes: quotes, escapes and a comment behind it are gone; borrowed where nothing
 * had to be replaced, else in the arena. ptr NULL: memory is out. */
tare_str tare_llama_yaml_text(tare_str scalar, tare_arena *arena);
/* Bytes of the first item of "a, 'b, c', d": up to a comma outside of quotes. */
size_t tare_llama_yaml_item(tare_str items);
/* A text as UTF-8: each byte that is no part of a character becomes U+FFFD. */
tare_str tare_llama_valid_text(tare_str text, tare_arena *arena);

#endif
