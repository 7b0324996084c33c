/* SPDX-License-Identifier: MIT
 *
 * tare_pack_ladder: packing all models of a folder, with the files beside them, as one. */
#include "ops/ladder/ladder.h"

#include "base/report.h"
#include "base/str.h"
#include "format/format.h"
#include "ops/packing/pack_run.h"

/* What became of a model. */
static void tell_model(const tare_ladder *l, const tare_ladder_model *m) {
    size_t n_derived = 0, n_weighted = 0, n_blocks = 0;
    for (size_t i = m->first; i < m->first + m->n; i++) {
        n_blocks += l->all->catalog.tensors[i].encoding->kind == TARE_KIND_BLOCK;
        n_derived += l->derivations[i].is_set;
        n_weighted += l->derivations[i].importance != NULL;
    }
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "pack.derived");
    f.file = m->name;
    if (n_derived)
        tare_report_addf(l->context.report, &f,
                         "%zu of %zu tensors are made of larger models' when they are read%s",
                         n_derived, m->n, n_weighted ? ", some with an importance matrix" : "");
    f = TARE_FINDING(WARNING, TARE_OK, "pack.not-derived");
    f.file = m->name;
    if (n_blocks && n_derived < n_blocks / 2)
        tare_report_addf(l->context.report, &f,
                         "stored as it is, for the most part: made with an importance matrix that "
                         "is not in the folder, by another encoder, or of another model");
}

static tare_status pack(tare_pack_summary *out, const char *out_path, tare_ladder *l,
                        const char *folder, const tare_pack_options *options, tare_error *err) {
    tare_pack_options o = *options;
    o.directory = folder;
    TARE_TRY(tare_ladder_open(l, folder, o.context, err));
    TARE_TRY(tare_ladder_derive(l, err));
    const tare_pack_source source = {.format = tare_format_packing(),
                                     .model = l->all,
                                     .derivations = l->derivations,
                                     .has_files = true};
    TARE_TRY(tare_pack_run(out, out_path, &source, &o, err));
    for (size_t i = 0; i < l->n_models; i++) tell_model(l, &l->models[i]);
    return TARE_OK;
}

tare_status tare_pack_ladder(tare_pack_summary *out, const char *out_path, const char *folder,
                             const tare_pack_options *options, tare_error *err) {
    tare_ladder ladder;
    tare_pack_options o = tare_pack_options_default();
    tare_context context;
    tare_output_options output;
    TARE_REQUIRE(out_path && folder, err);
    if (out) TARE_TRY(tare_result_check(out, err));
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    TARE_TRY(tare_output_keep(&output, &o.output, err));
    if (o.lossy || o.n_bases)
        return tare_fail(err, TARE_ERR_ARG,
                         "several models are packed without loss, and without bases");
    const tare_status status = pack(out, out_path, &ladder, folder, &o, err);
    tare_ladder_free(&ladder);
    return status;
}
