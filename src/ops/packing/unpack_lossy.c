/* SPDX-License-Identifier: MIT
 *
 * Unpacking what was packed with loss. */
#include "ops/packing/unpack_lossy.h"

#include <tare/ops.h>

#include "base/report.h"
#include "base/str.h"
#include "format/format.h"
#include "model/lossy_record.h"
#include "ops/steps.h"

static const tare_format *format_of(const tare_lossy *lossy) {
    const tare_format *f;
    for (size_t i = 0; (f = tare_format_row(i)) != NULL; i++)
        if (tare_str_is(lossy->container, f->name))
            return f->write.plan && !f->write.pack ? f : NULL;
    return NULL;
}

static tare_status write_model(tare_unpack_result *result, const char *out_path,
                               const tare_model *m, const tare_unpack_options *o, tare_error *err) {
    const tare_format *format = m->lossy ? format_of(m->lossy) : NULL;
    tare_convert_options c = TARE_CONVERT_OPTIONS_INIT;
    if (!format)
        return tare_fail(err, TARE_ERR_ARG,
                         "the container holds a model but no files: convert it instead");
    TARE_COPY_RUN_OPTIONS_OUTPUT(&c, o);
    c.to = format->name;
    c.progress = o->progress;
    c.progress_ctx = o->progress_ctx;
    if (m->lossy->n_tensors)
        tare_report_addf(
            o->report, &TARE_FINDING(WARNING, TARE_OK, "unpack.lossy"),
            "packed with loss: what is written is %s with the tensors in their types, but "
            "not the original",
            format->name);
    TARE_TRY(tare_convert(out_path, m, &c, err));
    result->is_directory = format->is_directory;
    result->n_files = format->is_directory ? 1 + m->catalog.n_resources : 1;
    result->n_bytes = tare_catalog_bytes(&m->catalog);
    return TARE_OK;
}

tare_status tare_unpack_lossy(tare_unpack_result *result, const char *out_path,
                              const tare_source *in, const tare_unpack_options *options,
                              tare_error *err) {
    tare_open_options open = TARE_OPEN_OPTIONS_INIT;
    tare_model *m;
    open.allocator = options->allocator;
    open.limits = options->limits;
    TARE_TRY(tare_model_open(&m, in, &open, err));
    tare_status status = write_model(result, out_path, m, options, err);
    tare_model_free(m);
    return status;
}
