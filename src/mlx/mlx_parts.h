/* SPDX-License-Identifier: MIT
 *
 * A model in transformers' form while it is made. */
#ifndef TARE_MLX_MLX_PARTS_H
#define TARE_MLX_MLX_PARTS_H

#include "mlx/mlx_names.h"
#include "mlx/mlx_plain.h"
#include "quantized/made.h"

/* What becomes of a tensor of the input. */
typedef struct tare_mlx_use {
    const tare_mlx_row *row; /* NULL: it stays as it is, but for its name */
    tare_str name;           /* of what is made of it */
    int64_t second;          /* the other one that this is made of; -1: there is none */
    const uint32_t *all;     /* all experts' that this is made of, itself first */
    size_t n_all;            /* 0: none */
    bool is_second;          /* it is that itself: nothing else is made of it */
    bool is_half;            /* it would have to be that */
    tare_str
        second_name; /* for MLX: of the other one that is made of it; ptr NULL: there is none */
    bool differs;
} tare_mlx_use;

typedef struct tare_mlx_making {
    const tare_model *in;
    tare_model *out;
    tare_mlx_use_of use_of;
    bool is_for_mlx; /* the other way */
    bool is_formed;  /* convolutions, or names that tell as much, are MLX's; for MLX, will be */
    bool has_channels_last, has_channels_first; /* convolutions of pictures, as their shapes tell */
    tare_arena *arena;                          /* of what is needed while it is made */
    tare_mlx_kind kind;
    tare_mlx_use *uses; /* of each tensor of the input */
    size_t n;           /* tensors of the output */
    tare_made_file *file;
    uint32_t file_index;
    uint64_t end; /* of the file */
    tare_origin *origins;
    tare_same_rows *same_rows;
    size_t *sources; /* of each tensor of the output, the first of the input that it is made of */
    tare_tensor_note *notes; /* NULL: the input has none */
    tare_error *err;
} tare_mlx_making;

/* How many tensors are made of one. CORRUPT: it is no stack that its name says it to be. */
tare_status tare_mlx_count(size_t *n, const tare_mlx_making *k, size_t tensor);
/* Makes numbers that get another one more what they were. */
void tare_mlx_add_nothing(tare_made_file *file);
/* Appends them to the catalog. */
tare_status tare_mlx_make(tare_mlx_making *k, size_t tensor);

#endif
