/* SPDX-License-Identifier: MIT
 *
 * What ggml's header declares, as far as tests and benchmarks call its library, which they open
 * when they run. */
#ifndef TARE_JUDGE_GGML_LIBRARY_H
#define TARE_JUDGE_GGML_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GGML_TYPES = 43 }; /* numbers that ggml gives to types */

struct ggml_type_traits {
    const char *type_name;
    int64_t block, block_interleave;
    size_t block_bytes;
    bool is_quantized;
    void (*to_float)(const void *src, float *dst, int64_t n);
    void (*from_float)(const float *src, void *dst, int64_t n);
};

typedef const struct ggml_type_traits *(*ggml_traits_fn)(int type);
typedef size_t (*ggml_quantize_fn)(int type, const float *src, void *dst, int64_t start,
                                   int64_t n_rows, int64_t cols, const float *importance);

#endif
