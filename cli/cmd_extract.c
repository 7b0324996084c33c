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
        cli_usage(&cmd_extract, "%s: neither .npy nor .bin; give --form", name);
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

/* A packed weight whose parts have other names. */
static int no_bytes(const char *path, const char *name) {
    char *safe = cli_escape((tare_str){name, strlen(name)}, true, 0);
    char *safe_path = cli_escape_path(cli_input_name(path));
    cli_fail_text(CLI_USAGE,
                  "%s: \"%s\" is stored in several tensors: .npy has its numbers, and "
                  "tare info -t --stored lists those whose bytes .bin can have",
                  safe_path, safe);
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

/* ---- telling --------------------------------------------------------------------------------- */

/* What was asked for, and what it became. */
typedef struct piece {
    const char *in_path, *output;
    const tare_tensor *tensor;
    tare_extract_form form;
    uint64_t first_row, n_rows;
    uint64_t written_bytes;
} piece;

static bool is_stream(const char *output) {
    return strcmp(output, "-") == 0;
}

static void print_text(const piece *p) {
    char *shape = cli_shape_text(p->tensor),
         *name = cli_escape_path(is_stream(p->output) ? "standard output" : p->output);
    printf("%s%s: %s %s", cli.dry_run ? "would write " : "", name, cli_type_text(p->tensor).text,
           shape);
    if (args.rows)
        printf(", rows %" PRIu64 " to %" PRIu64, p->first_row, p->first_row + p->n_rows - 1);
    if (cli.dry_run) printf(", %s", cli_size_text(p->written_bytes).text);
    fputc('\n', stdout);
    free(shape);
    free(name);
}

static tare_json_node *new_document(const char *in_path, const char *output) {
    tare_json_node *document = cli_json_new("tare.extract/2");
    cli_json_text(document, "input", cli_input_name(in_path));
    cli_json_text(document, "output", output);
    cli_json_bool(document, "is_dry_run", cli.dry_run);
    return document;
}

static void print_json(const piece *p, const tare_report *report) {
    tare_json_node *document = new_document(p->in_path, p->output);
    cli_json_str(document, "name", p->tensor->name);
    cli_json_text(document, "type", cli_type_text(p->tensor).text);
    cli_json_add(document, "shape", cli_json_shape(p->tensor));
    cli_json_text(document, "form", p->form == TARE_EXTRACT_BIN ? "bin" : "npy");
    cli_json_u64(document, "first_row", p->first_row);
    cli_json_u64(document, "row_count", p->n_rows);
    cli_json_u64(document, "size_bytes", p->written_bytes);
    cli_json_add(document, "findings", cli_json_findings(report));
    cli_json_print(document);
}

static int tell(const piece *p, const tare_report *report) {
    if (cli.json)
        print_json(p, report);
    else
        cli_print_remarks(report, p->in_path, cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_WARNING);
    const bool is_taken = is_stream(p->output) && !cli.dry_run;
    if (!cli.json && !cli.quiet && !is_taken) print_text(p);
    return CLI_YES;
}

/* ---- extracting ------------------------------------------------------------------------------ */

static int write_piece(piece *p, const tare_model *model, size_t i, tare_report *report) {
    tare_extract_options o = tare_extract_options_default();
    const tare_context context = cli_context(report);
    const tare_output_options written = cli_output();
    tare_error err;
    o.context = &context;
    o.output = &written;
    o.written_bytes = &p->written_bytes;
    if (!choose_rows(&o, p->tensor)) return CLI_USAGE;
    p->first_row = o.first_row;
    p->n_rows = args.rows ? o.n_rows : p->tensor->n_rows;
    cli_progress_start("extracting");
    const tare_status status = is_stream(p->output)
                                   ? tare_extract_fd(CLI_OUTPUT_FD, model, i, p->form, &o, &err)
                                   : tare_extract(p->output, model, i, p->form, &o, &err);
    cli_progress_end();
    if (status == TARE_OK) return tell(p, report);
    cli_name_base(&err);
    if (cli.json)
        cli_json_fail(&err, p->in_path, report);
    else
        cli_print_findings(stderr, report, p->in_path,
                           cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_WARNING);
    return cli_fail(&err, p->in_path);
}

static int extract(const tare_model *model, const char *path, const char *name, const char *output,
                   tare_report *report) {
    piece p = {.in_path = path, .output = output};
    if (!choose_form(&p.form, output)) return CLI_USAGE;
    /* numbers of a packed weight, bytes of what it is stored in; of one in chunks, those of the whole */
    const tare_str text = {name, strlen(name)};
    const tare_model *stored = tare_model_as_stored(model), *whole = model;
    int64_t i = tare_model_find_tensor(model, text);
    const bool is_packed = i >= 0 && tare_tensor_scheme(model, (size_t)i);
    if (i < 0 ||
        (p.form == TARE_EXTRACT_BIN && (is_packed || tare_model_find_tensor(stored, text) >= 0)))
        model = stored;
    i = tare_model_find_tensor(model, text);
    if (i < 0 && is_packed) return no_bytes(path, name);
    if (i < 0) return no_tensor(whole, path, name);
    p.tensor = tare_model_tensor(model, (size_t)i);
    return write_piece(&p, model, (size_t)i, report);
}

static void tell_adapter(const char *path, const char *name, size_t n_pairs) {
    if (cli.json) {
        tare_json_node *document = new_document(path, args.output);
        cli_json_text(document, "name", name);
        cli_json_u64(document, "pair_count", n_pairs);
        cli_json_add(document, "findings", cli_json_array());
        cli_json_print(document);
    } else if (!cli.quiet) {
        char *safe = cli_escape_path(args.output);
        printf("%s%s: %zu pair%s of factors, f32\n", cli.dry_run ? "would write " : "", safe,
               n_pairs, cli_plural(n_pairs));
        free(safe);
    }
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
    size_t n = 0;
    const tare_adapter *a;
    for (size_t i = 0; (a = tare_adapters_at(use.set, i)) != NULL; i++)
        n += tare_adapter_is_used(&use, a);
    tell_adapter(path, name, n);
    return CLI_YES;
}

static int run(int argc, const char **argv) {
    args.output = argc > 2 ? argv[2] : NULL;
    if (args.output && cli_check_output(&cmd_extract, args.output) != CLI_YES) return CLI_USAGE;
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
    const bool takes_stdout = is_stream(output) && !cli.dry_run;
    if (takes_stdout && cli.json) return cli_usage_both(&cmd_extract, "json");
    if (takes_stdout && cli_is_terminal(stdout))
        return cli_usage(&cmd_extract, "standard output is a terminal; give -o FILE");
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
    .main = "output form rows adapter dry-run force json",
    .takes = CLI_TAKES_WORK | CLI_TAKES_JSON | CLI_TAKES_INPUT | CLI_TAKES_OUTPUT | CLI_TAKES_BASE,
    .complete = CLI_COMPLETE_FILE,
    .last = CLI_COMPLETE_TENSOR,
    .min_args = 2,
    .max_args = 3,
    .out_at = 2,
    .run = run,
};
