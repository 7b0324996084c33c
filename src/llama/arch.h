/* SPDX-License-Identifier: MIT
 *
 * An architecture: rows of names, keys and tensor operations. Adding one is adding rows to a file
 * of arch/ (docs/architectures.md, "Adding an architecture"). */
#ifndef TARE_LLAMA_ARCH_H
#define TARE_LLAMA_ARCH_H

#include <tare/experimental/llama.h>

#include "llama/formula.h"
#include "llama/tokenizer/tokenizer.h"

/* YaRN's scale of queries and keys, with this beside 0.1: by config.json, and by the keys. */
#define TARE_LLAMA_YARN(by)     "(1 + 0.1 * " by " * ln(max(rope.factor, 1)))"
#define TARE_LLAMA_YARN_KEY(by) "(1 + 0.1 * " by " * ln(max(rope.scaling.factor, 1)))"

/* A key of the output. Names get "ARCH." before them, but those of other spaces ("general.") and
 * those after '=' stay. Numbers of a TREE become an array of the type that its elements ask for. A
 * name that ends in "[]" is an array with a number for each `layer`, in "[list]" with one for each
 * element of that list, in "[3]" with three. A formula without a value makes no key; no formula takes
 * a key away that an earlier row set. */
typedef struct tare_llama_key {
    const char *name; /* NULL ends a list */
    tare_value_type type;
    const char *formula;
} tare_llama_key;

/* An operation on the tensors that match. In `match`, '*' is any text, '#' a number, '@' at the end
 * ".weight" or ".bias"; what begins with '=' is the name that llama.cpp has for the tensor, however it
 * is spelled here: rules on tensors that keep their names match so. `to` takes the place of what stands after the last '*' (NULL: the
 * name stays; from its '=' on a name of llama.cpp, "=blk.#.x" with the block's number, where a second
 * '#' is the last number of the name). `program`:
 * see program.h; NULL: only the name changes. All rules that match apply, each makes a tensor; where one
 * ends in "drop" or "as_is", no other does. */
typedef struct tare_llama_rule {
    const char *match; /* NULL ends a list */
    const char *to;
    const char *program;
} tare_llama_rule;

/* The mapping of one model, for what rows cannot express. */
struct tare_llama_mapping;
typedef tare_status (*tare_llama_hook)(struct tare_llama_mapping *map, tare_error *err);

/* The shape that a tensor had, where a rule gives it another: formulas with commas between them, in
 * which d0, d1 .. are the dimensions of what the (first) rule made of it, and `layer` is its block.
 * `match` is that of the rule; a rule that gives other names and has no such row is not taken back. */
typedef struct tare_llama_shape_row {
    const char *match; /* NULL ends a list */
    const char *was;
} tare_llama_shape_row;

/* What only the way back needs (docs/architectures.md, "The way back"). */
typedef struct tare_llama_back {
    const char *names; /* which of the names that a tensor or member of config.json may have it is
                          given, prefixes of blocks too, one blank between them; of a tower: what
                          patterns of its rules have in them, of which the first one counts */
    const char *const *config; /* "member = formula", over the file's keys: what its rows of keys do
                                  not tell, "member = formula | null": null, where transformers
                                  assumes something else; "member[] = formula": of each layer, "member[3] = ..": of
                                  so many numbers, "member{} = ..": these as a text with commas,
                                  "member[].x.y = ..": an object of each layer, its rows one after
                                  the other. NULL ends */
    const tare_llama_shape_row *shapes; /* NULL: none */
    const char
        *when; /* a formula over the keys that must hold instead of `requires`; NULL: that one.
                         The first row counts */
    const char *lead;   /* put before names, but lm_head's; NULL: nothing */
    const char *text;   /* of a tower: what names of its text model begin with in the model of both:
                         "from=to", one blank between them; NULL: they stay */
    const char *tokens; /* of a tower: members of that model's config.json that are ids of tokens:
                           "member=token"; NULL: none */
    const char *generated; /* tensors that a conversion makes of config.json, beside those of rotary
                              positions; NULL: none */
} tare_llama_back;
/* Rows of `config` that all have after their own, and that towers have instead. */
extern const char *const tare_llama_back_common[];
extern const char *const tare_llama_back_towers[];

typedef struct tare_llama_arch {
    const char *name;     /* general.architecture */
    const char *classes;  /* of Hugging Face, one blank between them */
    const char *tensors;  /* of llama.cpp, without "blk.N.", one blank between them */
    const char *optional; /* of these, what llama.cpp runs without here; NULL: only what it does in
                             all architectures (needed.c) */
    const char *requires; /* a formula that must hold; NULL: none. The first row that does counts */
    const char *cut;      /* texts that are cut out of names, one blank between them */
    const char *prefix;   /* put before names that do not have it; NULL: none */
    const char *const *defaults;  /* "name = formula" for what config.json leaves out; NULL ends */
    const tare_llama_key *first;  /* before the others of the architecture; NULL: none */
    const tare_llama_key *early;  /* right behind general.architecture; NULL: none */
    const tare_llama_key *own;    /* instead of the keys common to all; NULL: those */
    const tare_llama_key *keys;   /* after them; NULL: none */
    const tare_llama_rule *rules; /* NULL: none */
    const char *layers;           /* a formula of the number of blocks; NULL: the usual members */
    const char *extra_layers; /* what has the number of blocks beyond num_hidden_layers; NULL: 0 */
    bool drops_extra_layers;  /* tensors of blocks beyond the last are left out */
    bool drops_equal_output;  /* output.weight is left out where it equals the embeddings */
    bool drops_zero_biases;   /* biases are left out, all of which must be 0 */
    const char *nextn;        /* prefix of layers that predict more tokens, which llama.cpp has
                                     after the others: "mtp."; NULL: none */
    bool nextn_apart;         /* llama.cpp has them in a file of their own alone */
    bool gate_experts_first;  /* stacks of experts in the order gate, up, down */
    bool has_rope_freqs;      /* rope_freqs.weight where rope_type is llama3 or proportional */
    bool is_bert;             /* of BERT's family: not causal, pooling, labels of classes */
    bool has_pooling;         /* pooling_type from 1_Pooling/config.json or modules.json */
    bool quantizes_all;       /* only the number of dimensions decides about F32 */
    tare_llama_tokenizer_options tokenizer;
    bool is_draft; /* takes the tokenizer of the model that it drafts for (options.target), and what
                      formulas call "target." */
    const char *mask_token;      /* of a draft: the formula of its mask_token_id; NULL: none */
    bool ignores_vocab_size;     /* the vocabulary is as large as the tokenizer */
    const tare_llama_back *back; /* NULL: tare does not know the way back */
    tare_llama_hook extra;       /* keys and tensors that are generated; NULL: none */
    const struct tare_llama_tower
        *tower; /* vision or audio encoder (tower.h); NULL: a text model */
} tare_llama_arch;

/* The row for a class of Hugging Face, or for the one that it is the body of, and a model's config.json (whose defaults the row sets);
 * NULL: not known. */
const tare_llama_arch *tare_llama_arch_find(tare_str hf_class, tare_llama_config *config);
/* A formula of how many blocks config.json says there are. */
const char *tare_llama_layers(const tare_llama_arch *arch);
/* What is put before tensor names that do not have it; empty: nothing. */
tare_str tare_llama_arch_prefix(const tare_llama_arch *arch, tare_str hf_class);
/* The same among towers. */
const tare_llama_arch *tare_llama_tower_find(tare_str hf_class, tare_llama_config *config);
/* A Hugging Face class as the row spells it, or the first of the row; static. */
tare_str tare_llama_class_name(const tare_llama_arch *arch, tare_str name);
/* Row i of all; NULL beyond the end. */
const tare_llama_arch *tare_llama_arch_at(size_t i);
/* The same of towers. */
const tare_llama_arch *tare_llama_tower_at(size_t i);

#endif
