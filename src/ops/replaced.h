/* SPDX-License-Identifier: MIT
 *
 * What an output may take the place of. */
#ifndef TARE_OPS_REPLACED_H
#define TARE_OPS_REPLACED_H

#include "model/catalog.h"

/* With `force` a directory is replaced with all that is in it: one that holds no model is somebody
 * else's and stays (ERR_ARG). An empty one is nobody's. */
tare_status tare_check_replaced(const char *out_path, tare_error *err);
/* Whether to write to the path would take away a file of the model; NULL: there is none. */
bool tare_replaces_model(const char *out_path, const tare_model *model);

#endif
