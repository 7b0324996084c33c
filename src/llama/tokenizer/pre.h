/* SPDX-License-Identifier: MIT
 *
 * Which splitting of text llama.cpp has under which name, and finding the name by the structure of
 * a pre_tokenizer: its stages are brought into one form and looked up. No text is tokenized for it.
 */
#ifndef TARE_LLAMA_PRE_H
#define TARE_LLAMA_PRE_H

#include "llama/tokenizer/context.h"

#define TARE_LLAMA_MOST_STAGES 8

/* A pre_tokenizer as a row of patterns, each applied to the pieces of the one before. */
typedef struct tare_llama_stages {
    tare_str patterns[TARE_LLAMA_MOST_STAGES];
    size_t n;
    bool is_too_long;       /* there are more */
    bool adds_blank;        /* it puts a blank in front of a text */
    bool has_byte_alphabet; /* it ends in the byte alphabet */
} tare_llama_stages;

/* A way to split, and who has it. */
typedef struct tare_llama_splitting {
    const char *name; /* of the class, for the table of names */
    const char *patterns[TARE_LLAMA_MOST_STAGES];
} tare_llama_splitting;

/* A name of tokenizer.ggml.pre, and what llama.cpp does by it besides splitting. */
typedef struct tare_llama_pre {
    const char *name;
    const char *splitting;
    bool ignores_merges;
    bool adds_bos;     /* unless add_bos_token says otherwise */
    bool keeps_blanks; /* in front of punctuation, when it makes text of tokens */
} tare_llama_pre;

/* A name that llama.cpp's converter gives to models of a class where several would do. */
typedef struct tare_llama_tie {
    const char *splitting;
    const char *hf_class;        /* begins with it */
    const char *tokenizer_class; /* of tokenizer_config.json begins with it; NULL: any */
    uint64_t vocab_size;         /* 0: any */
    const char *pre;
} tare_llama_tie;

/* What a tokenizer class of Hugging Face's library implies where there is no tokenizer.json. */
typedef struct tare_llama_slow_class {
    const char *tokenizer_class;
    const char *pre;
    const char *specials[6]; /* its special tokens, where no file tells them */
} tare_llama_slow_class;

/* Rows in order; NULL beyond the end. */
const tare_llama_splitting *tare_llama_splitting_row(size_t i);
const tare_llama_pre *tare_llama_pre_row(size_t i);
const tare_llama_tie *tare_llama_tie_row(size_t i);
const tare_llama_slow_class *tare_llama_slow_class_find(tare_str tokenizer_class);
const tare_llama_pre *tare_llama_pre_find(tare_str name);

/* A pattern in the one form: white space characters as escapes, members of character classes
 * sorted, contractions spelled one way, greedy for possessive. ptr NULL: memory is out. */
tare_str tare_llama_normal_pattern(tare_str pattern, tare_arena *arena);
/* The stages of a pre_tokenizer; type END: none. */
tare_status tare_llama_read_stages(tare_llama_stages *out, const tare_json_value *pre_tokenizer,
                                   tare_arena *arena, tare_error *err);
/* Sets t->pre for a byte-level BPE. UNSUPPORTED with TARE_CODE_UNKNOWN_PRE: llama.cpp has no
 * splitting like it. */
tare_status tare_llama_choose_pre(tare_llama_tokenizer *t, tare_error *err);
/* For a file that has one pattern; it ignores merges, as ranks do. */
tare_status tare_llama_choose_pre_by_pattern(tare_llama_tokenizer *t, const tare_llama_file *file,
                                             const tare_json_value *pattern, tare_error *err);
/* Sets it to a name; ERR_ARG: llama.cpp knows none like it. */
tare_status tare_llama_set_pre(tare_llama_tokenizer *t, const char *name, tare_error *err);

#endif
