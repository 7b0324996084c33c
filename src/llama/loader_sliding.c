/* SPDX-License-Identifier: MIT
 *
 * Which blocks look at no more than a window of the tokens before, as llama.cpp's loader has it: by a list, or by
 * a number, all but every so manieth. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/tensor_names.h"

/* When blocks have windows at all. */
typedef enum windows_when {
    ALWAYS,
    WITH_KEY,    /* attention.sliding_window is above 0 */
    UNLESS_ZERO, /* it is not 0 */
    OF_64,       /* the model has 64 blocks */
} windows_when;

/* `step`: without attention.sliding_window_pattern every so manieth block has no window, the first of so many
 * or the last; 0: there has to be a list. */
static const struct {
    const char *archs;
    uint64_t step;
    bool is_first_whole;
    windows_when when;
} rows[] = {
    {"cohere2 exaone-moe muse-glimmer", 4, false, ALWAYS},
    {"afmoe mellum olmo2", 4, false, WITH_KEY},
    {"llama4", 4, false, UNLESS_ZERO},
    {"exaone4", 4, false, OF_64},
    {"cohere2moe", 4, true, ALWAYS},
    {"laguna smallthinker", 4, true, WITH_KEY},
    {"gemma2 gpt-oss", 2, false, ALWAYS},
    {"gemma3n", 5, false, ALWAYS},
    {"gemma-embedding gemma-embedding2", 6, false, ALWAYS},
    {"gemma3", 6, false, WITH_KEY},
    {"plamo3", 8, false, WITH_KEY},
    {"modern-bert", 3, true, WITH_KEY},
    {"dots3note gemma4 gemma4-assistant granite_swa maple mimo2 spark2_5 step35", 0, false, ALWAYS},
};

/* Blocks, but those that predict more tokens. */
static uint64_t main_blocks(const tare_model *gguf, tare_str architecture) {
    const uint64_t n = tare_llama_number_of_key(gguf, architecture, "block_count", 0);
    return n -
           tare_min_u64(n, tare_llama_number_of_key(gguf, architecture, "nextn_predict_layers", 0));
}

static bool are_there(const tare_model *gguf, tare_str architecture, windows_when when) {
    static const char name[] = "attention.sliding_window";
    switch (when) {
    case ALWAYS:
        break;
    case WITH_KEY:
        return tare_llama_number_of_key(gguf, architecture, name, 0) > 0;
    case UNLESS_ZERO:
        return tare_llama_number_of_key(gguf, architecture, name, 1) > 0;
    case OF_64:
        return main_blocks(gguf, architecture) == 64;
    }
    return true;
}

bool tare_llama_next_is_set(tare_array_walk *walk) {
    tare_value v = {0};
    uint64_t n = 0;
    if (!tare_array_next(&v, walk)) return false;
    return v.type == TARE_VALUE_BOOL ? v.as.u > 0 : tare_value_u64(&n, &v) && n > 0;
}

static bool is_set(const tare_array *list, uint64_t i) {
    tare_array_walk walk;
    bool is = false;
    if (i >= list->count || list->count > TARE_LLAMA_MOST_BLOCKS) return false;
    tare_array_begin(&walk, list);
    for (uint64_t k = 0; k <= i; k++) is = tare_llama_next_is_set(&walk);
    return is;
}

bool tare_llama_has_windows(const tare_model *gguf, tare_str architecture) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (tare_llama_is_one_of(architecture, rows[i].archs))
            return are_there(gguf, architecture, rows[i].when);
    return false;
}

bool tare_llama_has_window(const tare_model *gguf, tare_str architecture, uint64_t block) {
    static const char name[] = "attention.sliding_window_pattern";
    const tare_value *pattern = tare_llama_value_of_key(gguf, architecture, name);
    if (block == TARE_LLAMA_OF_MODEL || !tare_llama_has_windows(gguf, architecture)) return false;
    if (tare_str_is(architecture, "dots3note") && block >= main_blocks(gguf, architecture))
        return true; /* predicting more tokens is done within one */
    if (pattern && pattern->type == TARE_VALUE_ARRAY) return is_set(&pattern->as.a, block);
    if (block >= main_blocks(gguf, architecture)) return false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!tare_llama_is_one_of(architecture, rows[i].archs)) continue;
        const uint64_t step =
            rows[i].step ? tare_llama_number_of_key(gguf, architecture, name, rows[i].step) : 1;
        if (step == 0) return true;
        return rows[i].is_first_whole ? block % step != 0 : block % step < step - 1;
    }
    return false;
}

uint64_t tare_llama_windows(const tare_model *gguf, tare_str architecture, uint64_t blocks) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < blocks; i++) n += tare_llama_has_window(gguf, architecture, i);
    return n;
}
