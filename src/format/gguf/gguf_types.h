/* SPDX-License-Identifier: MIT
 *
 * ggml's numbers of tensor types. */
#ifndef TARE_FORMAT_GGUF_GGUF_TYPES_H
#define TARE_FORMAT_GGUF_GGUF_TYPES_H

#include <tare/encoding.h>

/* The encoding of a ggml type; NULL: not known. */
const tare_encoding *tare_gguf_type_encoding(uint32_t type);
/* The ggml type of an encoding; false: GGUF has none. */
bool tare_gguf_type_of(const tare_encoding *encoding, uint32_t *type);
/* What to do about a type that was taken out of ggml; NULL: it was not. Static. */
const char *tare_gguf_type_removed(uint32_t type);
/* The name a type has in ik_llama.cpp, whose further types are known by name only; NULL: none. */
const char *tare_gguf_type_elsewhere(uint32_t type);

#endif
