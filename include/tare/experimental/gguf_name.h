/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/gguf_name.h: the parts of the names of GGUF files.
 */
#ifndef TARE_EXPERIMENTAL_GGUF_NAME_H
#define TARE_EXPERIMENTAL_GGUF_NAME_H

#include <tare/base.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of "Base-8x7B-FineTune-v0.1-Q4_0-LoRA-00001-of-00003.gguf". Empty: absent. */
typedef struct tare_gguf_name {
    size_t size;
    tare_str sidecar; /* "mmproj", "mtp": a file that accompanies a model */
    tare_str base_name;
    tare_str size_label;
    tare_str fine_tune;
    tare_str version; /* "v1.0" if the name has none; is_version_assumed is set then */
    tare_str encoding;
    tare_str type;  /* "LoRA", "vocab" */
    uint32_t shard; /* 1-based; 0: none */
    uint32_t n_shards;
    bool is_version_assumed;
} tare_gguf_name;

TARE_DECLARE_INIT(tare_gguf_name)

/* Parses a file name (no directory). Of *out only `size` is read. The parts point into `name` (or
 * at static text). False: the name does not follow the convention. */
TARE_API bool tare_gguf_name_parse(tare_gguf_name *out, tare_str name);
/* Writes the name made of the parts, NUL-terminated, at most size - 1 bytes; returns the full
 * length. */
TARE_API size_t tare_gguf_name_format(char *buf, size_t size, const tare_gguf_name *name);
/* Derives the parts from a model's metadata and tensors, into *out as above. The strings are valid
 * as long as the model, or are in buf (at least 64 bytes) if computed. */
TARE_API void tare_gguf_name_of_model(tare_gguf_name *out, char *buf, size_t size,
                                      const tare_model *model);

#ifdef __cplusplus
}
#endif
#endif
