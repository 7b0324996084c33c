/* SPDX-License-Identifier: MIT
 *
 * What reading and writing whisper.cpp's models share: keys of the numbers at their beginning, and
 * the types in which whisper.cpp loads a tensor. */
#ifndef TARE_FORMAT_WHISPER_WHISPER_H
#define TARE_FORMAT_WHISPER_WHISPER_H

#include "format/format.h"

#define TARE_WHISPER_MAGIC     "lmgg"
#define TARE_WHISPER_FILTERS   "mel_filters"
#define TARE_WHISPER_TOKENS    "whisper.tokens"
#define TARE_WHISPER_FILE_TYPE "whisper.file_type"

/* Vocabularies of the models that there are; other programs' files begin with the same magic. */
enum { TARE_WHISPER_VOCABULARY_LEAST = 51864, TARE_WHISPER_VOCABULARY_MOST = 51999 };

enum {
    TARE_WHISPER_DIMS = 4,
    TARE_WHISPER_NUMBERS = 11,
    TARE_WHISPER_BLOCKS_NOW = 2, /* version of ggml's block formats, in thousands of a file type */
};

/* Keys of the numbers, in their order; the last is the file type. */
extern const char *const tare_whisper_numbers[TARE_WHISPER_NUMBERS];

bool tare_whisper_has_encoding(const tare_encoding *e);
/* The type that whisper.cpp loads a tensor in: vectors, positions, filters and the biases of
 * convolutions are F32, convolutions are no blocks, matrices are what the file type says. */
tare_fixed_type tare_whisper_fixed_type(tare_str name, uint32_t n_dims);
/* The number of a file type; false: there is none. */
bool tare_whisper_file_type(uint32_t *out, const tare_encoding *of_matrices);

tare_status tare_whisper_plan(tare_write_plan *out, const tare_catalog *catalog,
                              const tare_write_options *options, tare_error *err);
/* Brings the file type up to date with the tensors. */
void tare_whisper_restate(tare_catalog *catalog);

#endif
