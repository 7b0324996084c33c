/* SPDX-License-Identifier: MIT
 *
 * --base: models that a .wcodec was packed against. They are opened once and stay open as long as
 * the command runs. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static tare_model **bases;
static const char **hints;
static size_t n_bases;

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static tare_status open_bases(tare_error *err) {
    if (bases) return TARE_OK;
    bases = cli_alloc(cli.base.n + 1, sizeof *bases);
    hints = cli_alloc(cli.base.n + 1, sizeof *hints);
    for (size_t i = 0; i < cli.base.n; i++) {
        hints[i] = last_part(cli.base.items[i]);
        tare_source source;
        tare_status status = cli_source(&source, cli.base.items[i], err);
        if (status == TARE_OK) status = tare_model_open(&bases[i], &source, NULL, err);
        if (status != TARE_OK) {
            if (!err->file[0]) snprintf(err->file, sizeof err->file, "%s", cli.base.items[i]);
            return status;
        }
        n_bases = i + 1;
    }
    return TARE_OK;
}

tare_status cli_bases(tare_model ***out, size_t *n, tare_error *err) {
    tare_status status = open_bases(err);
    *out = bases;
    *n = n_bases;
    return status;
}

const char *const *cli_base_hints(void) {
    return hints;
}

void cli_bases_free(void) {
    for (size_t i = 0; i < n_bases; i++) tare_model_free(bases[i]);
    free(bases);
    free(hints);
    bases = NULL;
    hints = NULL;
    n_bases = 0;
}

/* Puts what the library can only report, since its errors are static, into the line of the error:
 * all missing bases. */
static char missing[1024];

static void add_missing(const char *text) {
    size_t n = strlen(missing);
    snprintf(missing + n, sizeof missing - n, "%s", text);
}

void cli_note_base(const tare_report *report) {
    char line[512];
    missing[0] = 0;
    for (size_t i = 0; i < tare_report_count(report); i++) {
        const tare_finding *f = tare_report_at(report, i);
        if (!f->code || strcmp(f->code, TARE_CODE_NEEDS_BASE) != 0) continue;
        tare_str_escape(line, sizeof line, f->text, false);
        if (missing[0]) add_missing("; ");
        add_missing(line);
    }
    if (missing[0] && !cli.base.n) add_missing(": give it with --base FILE");
}

void cli_name_base(tare_error *err) {
    if (cli_has_code(err, TARE_CODE_NEEDS_BASE) && missing[0]) err->what = missing;
}

tare_status cli_open_with_bases(tare_model **out, const tare_source *source,
                                tare_open_options *options, tare_error *err) {
    const bool needs = cli.base_use == CLI_BASES_NOW;
    tare_context context = options->context ? *options->context : tare_context_default();
    tare_report *own = context.report ? NULL : cli_report_new();
    tare_status status = TARE_OK;
    if (own) context.report = own;
    options->context = &context;
    if (cli.base_use != CLI_BASES_UNUSED) {
        tare_model **list;
        status = cli_bases(&list, &options->n_bases, err);
        options->bases = (const tare_model *const *)list;
        options->needs_bases = needs || (cli.base_use == CLI_BASES_NAMED && cli.base.n);
        context.threads = (unsigned)cli.threads;
    }
    *out = NULL;
    if (status == TARE_OK) status = cli_device(&options->device, err);
    if (status == TARE_OK) status = tare_model_open(out, source, options, err);
    cli_note_base(context.report);
    if (status != TARE_OK) cli_name_base(err);
    tare_report_remove(context.report, TARE_CODE_NEEDS_BASE);
    options->context = NULL; /* it was this call's */
    tare_report_free(own);
    return status;
}

/* For a container that is read, this was checked when it was opened. */
int cli_bases_of_output(tare_convert_wcodec_options *options, const char *to,
                        const cli_command *command, const tare_model *in) {
    tare_container_info container = tare_container_info_default();
    tare_model **list;
    tare_error err;
    if (!cli.base.n) return CLI_YES;
    if (strcmp(to, "wcodec") != 0)
        return tare_model_container(&container, in)
                   ? CLI_YES
                   : cli_usage(command, "--base: neither the input nor the output is a .wcodec");
    if (cli_bases(&list, &options->n_bases, &err) != TARE_OK)
        return cli_fail(&err, cli.base.items[0]);
    options->bases = (const tare_model *const *)list;
    options->base_hints = cli_base_hints();
    return CLI_YES;
}
