/* SPDX-License-Identifier: MIT
 *
 * What an output may take the place of. */
#ifndef TARE_OPS_OUTPUT_REPLACED_H
#define TARE_OPS_OUTPUT_REPLACED_H

#include "model/catalog.h"

/* With `force` a directory is replaced together with its contents; one without a model is kept, as
 * it may hold other data (ERR_ARG), but an empty one may be replaced. */
tare_status tare_check_replaced(const char *out_path, tare_error *err);
/* Whether writing to the path would replace a file of the model; NULL: no model. */
bool tare_replaces_model(const char *out_path, const tare_model *model);
/* Permissions that some file of the model does not give: what is made of it must not, either. */
uint16_t tare_model_withheld(const tare_model *model);

#endif
