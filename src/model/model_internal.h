/* SPDX-License-Identifier: MIT
 *
 * What the files of a model share: the steps of tare_model_finish, and how its tensors fail. */
#ifndef TARE_MODEL_MODEL_INTERNAL_H
#define TARE_MODEL_MODEL_INTERNAL_H

#include "model/catalog.h"

/* Recognises packed schemes and companions (scheme.c); fills m->notes. Needs the tensor index. */
tare_status tare_model_find_schemes(tare_model *m, tare_error *err);
/* Reads what config.json says of the hyperparameters (param.c). A file that is not valid JSON of
 * this kind is reported and ignored: nothing in the model depends on it. Needs the resource index.
 */
tare_status tare_model_read_config(tare_model *m, tare_report *report, tare_error *err);

/* Allocates room for information about list planes, if a tensor has one. */
tare_status tare_model_expect_records(tare_model *m, tare_error *err);

/* Names the tensor in the error of a step that failed; gives the step's status (tensor_bytes.c). */
tare_status tare_tensor_name_error(const tare_model *m, size_t tensor, tare_status s,
                                   tare_error *err);

/* How a tensor of factors maps to a tensor of weights: each matrix of `rows` rows has n_rows x
 * n_cols factors, each for block_rows x block_cols numbers. */
typedef struct tare_block_scales {
    uint64_t rows, n_rows, n_cols, block_rows, block_cols;
} tare_block_scales;

/* False if the shapes do not match. */
bool tare_block_scales_fit(tare_block_scales *out, const tare_tensor *weights,
                           const tare_tensor *scales);

#endif
