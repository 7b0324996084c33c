/* SPDX-License-Identifier: MIT
 *
 * tare pack: what is packed, and how, from the options of a caller. */
#include <tare/experimental/packing.h>

#include "format/format.h"
#include "ops/lossy/lossy.h"
#include "ops/output/sinks.h"
#include "ops/packing/pack_run.h"

static tare_status pack_lossy(tare_pack_summary *out, const char *out_path, const tare_model *in,
                              tare_pack_options *o, tare_error *err) {
    tare_lossy_options own = tare_lossy_options_default();
    TARE_TRY(tare_options_read(&own, sizeof own, o->lossy, err));
    o->lossy = &own;
    return tare_pack_lossy(out, out_path, in, o, err);
}

static tare_status pack_to(tare_pack_summary *out, const char *out_path, const tare_output *output,
                           const tare_model *in, const tare_pack_options *options,
                           tare_error *err) {
    tare_pack_options o = tare_pack_options_default();
    tare_context context;
    tare_output_options written;
    in = tare_model_as_stored(in);
    if (out) TARE_TRY(tare_result_check(out, err));
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    TARE_TRY(tare_output_keep(&written, &o.output, err));
    tare_pack_source source;
    TARE_TRY(tare_pack_source_of(&source, in, &o, err));
    source.output = output;
    if (o.lossy && output)
        return tare_fail(err, TARE_ERR_ARG, "packing with loss makes a file of its own");
    if (o.lossy) return pack_lossy(out, out_path, in, &o, err);
    return tare_pack_run(out, out_path, &source, &o, err);
}

tare_status tare_pack(tare_pack_summary *out, const char *out_path, const tare_model *in,
                      const tare_pack_options *options, tare_error *err) {
    TARE_REQUIRE(out_path && in, err);
    return pack_to(out, out_path, NULL, in, options, err);
}

tare_status tare_pack_to(tare_pack_summary *out, const tare_output *output, const tare_model *in,
                         const tare_pack_options *options, tare_error *err) {
    TARE_REQUIRE(output && in, err);
    tare_output own;
    TARE_TRY(tare_output_read(&own, output, err));
    if (own.in_order)
        return tare_fail(err, TARE_ERR_ARG, "a packed model is not written in one go");
    return pack_to(out, NULL, &own, in, options, err);
}
