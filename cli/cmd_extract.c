/* SPDX-License-Identifier: MIT
 *
 * tare extract: one tensor, or some of its rows, as a file of its own. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static struct {
    const char *form, *rows;
    const char *output; /* NULL: standard output */
    bool is_adapter;
} args;

static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "x.npy: decoded (integers as they are, else f32); x.bin: the stored bytes; "
             "- (the default): standard output",
     .text = &cli.output},
    {.name = "form",
     .arg = "FORM",
     .choices = "npy bin",
     .help = "what to write, where the output's suffix does not say",
     .text = &args.form},
    {.name = "rows",
     .arg = "A:B",
     .help = "rows A up to, not including, B; rows run over all dimensions but the fastest",
     .text = &args.rows},
    {.name = "adapter",
     .help = "NAME is an adapter of the model: x.safetensors takes one pair of factors as A and B, "
             "any other name becomes a PEFT directory",
     .flag = &args.is_adapter},
    {0},
};

static bool has_suffix(const char *path, const char *suffix) {
    size_t n = strlen(path), n_suffix = strlen(suffix);
    return n >= n_suffix && strcmp(path + n - n_suffix, suffix) == 0;
}

/* The form by --form or by the name; false after saying that neither tells. */
static bool choose_form(tare_extract_form *form, const char *output) {
    bool is_bin = has_suffix(output, ".bin");
    if (args.form) {
        is_bin = strcmp(args.form, "bin") == 0;
    } else if (!is_bin && !has_suffix(output, ".npy") && strcmp(output, "-") != 0) {
        char *name = cli_escape_path(output);
        cli_usage(&cmd_extract, "%s: neither .npy nor .bin; say --form", name);
        free(name);
        return false;
    }
    *form = is_bin ? TARE_EXTRACT_BIN : TARE_EXTRACT_NPY;
    return true;
}

/* Names to guess from, as C strings; one is kept at a time per turn of the search. */
typedef struct names {
    const tare_model *model;
    char **texts;
    size_t n;
} names;

#define NAMES_MAX 4096 /* a guess is a courtesy: larger models are searched in part */

static const char *tensor_name_at(void *ctx, size_t i) {
    names *list = ctx;
    const tare_tensor *tensor = i < NAMES_MAX ? tare_model_tensor(list->model, i) : NULL;
    if (!tensor) return NULL;
    if (i == list->n) {
        list->texts = cli_grow(list->texts, ++list->n, sizeof *list->texts);
        list->texts[i] = cli_copy(tensor->name.ptr, tensor->name.len);
    }
    return list->texts[i];
}

static int no_tensor(const tare_model *model, const char *path, const char *name) {
    names list = {.model = model};
    const char *nearest = cli_nearest(name, tensor_name_at, &list);
    char *safe = cli_escape((tare_str){name, strlen(name)}, true, 0);
    char *safe_path = cli_escape_path(cli_input_name(path));
    if (nearest) {
        char *guess = cli_escape((tare_str){nearest, strlen(nearest)}, true, 0);
        cli_fail_text(CLI_USAGE, "%s: no tensor \"%s\"; did you mean \"%s\"?", safe_path, safe,
                      guess);
        free(guess);
    } else {
        cli_fail_text(CLI_USAGE, "%s: no tensor \"%s\"; tare info -t lists them", safe_path, safe);
    }
    for (size_t i = 0; i < list.n; i++) free(list.texts[i]);
    free(list.texts);
    free(safe);
    free(safe_path);
    return CLI_USAGE;
}

static bool choose_rows(tare_extract_options *extract_options, const tare_tensor *tensor) {
    uint64_t first, end;
    if (!args.rows) return true;
    if (!cli_range_parse(&first, &end, args.rows)) {
        char *safe = cli_escape_path(args.rows);
        cli_usage(&cmd_extract, "--rows: \"%s\" is not A:B with A < B", safe);
        free(safe);
        return false;
    }
    if (end == UINT64_MAX) end = tensor->n_rows;
    if (first >= end || end > tensor->n_rows) {
        cli_usage(&cmd_extract, "--rows: the tensor has %" PRIu64 " row%s", tensor->n_rows,
                  cli_plural(tensor->n_rows));
        return false;
    }
    extract_options->first_row = first;
    extract_options->n_rows = end - first;
    return true;
}

static int extract(const tare_model *model, const char *path, const char *name, const char *output,
                   tare_report *report) {
    tare_extract_options extract_options = tare_extract_options_default();
    const tare_context context = cli_context(report);
    extract_options.context = &context;
    const tare_output_options written = cli_output();
    uint64_t written_bytes;
    extract_options.output = &written;
    extract_options.written_bytes = &written_bytes;
    tare_extract_form form;
    tare_error err;
    if (!choose_form(&form, output)) return CLI_USAGE;
    /* numbers of a packed weight, bytes of what it is stored in; of one in chunks, those of the whole */
    const tare_str text = {name, strlen(name)};
    const tare_model *stored = tare_model_as_stored(model), *whole = model;
    int64_t i = tare_model_find_tensor(model, text);
    const bool is_packed = i >= 0 && tare_tensor_scheme(model, (size_t)i);
    if (i < 0 ||
        (form == TARE_EXTRACT_BIN && (is_packed || tare_model_find_tensor(stored, text) >= 0)))
        model = stored;
    i = tare_model_find_tensor(model, text);
    if (i < 0) return no_tensor(whole, path, name);
    const tare_tensor *tensor = tare_model_tensor(model, (size_t)i);
    if (!choose_rows(&extract_options, tensor)) return CLI_USAGE;
    cli_progress_start("extracting");
    tare_status status =
        strcmp(output, "-") == 0
            ? tare_extract_fd(CLI_OUTPUT_FD, model, (size_t)i, form, &extract_options, &err)
            : tare_extract(output, model, (size_t)i, form, &extract_options, &err);
    cli_progress_end();
    const tare_level level = cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_WARNING;
    if (status == TARE_OK)
        cli_print_remarks(report, path, level);
    else
        cli_print_findings(stderr, report, path, level);
    if (status != TARE_OK) {
        cli_name_base(&err);
        return cli_fail(&err, path);
    }
    const bool is_stream = strcmp(output, "-") == 0;
    if (cli.quiet || (is_stream && !cli.dry_run)) return CLI_YES;
    char *shape = cli_shape_text(tensor),
         *out_name = cli_escape_path(is_stream ? "standard output" : output);
    printf("%s%s: %s %s", cli.dry_run ? "would write " : "", out_name, cli_type_text(tensor).text,
           shape);
    if (args.rows) {
        printf(", rows %" PRIu64 " to %" PRIu64, extract_options.first_row,
               extract_options.first_row + extract_options.n_rows - 1);
    }
    if (cli.dry_run) printf(", %s", cli_size_text(written_bytes).text);
    fputc('\n', stdout);
    free(shape);
    free(out_name);
    return CLI_YES;
}

static int extract_adapter(const tare_model *model, const char *path, const char *name) {
    const tare_context context = cli_context(NULL);
    const tare_output_options output = cli_output();
    tare_error err;
    const tare_adapter_use use = {
        .set = tare_model_adapters(model), .name = {name, strlen(name)}, .scale = 1};
    if (!use.set) {
        char *safe = cli_escape_path(cli_input_name(path));
        cli_fail_text(CLI_USAGE, "%s: the model has no adapters", safe);
        free(safe);
        return CLI_USAGE;
    }
    cli_progress_start("extracting");
    tare_status status = tare_adapters_write(args.output, &use, &output, &context, &err);
    cli_progress_end();
    if (status != TARE_OK) return cli_fail(&err, path);
    if (cli.quiet) return CLI_YES;
    size_t n = 0;
    const tare_adapter *a;
    for (size_t i = 0; (a = tare_adapters_at(use.set, i)) != NULL; i++)
        n += tare_adapter_is_used(&use, a);
    char *safe = cli_escape_path(args.output);
    printf("%s%s: %zu pair%s of factors, f32\n", cli.dry_run ? "would write " : "", safe, n,
           cli_plural(n));
    free(safe);
    return CLI_YES;
}

static int run(int argc, const char **argv) {
    args.output = argc > 2 ? argv[2] : NULL;
    if (args.output && cli_check_local(&cmd_extract, args.output) != CLI_YES) return CLI_USAGE;
    if (args.is_adapter) {
        if (!args.output || strcmp(args.output, "-") == 0 || args.form || args.rows)
            return cli_usage(&cmd_extract, "--adapter takes -o OUT and neither --form nor --rows");
        const char *claimed = cli_suffix_claims(args.output, "safetensors");
        if (claimed)
            return cli_usage(&cmd_extract,
                             "--adapter: the output's name ends like %s: name a .safetensors file "
                             "or a directory",
                             claimed);
        tare_model *packed;
        int answer = cli_open(&packed, argv[0], NULL);
        if (answer == 0) answer = extract_adapter(packed, argv[0], argv[1]);
        tare_model_free(packed);
        return answer;
    }
    const char *output = args.output ? args.output : "-";
    if (strcmp(output, "-") == 0 && !cli.dry_run && cli_is_terminal(stdout)) {
        return cli_usage(&cmd_extract, "standard output is a terminal; say -o FILE");
    }
    tare_model *model;
    cli.base_use = CLI_BASES_SOME; /* the tensor may need none */
    int code = cli_open(&model, argv[0], NULL);
    tare_report *report = cli_report_new();
    if (code == 0) code = extract(model, argv[0], argv[1], output, report);
    tare_report_free(report);
    tare_model_free(model);
    return code;
}

const cli_command cmd_extract = {
    .name = "extract",
    .summary = "write one tensor to a file",
    .usage = "FILE|DIR|URL TENSOR [x.npy|x.bin] [--rows A:B]\n"
             "DIR NAME OUT --adapter",
    .description = "As .npy the numbers are decoded; as .bin the bytes are those stored, "
                   "little-endian.",
    .examples = {{"tare extract model.gguf output.weight -o out.npy", "for numpy.load"},
                 {"tare extract model.gguf token_embd.weight --rows 0:10 -o head.npy",
                  "the first ten rows"},
                 {"tare extract hf://ORG/NAME model.norm.weight -o norm.npy",
                  "one tensor of a model on the hub"},
                 {"tare extract model.gguf output.weight --form bin | sha256sum",
                  "the stored bytes, through a pipe"},
                 {"tare extract package.infq sql --adapter -o sql-lora",
                  "the adapter \"sql\" as a PEFT directory"}},
    .options = options,
    .main = "output form rows adapter dry-run force",
    .takes = CLI_TAKES_WORK | CLI_TAKES_INPUT | CLI_TAKES_OUTPUT | CLI_TAKES_BASE,
    .complete = CLI_COMPLETE_FILE,
    .last = CLI_COMPLETE_TENSOR,
    .min_args = 2,
    .max_args = 3,
    .out_at = 2,
    .run = run,
};
