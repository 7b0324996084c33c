/* SPDX-License-Identifier: MIT
 *
 * tare diff: what differs between two models of any formats: metadata, the set of tensors, their
 * shapes and types, then values, worst first. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static struct {
    double tolerance;
    bool is_brief, is_directory, keep_names;
} args;

static const cli_option options[] = {
    {.name = "tolerance",
     .arg = "X",
     .help = "tensors count as the same up to this relative RMSE of their values, and keys that "
             "follow from the types do not count",
     .real = &args.tolerance},
    {.name = "brief",
     .help = "only whether they differ; stops at the first difference",
     .flag = &args.is_brief},
    {.name = "header-only",
     .old_name = "directory",
     .help = "compare no values, only names, shapes, types, metadata and the sizes of side files",
     .flag = &args.is_directory},
    {.name = "keep-names",
     .help = "compare a Hugging Face model with a GGUF file under their own tensor names",
     .flag = &args.keep_names},
    {0},
};

#define VALUE_COLUMNS 40
/* A tolerance that no number but an equal one is within: only numbers count, not the types that a
 * conversion chose for them, nor the keys that follow from these. */
#define SAME_NUMBERS 1e-300

static const struct kind {
    const char *json_name;
    const char *section;
    char mark; /* as in diff: '-' only in A, '+' only in B, '~' in both */
} kinds[] = {
    [TARE_DIFF_KEY_ONLY_A] = {"key-missing", "Metadata", '-'},
    [TARE_DIFF_KEY_ONLY_B] = {"key-added", "Metadata", '+'},
    [TARE_DIFF_KEY_VALUE] = {"key-value", "Metadata", '~'},
    [TARE_DIFF_TENSOR_ONLY_A] = {"tensor-missing", "Tensors", '-'},
    [TARE_DIFF_TENSOR_ONLY_B] = {"tensor-added", "Tensors", '+'},
    [TARE_DIFF_SHAPE] = {"shape", "Tensors", '~'},
    [TARE_DIFF_ENCODING] = {"type", "Values, worst first", '~'},
    [TARE_DIFF_VALUE] = {"value", "Values, worst first", '~'},
    [TARE_DIFF_RESOURCE_ONLY_A] = {"resource-missing", "Side files", '-'},
    [TARE_DIFF_RESOURCE_ONLY_B] = {"resource-added", "Side files", '+'},
    [TARE_DIFF_RESOURCE] = {"resource", "Side files", '~'},
};

static bool is_value_kind(tare_diff_kind kind) {
    return kind == TARE_DIFF_ENCODING || kind == TARE_DIFF_VALUE;
}

typedef struct pair {
    const tare_model *a, *b;
    const char *a_path, *b_path;
    const char *renamed; /* the one that is compared under other names; NULL: none */
} pair;

/* ---- one item in words ----------------------------------------------------------------------- */

static char *key_text(const tare_model *model, int64_t i) {
    const tare_metadata *entry = i >= 0 ? tare_model_metadata(model, (size_t)i) : NULL;
    return entry ? cli_value_text(&entry->value, VALUE_COLUMNS) : NULL;
}

static char *tensor_text(const tare_model *model, int64_t i) {
    const tare_tensor *tensor = i >= 0 ? tare_model_tensor(model, (size_t)i) : NULL;
    if (!tensor) return NULL;
    char *shape = cli_shape_text(tensor), text[256];
    snprintf(text, sizeof text, "%s %s", cli_type_text(tensor).text, shape);
    free(shape);
    return cli_copy(text, strlen(text));
}

static char *resource_text(const tare_model *model, int64_t i) {
    const tare_resource *resource = i >= 0 ? tare_model_resource(model, (size_t)i) : NULL;
    if (!resource) return NULL;
    cli_number size = cli_size_text(resource->size);
    return cli_copy(size.text, strlen(size.text));
}

/* "x", "x -> y" or "" for the sides that are there. */
static char *item_text(const pair *models, const tare_diff_item *item) {
    char *(*text_of)(const tare_model *, int64_t) = tensor_text;
    if (item->kind <= TARE_DIFF_KEY_VALUE) text_of = key_text;
    if (item->kind >= TARE_DIFF_RESOURCE_ONLY_A) text_of = resource_text;
    char *a = text_of(models->a, item->a), *b = text_of(models->b, item->b);
    size_t size = (a ? strlen(a) : 0) + (b ? strlen(b) : 0) + 8;
    char *text = cli_alloc(size, 1);
    snprintf(text, size, "%s%s%s", a ? a : "", a && b ? " -> " : "", b ? b : "");
    free(a);
    free(b);
    return text;
}

static void add_item(cli_table *table, const pair *models, const tare_diff_item *item) {
    char mark[2] = {kinds[item->kind].mark, '\0'};
    char *name = cli_escape(item->name, false, 0), *text = item_text(models, item);
    cli_table_add(table, mark);
    cli_table_add(table, name);
    cli_table_add(table, text);
    free(name);
    free(text);
}

/* "12.5 %", but never "0.0 %" for more than zero. */
static void share_text(char *buf, size_t size, uint64_t n, uint64_t all) {
    double share = all ? (double)n * 100 / (double)all : 0;
    if (n > 0 && share < 0.1) {
        snprintf(buf, size, "< 0.1 %%");
    } else {
        snprintf(buf, size, "%.1f %%", share);
    }
}

static void add_value_item(cli_table *table, const pair *models, const tare_diff_item *item) {
    const tare_tensor *a = tare_model_tensor(models->a, (size_t)item->a);
    const tare_tensor *b = tare_model_tensor(models->b, (size_t)item->b);
    char *name = cli_escape(item->name, false, 0), text[80];
    cli_table_add(table, name);
    snprintf(text, sizeof text, "%s%s%s", cli_type_text(a).text,
             a->encoding != b->encoding ? " -> " : "",
             a->encoding != b->encoding ? cli_type_text(b).text : "");
    cli_table_add(table, text);
    snprintf(text, sizeof text, "%#.3g", item->relative_rmse);
    cli_table_add(table, item->is_decoded ? text : "not decoded");
    snprintf(text, sizeof text, "%#.3g", item->max_abs);
    cli_table_add(table, item->is_decoded ? text : "");
    share_text(text, sizeof text, item->n_different, a->n_elements);
    cli_table_add(table, item->is_decoded ? text : "");
    free(name);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Prints the items from *i on that belong to one section, and advances *i past them. */
static void print_section(const pair *models, const tare_diff *diff, size_t *i) {
    const tare_diff_item *item = tare_diff_at(diff, *i);
    const char *section = kinds[item->kind].section;
    bool is_values = is_value_kind(item->kind);
    cli_table *table =
        cli_table_new(is_values ? "~NAME|TYPE|>RMSE/RMS|>MAX DIFF|>DIFFERENT" : "|~|~");
    size_t n = 0;
    for (; (item = tare_diff_at(diff, *i)) && kinds[item->kind].section == section; ++*i) {
        if (item->is_tolerated) continue;
        (is_values ? add_value_item : add_item)(table, models, item);
        n++;
    }
    if (n) {
        printf("%s%s%s\n", cli_style_on(stdout, CLI_BOLD), section, cli_style_off(stdout));
        cli_table_print(table, stdout, 2);
    }
    cli_table_free(table);
}

static bool is_lossy(const tare_model *model) {
    tare_lossy_info info = tare_lossy_info_default();
    return tare_model_lossy(&info, model) && info.n_tensors > 0;
}

/* A difference is no surprise then. */
static void print_loss(const tare_model *model, const char *name) {
    tare_lossy_info info = tare_lossy_info_default();
    if (tare_model_lossy(&info, model) && info.n_tensors)
        printf("%s was packed with loss: %zu tensor%s, %.4f bits per weight\n", name,
               info.n_tensors, cli_plural(info.n_tensors), info.bits_per_weight);
}

/* The tensors that differ, as if they were one, and the worst. */
typedef struct difference {
    size_t n;         /* places */
    bool is_measured; /* `error`: whether all values that differ were looked at */
    double error;
    const tare_diff_item *worst; /* NULL: no values differ */
} difference;

static difference sum_up(const tare_diff *diff) {
    const tare_diff_item *item;
    difference d = {.is_measured = !args.is_brief && !args.is_directory};
    double of_differences = 0, of_all = 0;
    for (size_t i = 0; (item = tare_diff_at(diff, i)) != NULL; i++) {
        if (!item->is_tolerated) d.n++;
        if (!is_value_kind(item->kind)) continue;
        d.is_measured = d.is_measured && item->is_decoded;
        if (!item->is_decoded) continue;
        const double off = item->relative_rmse * item->norm_a;
        of_differences += off * off;
        of_all += item->norm_a * item->norm_a;
        if (!d.worst || item->relative_rmse > d.worst->relative_rmse) d.worst = item;
    }
    d.error = of_all > 0 ? sqrt(of_differences / of_all) : 0;
    return d;
}

/* One of several models that are compared with the same one: a row. */
static void add_row(cli_table *table, const pair *models, const tare_diff *diff) {
    const difference d = sum_up(diff);
    const tare_model_summary *sum = tare_model_summarize(models->b);
    char *name = cli_escape_path(cli_input_name(models->b_path)), text[40];
    char *worst = d.worst ? cli_escape(d.worst->name, false, 0) : cli_copy("", 0);
    cli_table_add(table, name);
    cli_table_add(table, cli_size_text(cli_file_bytes(models->b)).text);
    snprintf(text, sizeof text, "%.2f",
             sum->n_parameters ? (double)sum->tensor_bytes * 8 / (double)sum->n_parameters : 0);
    cli_table_add(table, text);
    cli_table_add(table, tare_diff_is_same(diff) ? "same"
                         : args.is_brief         ? "differ"
                                                 : cli_exact_text(d.n).text);
    snprintf(text, sizeof text, "%#.3g", d.error);
    cli_table_add(table, d.is_measured ? text : "");
    snprintf(text, sizeof text, "%#.3g", d.worst ? d.worst->relative_rmse : 0);
    cli_table_add(table, d.worst ? text : "");
    cli_table_add(table, worst);
    free(name);
    free(worst);
}

static void print_text(const pair *models, const tare_diff *diff) {
    char *a = cli_escape_path(cli_input_name(models->a_path));
    char *b = cli_escape_path(cli_input_name(models->b_path));
    size_t n_different = 0, n_tensors = 0, n_keys = 0; /* the latter two are tolerated */
    const tare_diff_item *item;
    for (size_t i = 0; (item = tare_diff_at(diff, i)) != NULL; i++) {
        *(!item->is_tolerated         ? &n_different
          : is_value_kind(item->kind) ? &n_tensors
                                      : &n_keys) += 1;
    }
    if (!args.is_brief) {
        for (size_t i = 0; tare_diff_at(diff, i);) print_section(models, diff, &i);
    }
    bool is_same = tare_diff_is_same(diff);
    printf("%s and %s %s", a, b,
           !is_same            ? "differ"
           : args.is_directory ? "have the same header"
                               : "hold the same model");
    if (!is_same && !args.is_brief) {
        printf(" in %zu place%s", n_different, cli_plural(n_different));
    }
    if (n_tensors) printf("; %zu tensor%s within the tolerance", n_tensors, cli_plural(n_tensors));
    if (n_keys) printf("; %zu key%s about the types tolerated", n_keys, cli_plural(n_keys));
    fputc('\n', stdout);
    print_loss(models->a, a);
    print_loss(models->b, b);
    free(a);
    free(b);
}

static tare_json_node *json_item(const pair *models, const tare_diff_item *item) {
    tare_json_node *entry = cli_json_object();
    cli_json_text(entry, "kind", kinds[item->kind].json_name);
    cli_json_str(entry, "name", item->name);
    if (is_value_kind(item->kind) || item->kind == TARE_DIFF_SHAPE) {
        const tare_tensor *a = tare_model_tensor(models->a, (size_t)item->a);
        const tare_tensor *b = tare_model_tensor(models->b, (size_t)item->b);
        cli_json_text(entry, "type", cli_type_text(a).text);
        cli_json_text(entry, "other_type", cli_type_text(b).text);
        cli_json_add(entry, "shape", cli_json_shape(a));
        cli_json_add(entry, "other_shape", cli_json_shape(b));
    }
    cli_json_bool(entry, "is_tolerated", item->is_tolerated);
    if (item->is_decoded) {
        cli_json_real(entry, "relative_rmse", item->relative_rmse);
        cli_json_real(entry, "max_abs", item->max_abs);
        cli_json_u64(entry, "different_count", item->n_different);
    }
    return entry;
}

static void print_json(const pair *models, const tare_diff *diff) {
    const difference sum = sum_up(diff);
    tare_json_node *document = cli_json_object(), *items = cli_json_array();
    cli_json_text(document, "other", cli_input_name(models->b_path));
    cli_json_text(document, "renamed", models->renamed);
    cli_json_bool(document, "is_same", tare_diff_is_same(diff));
    cli_json_bool(document, "is_lossy", is_lossy(models->a));
    cli_json_bool(document, "other_is_lossy", is_lossy(models->b));
    if (sum.is_measured) cli_json_real(document, "relative_rmse", sum.error);
    const tare_diff_item *item;
    for (size_t i = 0; (item = tare_diff_at(diff, i)) != NULL; i++) {
        cli_json_append(items, json_item(models, item));
    }
    cli_json_add(document, "differences", items);
    cli_json_print(document);
}

static int compare(const pair *models, cli_table *table) {
    tare_diff_options diff_options = tare_diff_options_default();
    const tare_context context = cli_context(NULL);
    diff_options.context = &context;
    diff_options.tolerance = args.tolerance;
    if (models->renamed && args.tolerance == 0) diff_options.tolerance = SAME_NUMBERS;
    diff_options.brief = args.is_brief;
    diff_options.directory = args.is_directory;
    tare_diff *diff;
    tare_error err;
    cli_progress_start("comparing");
    tare_status status = tare_diff_new(&diff, models->a, models->b, &diff_options, &err);
    cli_progress_end();
    if (status != TARE_OK) return cli_fail(&err, models->a_path);
    if (cli.json) {
        print_json(models, diff);
    } else if (table) {
        add_row(table, models, diff);
    } else if (!cli.quiet) {
        print_text(models, diff);
    }
    int code = tare_diff_is_same(diff) ? CLI_YES : CLI_NO;
    tare_diff_free(diff);
    return code;
}

/* A Hugging Face model is compared with a file of llama.cpp under the latter's names. */
static int compare_alike(pair *models, cli_table *table) {
    tare_model *renamed_a = NULL, *renamed_b = NULL;
    int code = CLI_YES;
    if (!args.keep_names) code = cli_map_names(&renamed_a, models->a, models->a_path, models->b);
    if (renamed_a) models->a = renamed_a;
    if (!args.keep_names && code == CLI_YES)
        code = cli_map_names(&renamed_b, models->b, models->b_path, models->a);
    if (renamed_b) models->b = renamed_b;
    models->renamed = renamed_a ? models->a_path : renamed_b ? models->b_path : NULL;
    if (code == CLI_YES) code = compare(models, table);
    tare_model_free(renamed_a);
    tare_model_free(renamed_b);
    return code;
}

static int compare_with(const tare_model *a, const char *a_path, const char *b_path,
                        cli_table *table) {
    tare_model *b = NULL;
    int code = cli_open(&b, b_path, NULL);
    if (code == 0) code = compare_alike(&(pair){a, b, a_path, b_path, NULL}, table);
    tare_model_free(b);
    return code;
}

static int run(int argc, const char **argv) {
    int n_stdin = 0, worst;
    for (int i = 0; i < argc; i++) n_stdin += strcmp(argv[i], "-") == 0;
    if (n_stdin > 1) return cli_usage(&cmd_diff, "standard input can be one of the models only");
    tare_json_node *document = cli.json ? cli_json_new("tare.diff/2") : NULL;
    if (document) cli_json_text(document, "input", cli_input_name(argv[0]));
    if (document) cli_json_begin_list(document, "comparisons");
    cli_table *table =
        argc > 2 && !cli.json
            ? cli_table_new(
                  "~MODEL|>SIZE|>BITS/WEIGHT|>PLACES|>THEIR RMSE/RMS|>WORST|~WORST TENSOR")
            : NULL;
    tare_model *a;
    worst = cli_open(&a, argv[0], NULL);
    if (worst == CLI_YES) {
        for (int i = 1; i < argc && worst < CLI_CANCELLED; i++) {
            const int code = compare_with(a, argv[0], argv[i], table);
            if (code > worst) worst = code;
        }
        tare_model_free(a);
    }
    if (table && !cli.quiet) cli_table_print(table, stdout, 0);
    cli_table_free(table);
    cli_json_end_list();
    return worst;
}

const cli_command cmd_diff = {
    .name = "diff",
    .summary = "compare two models, across formats and number types",
    .usage = "A B... [--tolerance X] [--brief] [--header-only] [--keep-names]",
    .description =
        "Metadata first, then the set of tensors, shapes, types, then values: exactly where the "
        "types are the same, else by what both decode to. RMSE/RMS is the root of the mean squared "
        "difference over that of A's values. If one model has the tensor names of Hugging Face and "
        "the other those of llama.cpp, the names are mapped first. With several B there is a row "
        "for each: how many places differ, and by how much. Exit code 0: all are the same, 1: "
        "different.",
    .examples = {{"tare diff model.gguf copy.safetensors", "are they the same model?"},
                 {"tare diff model.safetensors q8.gguf --tolerance 0.01",
                  "is every tensor within 1 % of the original?"},
                 {"tare diff --header-only local.gguf https://example.org/model.gguf",
                  "do their headers agree? a few requests are enough"},
                 {"tare diff hf-directory model.gguf",
                  "does it hold what it was made from? keys and numbers"},
                 {"tare diff f16.gguf q8.gguf q5.gguf q4.gguf", "what do these lose? a table"},
                 {"tare diff --brief a.gguf b.gguf && echo same", "in a script"}},
    .options = options,
    .main = "tolerance brief header-only keep-names json",
    .takes = CLI_TAKES_WORK | CLI_TAKES_JSON | CLI_TAKES_INPUT | CLI_TAKES_BASE,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 2,
    .max_args = -1,
    .run = run,
};
