/* SPDX-License-Identifier: MIT
 *
 * tare info: what is in a model, on one screen; its tensors and its metadata as tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "info.h"

#include <tare/experimental/unpack.h>

static struct {
    bool is_tensors, is_metadata, is_layers, is_all, is_raw, has_stats;
    const char *filter, *sort;
    uint64_t context;
} args;

static const cli_option options[] = {
    {.name = "tensors", .letter = 't', .help = "list the tensors", .flag = &args.is_tensors},
    {.name = "metadata", .letter = 'm', .help = "list the metadata", .flag = &args.is_metadata},
    {.name = "filter",
     .arg = "REGEX",
     .help = "only tensors and keys whose name it matches",
     .text = &args.filter},
    {.name = "sort",
     .arg = "BY",
     .choices = "name size type",
     .help = "order of the tensors (default: that of the file)",
     .text = &args.sort},
    {.name = "stats",
     .help = "statistics of the tensors' values (minimum, maximum, mean, standard deviation, "
             "zeros, NaN and infinities, and a histogram from minimum to maximum); reads all data",
     .flag = &args.has_stats},
    {.name = "layers",
     .help = "show how each tensor of a .wcodec is stored, with the place and size of its streams' "
             "heads and segments (--json lists every segment)",
     .flag = &args.is_layers},
    {.name = "raw",
     .help = "print the value of one key, or a side file such as config.json, verbatim: FILE KEY",
     .flag = &args.is_raw},
    {.name = "context",
     .arg = "N",
     .help = "compute the size of the cache for N tokens (default: the model's own context)",
     .size = &args.context},
    {.name = "stored",
     .help = "show the tensors that packed weights (GPTQ, AWQ, FP8 with scales, ...) are stored in",
     .flag = &cli.is_stored},
    {.name = "all", .help = "print arrays and strings in full", .flag = &args.is_all},
    {0},
};

/* Metadata values longer than this are shortened. */
#define VALUE_COLUMNS 72
#define JSON_ELEMENTS 8
/* ---- which tensors, in which order ----------------------------------------------------------- */

/* --filter, and what it leaves of the model at hand: NULL without one. */
static tare_pattern *pattern;
static bool *selected_tensors, *selected_keys;

static bool is_selected(const bool *selected, size_t i) {
    return !selected || selected[i];
}

static void forget_filter(void) {
    free(selected_tensors);
    free(selected_keys);
    selected_tensors = selected_keys = NULL;
}

/* Before anything is printed, since an expression may take too long. */
static int filter(const tare_model *model, const char *path) {
    const tare_model_summary *sum = tare_model_summarize(model);
    tare_status status = TARE_OK;
    tare_error err;
    if (!pattern) return CLI_YES;
    selected_tensors = cli_alloc(sum->n_tensors, sizeof *selected_tensors);
    selected_keys = cli_alloc(sum->n_metadata, sizeof *selected_keys);
    for (size_t i = 0; status == TARE_OK && i < sum->n_tensors; i++)
        status = tare_pattern_matches(&selected_tensors[i], pattern,
                                      tare_model_tensor(model, i)->name, &err);
    for (size_t i = 0; status == TARE_OK && i < sum->n_metadata; i++)
        status = tare_pattern_matches(&selected_keys[i], pattern,
                                      tare_model_metadata(model, i)->key, &err);
    return status == TARE_OK ? CLI_YES : cli_fail(&err, path);
}

/* qsort knows no context. */
static const tare_model *sorted_model;

static int compare_names(const tare_tensor *a, const tare_tensor *b) {
    size_t n = a->name.len < b->name.len ? a->name.len : b->name.len;
    int order = n ? memcmp(a->name.ptr, b->name.ptr, n) : 0;
    if (order != 0) return order;
    return a->name.len < b->name.len ? -1 : a->name.len > b->name.len;
}

static int compare_tensors(const void *left, const void *right) {
    const size_t *i = left, *k = right;
    const tare_tensor *a = tare_model_tensor(sorted_model, *i);
    const tare_tensor *b = tare_model_tensor(sorted_model, *k);
    int order = 0;
    if (strcmp(args.sort, "name") == 0) {
        order = compare_names(a, b);
    } else if (strcmp(args.sort, "type") == 0) {
        order = (int)a->encoding->id - (int)b->encoding->id;
    } else if (a->size_bytes != b->size_bytes) {
        order = a->size_bytes < b->size_bytes ? 1 : -1;
    }
    return order != 0 ? order : *i < *k ? -1 : 1;
}

/* The indexes of the tensors to show; owned by the caller. */
static size_t *choose_tensors(const tare_model *model, size_t *n) {
    const tare_model_summary *sum = tare_model_summarize(model);
    size_t *chosen = cli_alloc(sum->n_tensors, sizeof *chosen);
    *n = 0;
    for (size_t i = 0; i < sum->n_tensors; i++) {
        if (is_selected(selected_tensors, i)) chosen[(*n)++] = i;
    }
    sorted_model = model;
    if (args.sort) qsort(chosen, *n, sizeof *chosen, compare_tensors);
    return chosen;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Regions of a tensor whose parts are stored separately: "scales 128 B, codes 2.05 kB"; for a list,
 * its length. */
static void put_regions(char *buf, size_t size, const tare_tensor *tensor) {
    size_t n = 0;
    for (uint32_t p = 0; p < tensor->encoding->n_planes && n < size; p++) {
        if (tensor->encoding->planes[p].scope == TARE_PLANE_LIST) continue;
        n += (size_t)snprintf(buf + n, size - n, "%s%s %s", p ? ", " : "",
                              tensor->encoding->planes[p].name,
                              cli_size_text(tensor->planes[p].size).text);
    }
    uint64_t n_outliers;
    if (info_outliers(tensor, &n_outliers) && n_outliers && n < size)
        snprintf(buf + n, size - n, ", %s outlier%s", cli_exact_text(n_outliers).text,
                 cli_plural(n_outliers));
}

static const char *note_of(char *buf, size_t size, const tare_model *model, size_t i,
                           const tare_tensor *tensor) {
    buf[0] = '\0';
    if (info_is_cut_short(model, tensor)) return "cut short";
    const char *scheme = tare_tensor_scheme(model, i);
    if (!scheme && tensor->encoding->n_planes > 1) put_regions(buf, size, tensor);
    return scheme ? scheme : buf;
}

/* Says so, since an empty table could mean either a pattern that matches nothing or a model without
 * tensors. */
static void note_no_match(const char *what) {
    if (args.filter) cli_fail_text(CLI_YES, "--filter: no %s matches", what);
}

/* The columns of tensors: what is known of each, then its statistics or notes. */
static cli_table *new_tensor_table(bool is_packed) {
    char headings[160];
    snprintf(headings, sizeof headings, "~NAME|TYPE|SHAPE|>SIZE|%s%s",
             is_packed ? ">PACKED|>RATIO|" : "", args.has_stats ? INFO_STATS_HEADINGS : "");
    return cli_table_new(headings);
}

static void print_tensors(const tare_model *model, const tare_tensor_stats *stats) {
    size_t n;
    size_t *chosen = choose_tensors(model, &n);
    if (n == 0) note_no_match("tensor");
    const bool is_packed = info_is_packed(model);
    cli_table *table = new_tensor_table(is_packed);
    for (size_t i = 0; i < n; i++) {
        const tare_tensor *tensor = tare_model_tensor(model, chosen[i]);
        char *name = cli_escape(tensor->name, false, 0), *shape = cli_shape_text(tensor);
        char note[160];
        cli_table_add(table, name);
        cli_table_add(table, cli_type_text(tensor).text);
        cli_table_add(table, shape);
        cli_table_add(table, cli_size_text(tare_tensor_stored_bytes(model, chosen[i])).text);
        if (is_packed) info_put_packed(table, model, chosen[i]);
        if (stats)
            info_add_stats(table, &stats[chosen[i]]);
        else
            cli_table_add(table, note_of(note, sizeof note, model, chosen[i], tensor));
        free(name);
        free(shape);
    }
    cli_table_print(table, stdout, 0);
    cli_table_free(table);
    free(chosen);
}

static int print_layers(const tare_model *model, const char *path) {
    size_t n;
    size_t *chosen = choose_tensors(model, &n);
    if (n == 0) note_no_match("tensor");
    const int code = info_print_layers(model, chosen, n, path);
    free(chosen);
    return code;
}

#define SPARE_TEXT "(room in the header for later edits)"

/* The key under which an edit in place leaves what it does not need. */
static bool is_spare(tare_str key) {
    static const char name[] = "tare.pad";
    return key.len == sizeof name - 1 && memcmp(key.ptr, name, key.len) == 0;
}

static void print_metadata(const tare_model *model) {
    cli_table *table = cli_table_new(args.is_all ? "KEY|TYPE|VALUE" : "KEY|TYPE|~VALUE");
    const tare_metadata *entry;
    size_t n = 0;
    for (size_t i = 0; (entry = tare_model_metadata(model, i)) != NULL; i++) {
        if (!is_selected(selected_keys, i)) continue;
        n++;
        char *key = cli_escape(entry->key, false, 0);
        char *type = cli_value_type_text(&entry->value);
        char *value = is_spare(entry->key)
                          ? cli_copy(SPARE_TEXT, sizeof SPARE_TEXT - 1)
                          : cli_value_text(&entry->value, args.is_all ? 0 : VALUE_COLUMNS);
        cli_table_add(table, key);
        cli_table_add(table, type);
        cli_table_add(table, value);
        free(key);
        free(type);
        free(value);
    }
    if (n == 0) note_no_match("key");
    cli_table_print(table, stdout, 0);
    cli_table_free(table);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static tare_json_node *json_regions(const tare_tensor *tensor) {
    tare_json_node *list = cli_json_array();
    for (uint32_t p = 0; p < tensor->encoding->n_planes; p++) {
        tare_json_node *entry = cli_json_object();
        cli_json_text(entry, "name", tensor->encoding->planes[p].name);
        cli_json_u64(entry, "offset", tensor->planes[p].offset);
        cli_json_u64(entry, "size_bytes", tensor->planes[p].size);
        cli_json_append(list, entry);
    }
    return list;
}

/* *code: 0, or an exit code after saying why. */
static tare_json_node *json_tensors(const tare_model *model, const char *path,
                                    const tare_tensor_stats *stats, int *code) {
    tare_json_node *list = cli_json_array();
    size_t n;
    *code = CLI_YES;
    size_t *chosen = choose_tensors(model, &n);
    for (size_t i = 0; i < n && *code == CLI_YES; i++) {
        const tare_tensor *tensor = tare_model_tensor(model, chosen[i]);
        const char *scheme = tare_tensor_scheme(model, chosen[i]);
        tare_json_node *entry = cli_json_object();
        cli_json_u64(entry, "index", chosen[i]);
        cli_json_str(entry, "name", tensor->name);
        cli_json_text(entry, "type", cli_type_text(tensor).text);
        cli_json_add(entry, "shape", cli_json_shape(tensor));
        cli_json_u64(entry, "size_bytes", tare_tensor_stored_bytes(model, chosen[i]));
        uint64_t packed;
        if (tare_tensor_packed_bytes(&packed, model, chosen[i]))
            cli_json_u64(entry, "packed_bytes", packed);
        cli_json_u64(entry, "file_index", tensor->planes[0].file);
        cli_json_u64(entry, "offset", tensor->planes[0].offset);
        if (tensor->encoding->n_planes > 1) cli_json_add(entry, "regions", json_regions(tensor));
        uint64_t n_outliers;
        if (info_outliers(tensor, &n_outliers)) cli_json_u64(entry, "outlier_count", n_outliers);
        if (scheme) cli_json_text(entry, "scheme", scheme);
        if (info_is_cut_short(model, tensor)) cli_json_bool(entry, "is_truncated", true);
        if (stats) cli_json_add(entry, "stats", info_json_stats(&stats[chosen[i]]));
        if (args.is_layers) *code = info_json_layer(entry, model, chosen[i], path);
        cli_json_append(list, entry);
    }
    free(chosen);
    return list;
}

static tare_json_node *json_metadata(const tare_model *model) {
    uint64_t most = args.is_all ? UINT64_MAX : JSON_ELEMENTS;
    tare_json_node *list = cli_json_array();
    const tare_metadata *entry;
    for (size_t i = 0; (entry = tare_model_metadata(model, i)) != NULL; i++) {
        if (!is_selected(selected_keys, i)) continue;
        cli_json_append(list, cli_json_metadata(entry, most));
    }
    return list;
}

static int print_json(const tare_model *model, const char *path, const tare_tensor_stats *stats,
                      const tare_report *report) {
    tare_json_node *document = cli_json_object();
    int code = CLI_YES;
    cli_json_text(document, "input", cli_input_name(path));
    info_json_screen(document, model, path, args.context, report);
    if (args.is_tensors || args.is_layers)
        cli_json_add(document, "tensors", json_tensors(model, path, stats, &code));
    if (args.is_metadata) cli_json_add(document, "metadata", json_metadata(model));
    if (code == CLI_YES) cli_json_print(document);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int print_text(const tare_model *model, const char *path, const tare_tensor_stats *stats,
                      const tare_report *report) {
    if (!args.is_tensors && !args.is_metadata && !args.is_layers)
        info_print_screen(model, path, args.context, report);
    if (args.is_metadata) print_metadata(model);
    if (args.is_metadata && args.is_tensors) fputc('\n', stdout);
    if (args.is_tensors) print_tensors(model, stats);
    if (args.is_tensors && !args.filter) info_list_adapters(model);
    if (args.is_layers && (args.is_tensors || args.is_metadata)) fputc('\n', stdout);
    return args.is_layers ? print_layers(model, path) : CLI_YES;
}

/* Whether several models are rows of a table: no option asks for more of each. */
static bool is_table(int n) {
    return n > 1 && !cli.json && !args.is_tensors && !args.is_metadata && !args.is_layers &&
           !args.is_raw && args.context == 0;
}

static void add_row(cli_table *table, const tare_model *model, const char *path) {
    const tare_model_summary *sum = tare_model_summarize(model);
    char *name = cli_escape_path(cli_input_name(path)), text[80] = "";
    char *architecture = cli_escape(tare_model_architecture(model), false, 24);
    info_share shares[TARE_ENCODING_COUNT];
    const size_t n = info_count_types(shares, model);
    tare_error why;
    cli_table_add(table, name);
    cli_table_add(table, cli_format_text(model).text);
    cli_table_add(table, architecture);
    cli_table_add(table, cli_count_text(sum->n_parameters).text);
    cli_table_add(table, cli_size_text(cli_file_bytes(model)).text);
    snprintf(text, sizeof text, "%.2f", (double)sum->tensor_bytes * 8 / (double)sum->n_parameters);
    cli_table_add(table, sum->n_parameters ? text : "");
    text[0] = '\0';
    for (size_t i = 0; i < n && i < 3; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? ", " : "",
                 shares[i].encoding->name);
    if (n > 3) snprintf(text + strlen(text), sizeof text - strlen(text), ", ...");
    cli_table_add(table, text);
    const bool is_run = info_llama(&why, model);
    const bool is_beside = is_run ? tare_llama_is_draft(model)
                                  : info_projector(model).len || info_is_loaded_adapter(model);
    cli_table_add(table, is_beside ? "beside a model"
                         : is_run  ? info_is_packed(model) ? "runs it unpacked" : "runs it"
                         : why.status != TARE_OK       ? "does not run it"
                         : !info_converts(&why, model) ? ""
                         : why.status == TARE_OK       ? "runs it converted"
                                                       : "convert refuses it");
    free(name);
    free(architecture);
}

/* Prints what the options request about an open model; returns an exit code. */
static int show(const tare_model *model, const char *path, const tare_report *report,
                cli_table *table) {
    tare_tensor_stats *stats = NULL;
    size_t *chosen = NULL, n = 0;
    if (table) {
        add_row(table, model, path);
        return CLI_YES;
    }
    int code;
    if (args.is_layers && !info_is_packed(model)) {
        char *name = cli_escape_path(path);
        cli_fail_text(CLI_USAGE, "%s: --layers needs a .wcodec", name);
        free(name);
        return CLI_USAGE;
    }
    if (args.has_stats) {
        chosen = choose_tensors(model, &n);
        stats = info_read_stats(model, chosen, n, &code, path);
        if (code == CLI_YES && cli.json) code = info_fail_unmeasured(model, stats, chosen, n, path);
        if (code != CLI_YES) goto out;
    }
    code =
        cli.json ? print_json(model, path, stats, report) : print_text(model, path, stats, report);
    if (stats && !cli.json && code == CLI_YES)
        code = info_fail_unmeasured(model, stats, chosen, n, path);
out:
    free(chosen);
    free(stats);
    return code;
}

static int show_each(int n, const char **paths, bool has_heading, cli_table *table);

/* NULL: they are shown one after the other. */
static cli_table *new_model_table(int n) {
    return is_table(n) ? cli_table_new("~MODEL|FORMAT|ARCHITECTURE|>PARAMETERS|>SIZE|>BITS/WEIGHT|"
                                       "TYPES|LLAMA.CPP")
                       : NULL;
}

/* What did not open as one model, and may be several: a repository of the hub, which is asked for its
 * files only then. */
static int show_unopened(const char *path, const tare_error *err, cli_table *table) {
    const bool may_be = err->status == TARE_ERR_UNSUPPORTED && strncmp(path, "hf://", 5) == 0;
    if (!may_be || args.is_raw) return cli_fail_open(err, path);
    cli_models there = cli_models_at(path);
    cli_table *own = table ? NULL : new_model_table(there.n);
    const int code =
        there.n ? show_each(there.n, there.paths, true, table ? table : own) : cli_fail(err, path);
    if (own) cli_table_print(own, stdout, 0);
    cli_table_free(own);
    cli_models_free(&there);
    return code;
}

/* One model; if there are several, each under its name, with which the screen begins anyway. */
static int show_path(const char *path, const char *key, bool has_heading, cli_table *table) {
    tare_report *report = cli_report_new();
    tare_model *model;
    tare_error err;
    int code = cli_open_quietly(&model, path, report, &err) == TARE_OK
                   ? CLI_YES
                   : show_unopened(path, &err, table);
    if (!model) {
        tare_report_free(report);
        return code;
    }
    code = filter(model, path);
    if (code == CLI_YES && has_heading && !cli.json && (args.is_tensors || args.is_metadata)) {
        char *name = cli_escape_path(path);
        printf("%s:\n", name);
        free(name);
    }
    if (code == CLI_YES)
        code = key ? info_print_raw(model, path, key) : show(model, path, report, table);
    if (code == CLI_YES) code = info_fault(path);
    forget_filter();
    tare_model_free(model);
    tare_report_free(report);
    return code;
}

/* Whether a word names a model, or at least a file. */
static bool is_model(const char *path) {
    return strcmp(path, "-") == 0 || tare_is_url(path) || cli_is_there(path);
}

/* The key that a word is, or resembles, as text; NULL: none. */
static char *key_text(const tare_model *model, const char *word) {
    const tare_str key = {word, strlen(word)};
    const bool is_key =
        tare_model_find_key(model, key) >= 0 || tare_model_find_resource(model, key) >= 0;
    return is_key ? cli_escape(key, true, 0) : info_guess_key(model, word);
}

/* A key where a file is expected: another of the arguments may be the file that has it. */
static void hint_key(int n, const char **paths) {
    const char *word = NULL, *path = NULL;
    for (int i = 0; i < n; i++) {
        if (!is_model(paths[i]) && !word) word = paths[i];
        if (is_model(paths[i]) && !path && strcmp(paths[i], "-") != 0) path = paths[i];
    }
    tare_model *model;
    tare_error err;
    if (!word || !path || cli_open_quietly(&model, path, NULL, &err) != TARE_OK) return;
    char *safe = cli_escape_path(cli_hide_secrets(path)), *key = key_text(model, word);
    if (key)
        fprintf(cli_error_stream(), "%s has the key %s: tare info %s %s --raw prints its value\n",
                safe, key, safe, key);
    else if (args.is_metadata)
        fputs("a key is chosen by --filter KEY, its value printed by FILE KEY --raw\n",
              cli_error_stream());
    free(key);
    free(safe);
    tare_model_free(model);
}

static int show_each(int n, const char **paths, bool has_heading, cli_table *table) {
    int code = CLI_YES;
    for (int i = 0; i < n; i++) {
        if (i && !cli.json && !table) fputc('\n', stdout);
        const int own = show_path(paths[i], NULL, has_heading, table);
        if (own > code) code = own;
    }
    return code;
}

static int show_all(int n, const char **paths) {
    if (cli.json) cli_json_begin_list(cli_json_new("tare.info/2"), "models");
    cli_table *table = new_model_table(n);
    const int code = show_each(n, paths, n > 1, table);
    if (table) cli_table_print(table, stdout, 0);
    cli_table_free(table);
    cli_json_end_list();
    if (code == CLI_IO && n > 1) hint_key(n, paths);
    return code;
}

static int run(int argc, const char **argv) {
    if (args.is_raw && argc != 2) return cli_usage(&cmd_info, "--raw needs FILE KEY");
    if (args.is_raw && cli.json)
        return cli_usage(&cmd_info, "--raw and --json: -m --filter KEY --json has the value, too");
    if (args.has_stats) args.is_tensors = true;
    tare_error err;
    if (args.filter &&
        tare_pattern_new(&pattern, args.filter, strlen(args.filter), NULL, &err) != TARE_OK) {
        char *safe = cli_escape_path(args.filter);
        cli_usage(&cmd_info, "--filter: \"%s\" is not a regular expression: %s", safe, err.what);
        free(safe);
        return CLI_USAGE;
    }
    if ((args.sort || args.filter) && !args.is_metadata && !args.is_layers) args.is_tensors = true;
    cli.base_use = CLI_BASES_NAMED;
    int code;
    if (args.is_raw) {
        code = show_path(argv[0], argv[1], false, NULL);
    } else {
        cli_models models = cli_models_of(argc, argv);
        code = show_all(models.n, models.paths);
        cli_models_free(&models);
    }
    tare_pattern_free(pattern);
    return code;
}

const cli_command cmd_info = {
    .name = "info",
    .summary = "show what is in a model",
    .usage = "FILE|DIR|URL... [-t] [-m] [--filter REGEX] [--stats] [--layers]\n"
             "FILE KEY --raw",
    .description =
        "Reads a file's header but none of its data, so it is quick at any size. Without "
        "options: format, parameters, types and sizes on one screen, and whether llama.cpp runs "
        "it; for several models, a row each. "
        "FILE may be any member of a "
        "shard set, DIR a Hugging Face directory, or a folder of several models, ollama://NAME:TAG "
        "a model of Ollama's store, - standard "
        "input.",
    .examples = {{"tare info model.gguf", "one screen about a model"},
                 {"tare info *.gguf", "several models as a table"},
                 {"tare info hf://ORG/NAME", "the same for a model on the hub, or behind a URL"},
                 {"tare info hf://ORG/NAME:Q4_K_M",
                  "of several GGUF files there, the one of this type"},
                 {"tare info -t --sort size model.safetensors", "its tensors, largest first"},
                 {"tare info -t --filter 'blk\\.0\\.' model.gguf", "the tensors of one layer"},
                 {"tare info -t --stats model.gguf", "statistics of its tensors' values"},
                 {"tare info --layers model.wcodec", "how each tensor is stored in a .wcodec"},
                 {"tare info model.gguf tokenizer.chat_template --raw > template.jinja",
                  "one metadata value, as it is"},
                 {"tare info --context 8Ki model.gguf", "the memory that 8192 tokens need"},
                 {"tare info --json -t model.gguf | jq '.models[].tensors[].name'", "for scripts"}},
    .options = options,
    .main = "tensors metadata filter sort stats context raw json",
    .takes = CLI_TAKES_WORK | CLI_TAKES_JSON | CLI_TAKES_INPUT | CLI_TAKES_BASE,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 1,
    .max_args = -1,
    .run = run,
};
