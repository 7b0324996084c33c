/* SPDX-License-Identifier: MIT
 *
 * A Hugging Face directory as an output: model.safetensors, or shards and their index, and the
 * resources as files next to them. Typed keys are stored in the header of the first safetensors
 * file. */
#include "format/safetensors/safetensors.h"

tare_status tare_hf_plan(tare_write_plan *out, const tare_catalog *catalog,
                         const tare_write_options *options, tare_error *err) {
    out->is_directory = true;
    TARE_TRY(tare_safetensors_plan_files(out, catalog, options, false, err));
    return tare_plan_resource_files(out, catalog, err);
}
