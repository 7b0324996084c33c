/* SPDX-License-Identifier: MIT
 *
 * Opening a model, wherever it is read from, with the base models that it needs. */
#include <string.h>

#include "cli.h"

tare_status cli_open_quietly(tare_model **out, const char *path, tare_report *report,
                             tare_error *err) {
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.report = report;
    options.one_shard = cli.one_shard;
    options.stored = cli.is_stored;
    *out = NULL;
    tare_source source;
    tare_status status = cli_source(&source, path, err);
    bool is_fetched = status == TARE_OK && source.kind == TARE_SOURCE_URL;
    if (is_fetched) cli_progress_fetch("reading");
    if (status == TARE_OK) status = cli_open_with_bases(out, &source, &options, err);
    if (is_fetched) cli_progress_end();
    return status;
}

int cli_fail_open(const tare_error *err, const char *path) {
    const int code = cli_fail(err, path);
    const bool is_type = err->status == TARE_ERR_ARG && cli_names_type(path);
    if ((err->status == TARE_ERR_UNSUPPORTED || is_type) && strcmp(path, "-") != 0)
        cli_hint_models(path);
    return code;
}

int cli_open(tare_model **out, const char *path, tare_report *report) {
    tare_error err;
    return cli_open_quietly(out, path, report, &err) == TARE_OK ? 0 : cli_fail_open(&err, path);
}
