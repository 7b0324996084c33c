/* SPDX-License-Identifier: MIT
 *
 * What MLX calls a model's tensors, beside what transformers does, and what differs in them. */
#ifndef TARE_MLX_MLX_NAMES_H
#define TARE_MLX_MLX_NAMES_H

#include "base/json_node.h"
#include "model/catalog.h"

/* How transformers' tensor is made of MLX's. */
typedef enum tare_mlx_form {
    TARE_MLX_SAME = 0, /* it has another name */
    TARE_MLX_EACH,     /* a matrix of a stack for each expert, whose number is '#' in the name */
    TARE_MLX_ABOVE,    /* of two: the rows of the first, then those of the second, in each matrix */
    TARE_MLX_BESIDE,   /* of two, rows as columns: those of the first, then those of the second */
    TARE_MLX_MINGLED,  /* of two, rows as columns, in turns */
    TARE_MLX_TURNED,   /* rows as columns */
    TARE_MLX_LAST_TWO, /* the last two dimensions, one of which is 1, in the other order */
    TARE_MLX_LESS_ONE, /* its numbers less 1, where convolutions are MLX's, too */
    TARE_MLX_KEYS_VALUES,     /* of two: a head's keys, rows as columns, above its values */
    TARE_MLX_VECTOR,          /* a vector of all its numbers */
    TARE_MLX_GATHERED,        /* of each expert's, whose number is '#' in MLX's name: all rows */
    TARE_MLX_GATHERED_TURNED, /* the same, rows as columns */
    TARE_MLX_CHANNELS_LAST,   /* [out, in, height, width] of a convolution; MLX has `in` last */
    TARE_MLX_DIVIDED,    /* its numbers over factors of config.json, where convolutions are MLX's */
    TARE_MLX_NOT_UNDONE, /* tare does not know how */
    TARE_MLX_LEFT_OUT,   /* MLX has it not */
} tare_mlx_form;

typedef struct tare_mlx_row {
    const char
        *kinds; /* words: types of models, with '-' those without experts alone; NULL: all that
                          no other row of the name is for */
    const char *name; /* a part of MLX's name; one that begins without '.': its beginning; one that
                           ends without '.': its end */
    const char *second; /* the same of the other tensor that it is made of; NULL: there is none */
    const char *plain;  /* what stands there in transformers' name */
    tare_mlx_form form;
    bool is_always; /* also where stacks of experts stay: they have no other name there */
} tare_mlx_row;

/* What a model is: the types that config.json names, of the whole and of the text model. */
typedef struct tare_mlx_kind {
    tare_str whole, text;
    uint64_t hidden; /* what a layer takes and gives; 0: it does not say */
    bool has_experts;
    const tare_json_node *config; /* NULL: there is none */
} tare_mlx_kind;

enum { TARE_MLX_FACTORS = 5 /* the most that a matrix has */ };

/* What rows of a matrix were multiplied by. */
typedef struct tare_mlx_factor {
    uint64_t n_rows; /* of the only one it does not count */
    float by;
} tare_mlx_factor;

tare_status tare_mlx_kind_of(tare_mlx_kind *out, const tare_model *m, tare_arena *arena,
                             tare_error *err);
/* Whether tare knows what mlx-vlm makes of its encoder. */
bool tare_mlx_has_tower(const tare_mlx_kind *kind);
/* Whether a name tells that norms have one added, in MLX's form; in transformers', that they will have. */
bool tare_mlx_tells_norms(tare_str name, const tare_mlx_kind *kind, bool is_plain);
/* Whether mlx-lm leaves out the biases that correct a router's choice. */
bool tare_mlx_lacks_biases(const tare_mlx_kind *kind);
/* What a matrix of a DIVIDED row was multiplied by, in TARE_MLX_FACTORS of them; 0: config.json does not say. */
size_t tare_mlx_factors_of(tare_mlx_factor *to, tare_str name, const tare_mlx_kind *kind);
/* The row that a tensor's name is of: experts, and what is fused with its like; everything else.
 * NULL: there is none. */
const tare_mlx_row *tare_mlx_stack_row(tare_str name, const tare_mlx_kind *kind);
const tare_mlx_row *tare_mlx_other_row(tare_str name, const tare_mlx_kind *kind);
/* The row whose form a tensor of transformers' would have to be given for MLX, which mlx-lm does not do itself
 * where weights are packed, or others of them are MLX's already. NULL: there is none. */
const tare_mlx_row *tare_mlx_row_of_plain(tare_str name, const tare_mlx_kind *kind);
/* Whether a name has a part. */
bool tare_mlx_is_in(tare_str name, const char *part);
/* The name with what a row has of it replaced, in the arena; ptr NULL: memory is out. */
tare_str tare_mlx_replaced(tare_str name, const char *part, const char *by, tare_arena *arena);
/* The name with another number where a part has '#', in the arena; the number there, -1: there is no such part. */
tare_str tare_mlx_numbered(tare_str name, const char *part, uint64_t number, tare_arena *arena);
int64_t tare_mlx_number(tare_str name, const char *part);
/* Where the module begins in which a model has its like: another beginning of the name. The name itself:
 * it has none. ptr NULL: memory is out. */
tare_str tare_mlx_rooted(tare_str name, const tare_mlx_kind *kind, tare_arena *arena);
/* The same of what is written for MLX. */
tare_str tare_mlx_unrooted(tare_str name, const tare_mlx_kind *kind, tare_arena *arena);
/* The module that MLX has an expert's module in, and the expert's number; ptr NULL in *out: it is none. */
tare_status tare_mlx_stack_of(tare_str *out, int64_t *expert, tare_str module,
                              const tare_mlx_kind *kind, tare_arena *arena, tare_error *err);

#endif
