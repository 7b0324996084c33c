/* SPDX-License-Identifier: MIT
 *
 * A model whose weights are being packed: which they are, and where the bytes of their parts lie in a
 * virtual file. Encoded in blocks of rows when they are read. */
#ifndef TARE_OPS_SCHEMES_SCHEME_MODEL_H
#define TARE_OPS_SCHEMES_SCHEME_MODEL_H

#include "base/cache.h"
#include "model/catalog.h"
#include "ops/schemes/writers.h"
#include "ops/strict.h"
#include "quantized/groups.h"

/* A tensor that a weight is stored in. */
typedef struct tare_stored_part {
    uint64_t start, size; /* in the virtual file */
    size_t weight;        /* which it belongs to */
    tare_written_kind kind;
    uint64_t line; /* bytes of a row of the part */
    uint64_t rows; /* of the weight, that a row of the part is of */
    uint64_t at;   /* in a block */
} tare_stored_part;

typedef struct tare_packed_weight {
    size_t tensor;             /* of the input */
    tare_scheme_choice scheme; /* writer NULL: its numbers, in the type of the model's */
    tare_encoding_id type;     /* of the model's numbers */
    tare_encoding_id scale;    /* of scales and offsets */
    tare_codes_form held; /* as it is stored, if those are codes of the scheme; else kind NONE */
    float factor;         /* of held scales, as the scheme stores it */
    float raised;         /* what held scales are multiplied by, to have that factor */
    bool is_rounded;      /* the factor is */
    float input;          /* what scales its input; 0: nothing is known, or wanted */
    tare_str module;      /* its name less ".weight" */
    uint64_t n_rows, cols, group, n_groups;
    uint64_t first_row;  /* of the tensor's, that it begins with */
    bool is_slice;       /* it is one of several of a tensor (slices.c) */
    size_t next_slice;   /* the number of the next one; SIZE_MAX: none */
    uint64_t block_rows; /* that are encoded at once */
    size_t block_bytes;
    size_t first_part, n_parts;
    tare_str stack;          /* the module that has it and its like in one tensor; len 0: none */
    uint64_t place;          /* in it */
    size_t next_in_stack;    /* the number of the next one; SIZE_MAX: none */
    size_t set;              /* of the weights that share a factor: the number of the first one */
    size_t next_in_set;      /* the number of the next one; SIZE_MAX: none */
    const float *importance; /* of each column; NULL: none */
} tare_packed_weight;

/* Where a part begins in the virtual file. */
typedef struct tare_part_place {
    uint64_t start;
    size_t part;
} tare_part_place;

typedef struct tare_scheme_work {
    const tare_model *in;
    tare_model
        *plain; /* what that is of a model that is MLX's, for others; NULL: it is the caller's */
    const tare_allocator *allocator;
    tare_packed_weight *weights;
    size_t n_weights;
    const int64_t *weight_of; /* of each tensor of the input; -1: it is taken as it is */
    tare_stored_part *parts;
    size_t n_parts;
    tare_part_place *places; /* of all parts, in the order of the file */
    size_t n_places;
    tare_cache *blocks, *factors;
} tare_scheme_work;

struct tare_scheme_search;

/* Whether a weight's codes and scales are some of its scheme's: fills in `held` and `scale`. */
tare_status tare_scheme_find_codes(const struct tare_scheme_search *s, tare_packed_weight *w,
                                   tare_error *err);
/* Brings the scales of weights that share a factor to the factor of one of them: whether scales hold that
 * exactly. `first` is the first of the weights, all of which have codes. */
tare_status tare_scheme_share_factor(bool *is_exact, struct tare_scheme_search *s, size_t first,
                                     tare_error *err);
/* Rows [first, first + n) of such a weight. */
tare_status tare_scheme_repack(uint8_t *codes, tare_group *groups, const tare_scheme_work *work,
                               const tare_packed_weight *w, uint64_t first, uint64_t n,
                               tare_error *err);

/* What is asked for, and what is found (choose.c). */
typedef struct tare_scheme_search {
    const tare_model *in;
    tare_model *
        plain; /* what that is made of, where names and form have to be MLX\'s, or must not; or NULL */
    const tare_scheme_options *options;
    tare_scheme_choice scheme;
    const tare_scheme_choice *of_rules;
    tare_arena *arena;
    tare_strict strict;
    tare_encoding_id type; /* of the model's numbers, where a tensor does not tell */
    uint64_t hidden;       /* what a layer takes and gives; 0: stacks of experts are not known */
    tare_packed_weight *weights;
    int64_t *weight_of;
    size_t n_weights, n_packed;
} tare_scheme_search;

/* Finds the weights that are packed, and those that have to be written in another type than they are
 * stored in. */
tare_status tare_scheme_choose(tare_scheme_search *s, tare_error *err);

/* The first tensor of those that servers fuse with one; itself, if there are none before it. */
size_t tare_scheme_fused_with(const tare_model *in, size_t tensor);

/* What a stack of experts without their numbers becomes in the output: matrices of its own for each
 * (slices.c). 0: it is none, or it is not known which way its matrices lie. */
size_t tare_scheme_slices(const tare_scheme_search *s, size_t tensor);
/* The hidden size of a model that has its stacks as rows of outputs; 0: it has not. */
tare_status tare_scheme_find_hidden(tare_scheme_search *s, tare_error *err);
/* Slice i of a tensor as a weight: its module, in the arena, and rows. */
tare_status tare_scheme_cut(tare_packed_weight *w, const tare_scheme_search *s, size_t i,
                            tare_error *err);

/* Joins weights that are one tensor in the output (stacks.c). */
tare_status tare_scheme_find_stacks(tare_scheme_search *s, tare_error *err);

/* Bytes [from, from + n) of a part. */
tare_status tare_scheme_part_bytes(uint8_t *out, tare_scheme_work *work, const tare_stored_part *p,
                                   uint64_t from, size_t n, tare_error *err);
/* The type of a part. */
tare_encoding_id tare_scheme_type_of(const tare_packed_weight *w, const tare_written_part *p);
/* Lays out the parts of a weight: `line`, `rows` and `at` of each, `block_rows` and `block_bytes`. */
void tare_scheme_lay_out(tare_packed_weight *w, tare_stored_part *parts);

/* config.json with the settings of the scheme; in the arena. *beside: a file of its own that its
 * family has; ptr NULL: none. */
#define TARE_SCHEME_FILE "hf_quant_config.json"
tare_status tare_scheme_config(tare_str *out, tare_str *beside, const tare_scheme_search *s,
                               tare_arena *arena, tare_error *err);

#endif
