/* SPDX-License-Identifier: MIT
 *
 * tare unpack: files, or what was packed with loss. There are no files to restore of that, so the
 * model is written in the format that it was packed from, with its tensors in their types. */
#include <tare/convert.h>
#include <tare/experimental/llama.h>
#include <tare/experimental/unpack.h>
#include <tare/model.h>
#include <tare/output.h>

#include "base/report.h"
#include "base/str.h"
#include "format/format.h"
#include "model/lossy_record.h"
#include "ops/packing/unpack_run.h"
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
    tare_convert_options c = tare_convert_options_default();
    tare_llama_translate_options names = tare_llama_translate_options_default();
    const tare_output_options output = {
        .size = sizeof output, .force = o->output->force, .no_sync = o->output->no_sync};
    if (!format)
        return tare_fail(err, TARE_ERR_ARG,
                         "the container holds a model but no files: convert it instead");
    names.keep_names = true;
    c.names = &names;
    c.to = format->name;
    c.context = o->context;
    c.output = &output;
    if (m->lossy->n_tensors)
        tare_report_addf(
            o->context->report, &TARE_FINDING(WARNING, TARE_OK, "unpack.lossy"),
            "packed with loss: what is written is %s with the tensors in their types, but "
            "not the original",
            format->name);
    TARE_TRY(tare_convert(out_path, m, &c, err));
    result->is_directory = format->is_directory;
    result->n_files = format->is_directory ? 1 + m->catalog.n_resources : 1;
    result->n_bytes = tare_catalog_bytes(&m->catalog);
    return TARE_OK;
}

/* ERR_ARG: it was not packed with loss, or not from a format that can be written. */
static tare_status unpack_model(tare_unpack_result *result, const char *out_path,
                                const tare_source *in, const tare_unpack_options *options,
                                tare_error *err) {
    tare_unpack_options o = tare_unpack_options_default();
    tare_context context;
    tare_output_options output;
    tare_open_options open = tare_open_options_default();
    open.stored = true;
    tare_model *m;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    TARE_TRY(tare_context_keep(&context, &o.context, err));
    TARE_TRY(tare_output_keep(&output, &o.output, err));
    tare_context quiet = tare_context_default();
    quiet.allocator = o.context->allocator;
    quiet.limits = o.context->limits;
    open.context = &quiet;
    TARE_TRY(tare_model_open(&m, in, &open, err));
    tare_status status = write_model(result, out_path, m, &o, err);
    tare_model_free(m);
    return status;
}

tare_status tare_unpack(tare_unpack_result *out, const char *out_path, const tare_source *in,
                        const tare_unpack_options *options, tare_error *err) {
    tare_unpack_result result = tare_unpack_result_default();
    bool is_model;
    TARE_REQUIRE(out_path && in, err);
    if (out) TARE_TRY(tare_result_check(out, err));
    tare_status status = tare_unpack_files(&result, &is_model, out_path, in, options, err);
    if (status == TARE_OK && is_model) status = unpack_model(&result, out_path, in, options, err);
    if (out) tare_result_write(out, &result, sizeof result);
    return status;
}
