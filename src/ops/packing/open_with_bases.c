/* SPDX-License-Identifier: MIT
 *
 * Opens a model with the bases that it was packed against. Finding them needs digests, which is why
 * this is above the formats. */
#include <string.h>

#include "format/format.h"
#include "format/packed.h"
#include "model/catalog.h"
#include "ops/packing/bases.h"
#include "ops/steps.h"
#include "quantized/quantized.h"

/* A missing base makes reading fail later, but only for what refers to it. */
static tare_status find_bases(tare_packed *store, const tare_open_options *o, tare_error *err) {
    tare_error fault = TARE_ERROR_NONE;
    tare_status status = tare_bases_use(store, o->bases, o->n_bases, o->context, &fault);
    const bool is_missing = fault.code && strcmp(fault.code, TARE_CODE_NEEDS_BASE) == 0;
    if (status == TARE_OK || (is_missing && !o->needs_bases)) return TARE_OK;
    if (err) *err = fault;
    return status;
}

tare_status tare_model_open(tare_model **out, const tare_source *source,
                            const tare_open_options *options, tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(source, err);
    tare_open_options o = tare_open_options_default();
    tare_context context;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    TARE_REQUIRE(o.bases || o.n_bases == 0, err);
    TARE_TRY(tare_format_open(out, source, &o, err));
    tare_packed *store = tare_packed_of(*out);
    tare_status status = store ? find_bases(store, &o, err) : TARE_OK;
    if (status == TARE_OK) status = tare_quantized_open(*out, o.stored, err);
    if (status == TARE_OK && !o.stored) tare_quantized_report(*out, context.report);
    if (status != TARE_OK) {
        tare_model_free(*out);
        *out = NULL;
    }
    return status;
}

tare_status tare_open_path(tare_model **out, const char *path, const tare_open_options *options,
                           tare_error *err) {
    tare_source source = {
        .size = sizeof(tare_source), .kind = TARE_SOURCE_PATH, .name = path, .fd = -1};
    return tare_model_open(out, &source, options, err);
}
