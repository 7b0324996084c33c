/* SPDX-License-Identifier: MIT
 *
 * What MLX calls a model's tensors, beside what transformers does, and what differs in them. */
#ifndef TARE_MLX_MLX_NAMES_H
#define TARE_MLX_MLX_NAMES_H

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
    TARE_MLX_KEYS_VALUES, /* of two: a head's keys, rows as columns, above its values */
    TARE_MLX_VECTOR,      /* a vector of its one number */
    TARE_MLX_NOT_UNDONE,  /* tare does not know how */
    TARE_MLX_LEFT_OUT,    /* MLX has it not */
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
} tare_mlx_kind;

tare_status tare_mlx_kind_of(tare_mlx_kind *out, const tare_model *m, tare_arena *arena,
                             tare_error *err);
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
/* Where the module begins in which a model has its like: another beginning of the name. The name itself:
 * it has none. ptr NULL: memory is out. */
tare_str tare_mlx_rooted(tare_str name, const tare_mlx_kind *kind, tare_arena *arena);
/* The same of what is written for MLX. */
tare_str tare_mlx_unrooted(tare_str name, const tare_mlx_kind *kind, tare_arena *arena);
/* The module that MLX has an expert's module in, and the expert's number; ptr NULL in *out: it is none. */
tare_status tare_mlx_stack_of(tare_str *out, int64_t *expert, tare_str module,
                              const tare_mlx_kind *kind, tare_arena *arena, tare_error *err);

#endif
