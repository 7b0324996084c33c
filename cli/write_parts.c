/* SPDX-License-Identifier: MIT
 *
 * What a conversion is made from: rules, adapters, importance and the options of containers, opened from
 * the command line. */
#include <stdlib.h>
#include <string.h>

#include "write.h"

/* What is beside what the library was given by name. */
static bool fill_options(const cli_command *command, tare_convert_options *options,
                         const cli_write *write, const cli_rules *rules) {
    const tare_convert_infq_options *infq = options->infq;
    const char *two = options->keep_split && options->shard_size ? "--keep-split and --shard-size"
                      : infq->outlier_threshold > 0 && infq->outlier_share > 0
                          ? "--outlier-threshold and --outliers"
                          : NULL;
    if (write->report && cli.dry_run)
        cli_usage(command, "--report: a dry run encodes nothing that could be measured");
    else if (two)
        cli_usage(command, "%s exclude each other", two);
    options->to = write->to;
    options->type = write->type;
    options->rules = rules->items;
    options->n_rules = rules->n;
    options->mix = write->mix;
    return !two && !(write->report && cli.dry_run);
}

int cli_importance_open(tare_importance **out, const cli_command *command, const cli_write *write,
                        tare_report *report) {
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_error err;
    const cli_list *in = &write->include_weights, *ex = &write->exclude_weights;
    context.report = report;
    *out = NULL;
    if (in->n && ex->n)
        return cli_usage(command, "--include-weights and --exclude-weights exclude each other");
    if ((in->n || ex->n) && !write->imatrix)
        return cli_usage(command, "--%s-weights choose from a matrix: --imatrix FILE",
                         in->n ? "include" : "exclude");
    if (!write->imatrix) return 0;
    if (tare_importance_open_path(out, write->imatrix, &options, &err) != TARE_OK)
        return cli_write_failed(NULL, &err, write->imatrix, report);
    if (in->n) tare_importance_select(*out, in->items, in->n, true);
    if (ex->n) tare_importance_select(*out, ex->items, ex->n, false);
    if ((in->n || ex->n) && !tare_importance_at(*out, 0))
        return cli_usage(command, "--%s-weights: no entry of the matrix is left",
                         in->n ? "include" : "exclude");
    return 0;
}

int cli_parts_open(cli_parts *p, tare_convert_options *options, const cli_command *command,
                   const tare_model *in, const char *out_path, const cli_write *write,
                   tare_report *report) {
    *p = (cli_parts){.infq = *options->infq,
                     .wcodec = *options->wcodec,
                     .names = tare_llama_translate_options_default(),
                     .context = cli_context(report),
                     .output = cli_output()};
    p->wcodec.effort = cli_effort();
    p->names.keep_names = true; /* cli_map has given those that the output needs */
    options->names = &p->names;
    options->context = &p->context;
    options->output = &p->output;
    int code = cli_rules_read(&p->rules, command, &write->type_rules, write->type_file);
    if (code != 0) return code;
    if (!fill_options(command, options, write, &p->rules) ||
        !cli_overrides_parse(&p->overrides, command, in, &write->override_kv))
        return CLI_USAGE;
    const char *to = write->to ? write->to : tare_format_of_path(out_path);
    code = cli_bases_of_output(&p->wcodec, to, command, in);
    if (code == 0) code = cli_importance_open(&p->importance, command, write, report);
    if (code == 0) code = cli_adapters_merge(&p->merges, in, &write->merges, report);
    if (code == 0) code = cli_adapters_store(&p->adapters, command, &write->adapters, report);
    if (code != 0) return code;
    if (p->importance && write->mix)
        cli_overrides_importance(&p->overrides, p->importance, write->imatrix);
    options->importance = p->importance;
    options->overrides = p->overrides.items;
    options->n_overrides = p->overrides.n;
    options->merges = p->merges.items;
    options->n_merges = p->merges.n;
    p->infq.adapters = p->adapters.items;
    p->infq.n_adapters = p->adapters.n;
    options->infq = &p->infq;
    options->wcodec = &p->wcodec;
    return 0;
}

void cli_parts_close(cli_parts *p) {
    tare_importance_free(p->importance);
    cli_adapters_close(&p->merges);
    cli_adapters_close(&p->adapters);
    free(p->overrides.items);
    cli_rules_free(&p->rules);
}
