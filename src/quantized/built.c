/* SPDX-License-Identifier: MIT
 *
 * Models that a caller builds have packed weights as those of files have. */
#include <tare/build.h>

#include "model/model_internal.h"
#include "quantized/quantized.h"

tare_status tare_builder_finish(tare_model **out, tare_builder *builder, tare_error *err) {
    TARE_TRY(tare_builder_end(out, builder, err));
    const tare_status status = tare_quantized_open(*out, false, err);
    if (status == TARE_OK) return TARE_OK;
    tare_model_free(*out);
    *out = NULL;
    return status;
}
