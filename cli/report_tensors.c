/* SPDX-License-Identifier: MIT
 *
 * tare report: the facts of each tensor, and what differs from a base. What is not known is left
 * out, to keep documents of thousands of tensors small. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "report_document.h"

/* Names of what is only in the base, and of keys that differ. */
#define NAMES_MAX 100

/* ---- one tensor ------------------------------------------------------------------------------ */

/* Counts with a blank between them: a quarter of what an array of numbers takes in memory. */
static void add_histogram(tare_json_node *entry, const report_values *v) {
    char text[REPORT_COLUMNS * 21 + 1];
    size_t n = 0;
    for (size_t i = 0; i < REPORT_COLUMNS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, i ? " %" PRIu64 : "%" PRIu64,
                              v->columns[i]);
    cli_json_text(entry, "histogram", text);
}

static void add_values(tare_json_node *entry, const report_values *v) {
    const tare_tensor_stats *s = &v->stats;
    if (!s->is_decoded) return;
    cli_json_u64(entry, "zero_count", s->n_zero);
    if (s->n_nan) cli_json_u64(entry, "nan_count", s->n_nan);
    if (s->n_inf) cli_json_u64(entry, "infinite_count", s->n_inf);
    if (s->n_finite == 0) return;
    cli_json_real(entry, "min", s->min);
    cli_json_real(entry, "max", s->max);
    cli_json_real(entry, "mean", s->mean);
    cli_json_real(entry, "std_dev", s->std_dev);
    add_histogram(entry, v);
}

static void add_part(tare_json_node *entry, tare_str name) {
    tare_tensor_part part = tare_tensor_part_default();
    tare_error err;
    if (tare_tensor_part_of_name(&part, name, &err) != TARE_OK) return;
    if (part.role) cli_json_text(entry, "role", part.role);
    if (part.layer >= 0) cli_json_u64(entry, "layer", (uint64_t)part.layer);
    if (part.expert >= 0) cli_json_u64(entry, "expert", (uint64_t)part.expert);
    if (part.is_bias) cli_json_bool(entry, "is_bias", true);
}

/* ||values|| of a tensor that is the same in the base, where nothing was subtracted. */
static double norm_of(const tare_tensor_stats *s) {
    return sqrt((double)s->n_finite * (s->mean * s->mean + s->std_dev * s->std_dev));
}

/* How the tensor compares with that of the base. */
static void add_difference(tare_json_node *entry, const report_input *in, const report_tensor *t) {
    const tare_diff_item *d = t->difference;
    if (t->in_base < 0) {
        cli_json_text(entry, "against", "absent");
        return;
    }
    const tare_tensor *base = tare_model_tensor(in->base, (size_t)t->in_base);
    cli_json_text(entry, "base_type", cli_type_text(base).text);
    if (!d) {
        cli_json_text(entry, "against", in->is_directory ? "same type" : "same");
        if (!t->values) return;
        cli_json_real(entry, "relative_rmse", 0);
        cli_json_real(entry, "base_norm", norm_of(&t->values->stats));
        return;
    }
    cli_json_text(entry, "against",
                  d->kind == TARE_DIFF_SHAPE ? "other shape"
                  : d->is_decoded            ? "differs"
                                             : "not compared");
    if (!d->is_decoded) return;
    cli_json_real(entry, "relative_rmse", d->relative_rmse);
    cli_json_real(entry, "base_norm", d->norm_a);
    cli_json_real(entry, "max_abs", d->max_abs);
    cli_json_u64(entry, "different_count", d->n_different);
}

static tare_json_node *tensor_entry(const report_input *in, size_t i, const report_tensor *about) {
    const tare_tensor *t = tare_model_tensor(in->model, i);
    const char *scheme = tare_tensor_scheme(in->model, i);
    tare_json_node *entry = cli_json_object();
    uint64_t packed;
    cli_json_str(entry, "name", t->name);
    cli_json_text(entry, "type", cli_type_text(t).text);
    cli_json_add(entry, "shape", cli_json_shape(t));
    cli_json_u64(entry, "size_bytes", tare_tensor_stored_bytes(in->model, i));
    if (tare_tensor_packed_bytes(&packed, in->model, i))
        cli_json_u64(entry, "packed_bytes", packed);
    add_part(entry, t->name);
    if (scheme) cli_json_text(entry, "scheme", scheme);
    if (info_is_cut_short(in->model, t)) cli_json_bool(entry, "is_truncated", true);
    if (about->values) add_values(entry, about->values);
    if (in->base) add_difference(entry, in, about);
    return entry;
}

void report_add_tensors(tare_json_node *document, const report_input *in,
                        const report_tensor *tensors) {
    tare_json_node *list = cli_json_array();
    for (size_t i = 0; tare_model_tensor(in->model, i); i++)
        cli_json_append(list, tensor_entry(in, i, &tensors[i]));
    cli_json_add(document, "tensors", list);
}

/* ---- the base -------------------------------------------------------------------------------- */

static tare_json_node *named(tare_str name, const char *what) {
    tare_json_node *entry = cli_json_object();
    cli_json_str(entry, "name", name);
    if (what) cli_json_text(entry, "what", what);
    return entry;
}

static const char *what_of_key(tare_diff_kind kind) {
    return kind == TARE_DIFF_KEY_ONLY_A   ? "only in the base"
           : kind == TARE_DIFF_KEY_ONLY_B ? "not in the base"
                                          : "another value";
}

/* Tensors that the model lacks. */
static void add_missing(tare_json_node *base, const tare_diff *diff) {
    tare_json_node *list = cli_json_array();
    uint64_t n = 0;
    const tare_diff_item *item;
    for (size_t i = 0; (item = tare_diff_at(diff, i)) != NULL; i++)
        if (item->kind == TARE_DIFF_TENSOR_ONLY_A && n++ < NAMES_MAX)
            cli_json_append(list, named(item->name, NULL));
    cli_json_u64(base, "missing_tensor_count", n);
    cli_json_add(base, "tensors", list);
}

static void add_keys(tare_json_node *base, const tare_diff *diff) {
    tare_json_node *list = cli_json_array();
    uint64_t n = 0;
    const tare_diff_item *item;
    for (size_t i = 0; (item = tare_diff_at(diff, i)) != NULL; i++)
        if (item->kind <= TARE_DIFF_KEY_VALUE && n++ < NAMES_MAX)
            cli_json_append(list, named(item->name, what_of_key(item->kind)));
    cli_json_u64(base, "different_key_count", n);
    cli_json_add(base, "keys", list);
}

void report_add_base(tare_json_node *document, const report_input *in, const tare_diff *diff) {
    tare_json_node *base = cli_json_object();
    const tare_model_summary *sum = tare_model_summarize(in->given);
    const bool is_renamed = in->base != in->given;
    cli_json_text(base, "input", cli_hide_secrets(cli_input_name(in->base_path)));
    cli_json_text(base, "format", sum->format);
    cli_json_u64(base, "tensor_bytes", sum->tensor_bytes);
    cli_json_bool(base, "is_renamed", is_renamed);
    add_missing(base, diff);
    if (!is_renamed) add_keys(base, diff); /* else they are keys of two kinds of models */
    cli_json_add(document, "base", base);
}
