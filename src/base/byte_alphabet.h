/* SPDX-License-Identifier: MIT
 *
 * GPT-2's alphabet of bytes: a character for each, all of which can be seen. Tokens that are bytes are
 * texts in it where only texts can be: in vocab.json, in GGUF. */
#ifndef TARE_BASE_BYTE_ALPHABET_H
#define TARE_BASE_BYTE_ALPHABET_H

#include <tare/base.h>

/* Writes bytes in the alphabet; `out` has room for two bytes of each. The number of bytes. */
size_t tare_byte_alphabet_text(char *out, tare_str bytes);
/* And back, into as many bytes as the text has at most; false: it has other characters. */
bool tare_byte_alphabet_bytes(char *out, size_t *n, tare_str text);

#endif
