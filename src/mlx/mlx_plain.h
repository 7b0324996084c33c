/* SPDX-License-Identifier: MIT
 *
 * A model in MLX's form as transformers has it. */
#ifndef TARE_MLX_MLX_PLAIN_H
#define TARE_MLX_MLX_PLAIN_H

#include "model/catalog.h"

/* What a model in transformers' form is for. */
typedef enum tare_mlx_use_of {
    TARE_MLX_AS_MODEL = 0,
    TARE_MLX_AS_TEXT, /* a text model for llama.cpp: experts stay in one tensor, under the names that they have
                       * without their numbers, and what is not read is not looked at */
    TARE_MLX_AS_TOWER /* an encoder for it */
} tare_mlx_use_of;

/* The same model under transformers' names and in its form, if it is one of MLX's; *out NULL: there is no
 * difference. Its tensors are those of `in`, which must outlive it. A model whose codes are tensors is not
 * looked at. CORRUPT: MLX's form is not complete. */
tare_status tare_mlx_plain(tare_model **out, const tare_model *in, tare_mlx_use_of use,
                           const tare_context *open, tare_error *err);
/* What of it MLX left out that routers choose experts with; NULL: nothing. */
tare_status tare_mlx_left_out(const char **what, const tare_model *in, tare_error *err);
/* The other way: what mlx-lm would not give its form itself where weights are packed. Weights that are packed stay
 * in reach, if their rows stay together. */
tare_status tare_mlx_formed(tare_model **out, const tare_model *in, const tare_context *open,
                            tare_error *err);
/* For a model whose experts stay tensors of their own: mlx-lm, which stacks them then, adds one to Qwen3-Next's norms
 * itself. */
tare_status tare_mlx_leave_norms(tare_model *formed, tare_error *err);
/* How many tensors of `in` are others there. */
size_t tare_mlx_changed(const tare_model *plain, const tare_model *in);

#endif
