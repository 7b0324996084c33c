/* SPDX-License-Identifier: MIT
 *
 * tare report: the data read from a model and its base, assembled into one document. */
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "report_document.h"

/* ---- the values of the tensors --------------------------------------------------------------- */

static void keep_values(void *ctx, size_t tensor, const tare_tensor_stats *stats) {
    report_values *values = ctx, *to = &values[tensor];
    tare_stats_columns(to->columns, REPORT_COLUMNS, stats);
    to->stats = *stats;
    memset(to->stats.histogram, 0, sizeof to->stats.histogram);
}

/* One entry a tensor, owned by the caller. */
static report_values *read_values(const report_input *in, int *code) {
    tare_error err;
    const size_t n = tare_model_summarize(in->model)->n_tensors;
    report_values *values = cli_alloc(n ? n : 1, sizeof *values);
    const tare_context context = cli_context(NULL);
    cli_progress_start("reading");
    tare_status status = tare_model_stats(in->model, NULL, 0, keep_values, values, &context, &err);
    cli_progress_end();
    if (status != TARE_OK) {
        cli_name_base(&err);
        *code = cli_fail(&err, in->path);
    }
    return values;
}

/* ---- the base -------------------------------------------------------------------------------- */

/* The differences from the base, owned by the caller; tensors that occur in them are linked to
 * their entry. */
static tare_diff *compare(const report_input *in, report_tensor *tensors, int *code) {
    tare_error err;
    tare_diff *diff;
    tare_diff_options options = tare_diff_options_default();
    const tare_context context = cli_context(NULL);
    options.context = &context;
    options.directory = in->is_directory;
    cli_progress_start("comparing");
    tare_status status = tare_diff_new(&diff, in->base, in->model, &options, &err);
    cli_progress_end();
    if (status != TARE_OK) {
        *code = cli_fail(&err, in->base_path);
        return NULL;
    }
    const tare_tensor *t;
    for (size_t i = 0; (t = tare_model_tensor(in->model, i)) != NULL; i++)
        tensors[i].in_base = tare_model_find_tensor(in->base, t->name);
    const tare_diff_item *item;
    for (size_t i = 0; (item = tare_diff_at(diff, i)) != NULL; i++) {
        const bool is_pair = item->kind == TARE_DIFF_SHAPE || item->kind == TARE_DIFF_ENCODING ||
                             item->kind == TARE_DIFF_VALUE;
        if (is_pair) tensors[item->b].difference = item;
    }
    return diff;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void add_model(tare_json_node *document, const report_input *in) {
    const tare_value *name;
    const int64_t i = tare_model_find_key(in->model, (tare_str){"general.name", 12});
    cli_json_text(document, "input", cli_hide_secrets(cli_input_name(in->path)));
    if (i >= 0) {
        name = &tare_model_metadata(in->model, (size_t)i)->value;
        if (name->type == TARE_VALUE_STRING) cli_json_str(document, "name", name->as.s);
    }
    info_json_screen(document, in->model, in->path, 0, in->findings);
}

tare_json_node *report_document(const report_input *in, int *code) {
    const size_t n = tare_model_summarize(in->model)->n_tensors;
    report_tensor *tensors = cli_alloc(n ? n : 1, sizeof *tensors);
    report_values *values = NULL;
    tare_diff *diff = NULL;
    tare_json_node *document = NULL;
    *code = CLI_YES;
    if (!in->is_directory) values = read_values(in, code);
    for (size_t i = 0; i < n; i++)
        tensors[i] = (report_tensor){.values = values ? &values[i] : NULL, .in_base = -1};
    if (*code == CLI_YES && in->base) diff = compare(in, tensors, code);
    if (*code == CLI_YES) {
        document = cli_json_object();
        add_model(document, in);
        report_add_tensors(document, in, tensors);
        if (diff) report_add_base(document, in, diff);
        report_add_tokenizer(document, in->model);
        report_add_metadata(document, in->model);
    }
    tare_diff_free(diff);
    free(values);
    free(tensors);
    return document;
}
