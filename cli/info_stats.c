/* SPDX-License-Identifier: MIT
 *
 * tare info --stats: what the values of tensors are, a line each. */
#include <stdlib.h>
#include <string.h>

#include "info.h"

/* Parts of the range from the least to the largest value, a character each. */
#define SPARK_COLUMNS 16

/* Eighths of a line's height; the least that is not nothing is one. */
static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

static void put_sparkline(char *out, const tare_tensor_stats *stats) {
    uint64_t columns[SPARK_COLUMNS], most = 0;
    tare_stats_columns(columns, SPARK_COLUMNS, stats);
    for (size_t i = 0; i < SPARK_COLUMNS; i++)
        if (columns[i] > most) most = columns[i];
    *out = '\0';
    for (size_t i = 0; most && i < SPARK_COLUMNS; i++) {
        size_t height = (size_t)((double)columns[i] / (double)most * 8 + 0.5);
        if (height == 0 && columns[i]) height = 1;
        strcpy(out, blocks[height]);
        out += strlen(out);
    }
}

static void add_real(cli_table *table, double x) {
    char text[32];
    snprintf(text, sizeof text, "%.4g", x);
    cli_table_add(table, text);
}

void info_add_stats(cli_table *table, const tare_tensor_stats *stats) {
    char text[SPARK_COLUMNS * 4 + 1];
    if (!stats->is_decoded || stats->n_finite == 0) {
        for (int i = 0; i < 5; i++) cli_table_add(table, "");
    } else {
        add_real(table, stats->min);
        add_real(table, stats->max);
        add_real(table, stats->mean);
        add_real(table, stats->std_dev);
        snprintf(text, sizeof text, "%.1f %%",
                 100 * (double)stats->n_zero / (double)stats->n_finite);
        cli_table_add(table, text);
    }
    const uint64_t n = stats->n_nan + stats->n_inf;
    cli_table_add(table, stats->is_decoded ? cli_exact_text(n).text : "");
    put_sparkline(text, stats);
    cli_table_add(table, text);
}

tare_json_node *info_json_stats(const tare_tensor_stats *stats) {
    tare_json_node *object = cli_json_object(), *bins = cli_json_array();
    cli_json_u64(object, "finite_count", stats->n_finite);
    cli_json_u64(object, "zero_count", stats->n_zero);
    cli_json_u64(object, "nan_count", stats->n_nan);
    cli_json_u64(object, "infinite_count", stats->n_inf);
    if (stats->n_finite) {
        cli_json_real(object, "min", stats->min);
        cli_json_real(object, "max", stats->max);
        cli_json_real(object, "mean", stats->mean);
        cli_json_real(object, "std_dev", stats->std_dev);
    }
    cli_json_real(object, "reach", stats->reach);
    for (size_t i = 0; i < TARE_STATS_BINS; i++)
        cli_json_append(bins, cli_json_number(stats->histogram[i]));
    cli_json_add(object, "histogram_counts", bins);
    return object;
}

static void collect(void *ctx, size_t tensor, const tare_tensor_stats *stats) {
    tare_tensor_stats *items = ctx;
    items[tensor] = *stats;
}

tare_tensor_stats *info_read_stats(const tare_model *model, const size_t *chosen, size_t n,
                                   int *code, const char *path) {
    tare_error err;
    const tare_model_summary *sum = tare_model_summarize(model);
    tare_tensor_stats *items = cli_alloc(sum->n_tensors ? sum->n_tensors : 1, sizeof *items);
    const tare_context context = cli_context(NULL);
    cli_progress_start("reading");
    tare_status status = tare_model_stats(model, chosen, n, collect, items, &context, &err);
    cli_progress_end();
    *code = status == TARE_OK ? CLI_YES : cli_fail(&err, path);
    return items;
}

int info_fail_unmeasured(const tare_model *model, const tare_tensor_stats *stats,
                         const size_t *chosen, size_t n, const char *path) {
    for (size_t i = 0; i < n; i++) {
        const tare_tensor *t = tare_model_tensor(model, chosen[i]);
        tare_error err;
        if (stats[chosen[i]].is_decoded || !tare_encoding_can_decode(t->encoding) ||
            t->n_elements == 0)
            continue;
        float *row = cli_alloc((size_t)t->cols, sizeof *row);
        const tare_status status = tare_tensor_rows_f32(row, model, chosen[i], 0, 1, &err);
        free(row);
        if (status != TARE_OK) return cli_fail(&err, path);
    }
    return CLI_YES;
}
