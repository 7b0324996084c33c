/* SPDX-License-Identifier: MIT
 *
 * What the files of a model share: the steps of tare_model_finish, and how its tensors fail. */
#ifndef TARE_MODEL_MODEL_INTERNAL_H
#define TARE_MODEL_MODEL_INTERNAL_H

#include "model/catalog.h"

/* Reads what config.json says of the hyperparameters (param.c). A file that is not valid JSON of
 * this kind is reported and ignored: nothing in the model depends on it. Needs the resource index.
 */
tare_status tare_model_read_config(tare_model *m, tare_report *report, tare_error *err);

struct tare_builder;

/* tare_builder_finish, but for packed weights. */
tare_status tare_builder_end(tare_model **out, struct tare_builder *builder, tare_error *err);

/* Allocates room for information about list planes, if a tensor has one. */
tare_status tare_model_expect_records(tare_model *m, tare_error *err);

/* Names the tensor in the error of a step that failed; gives the step's status (tensor_bytes.c). */
tare_status tare_tensor_name_error(const tare_model *m, size_t tensor, tare_status s,
                                   tare_error *err);

#endif
