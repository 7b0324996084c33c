/* SPDX-License-Identifier: MIT
 *
 * tare report: what is in a model, as a page to look at. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "report_document.h"

static struct {
    const char *output, *against;
    bool is_directory;
} args;

static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "the page, x.html (default: named after the model); -: standard output",
     .text = &args.output},
    {.name = "against",
     .arg = "BASE",
     .complete = CLI_COMPLETE_FILE,
     .help = "the model that this one was made from: shows how much each tensor differs",
     .text = &args.against},
    {.name = "header-only",
     .old_name = "directory",
     .help = "read no values: no histograms, no errors",
     .flag = &args.is_directory},
    {0},
};

/* ---- the base -------------------------------------------------------------------------------- */

/* The base under the names of the model: *renamed, owned by the caller, may be NULL. */
static int name_alike(report_input *in, tare_model **renamed) {
    int code = cli_map_names(renamed, in->base, in->base_path, in->model);
    if (code == CLI_YES && !*renamed)
        code = cli_restore_names(renamed, in->base, in->base_path, in->model);
    if (*renamed) in->base = *renamed;
    if (code != CLI_YES || tare_model_shares_names(in->model, in->base)) return code;
    char *safe = cli_escape_path(cli_input_name(in->base_path));
    cli_fail_text(CLI_USAGE, "--against: no tensor of %s has the name of one of the model's", safe);
    free(safe);
    return CLI_USAGE;
}

/* ---- the page -------------------------------------------------------------------------------- */

static int write_page(tare_json_node *document, const report_input *in, size_t n_models) {
    size_t n, n_tensors = 0;
    tare_error err;
    const tare_output_options output = cli_output();
    char *page = report_page(document, &n);
    int code = CLI_YES;
    for (size_t i = 0; i < n_models; i++) n_tensors += tare_model_summarize(in[i].model)->n_tensors;
    const bool is_stream = strcmp(args.output, "-") == 0;
    if (is_stream) {
        if (!cli.dry_run) cli_put(page, n);
    } else if (tare_file_write(args.output, page, n, in->model, &output, NULL, &err) != TARE_OK) {
        code = cli_fail(&err, args.output);
    }
    const bool is_told = cli.dry_run || !is_stream;
    if (code == CLI_YES && is_told && !cli.quiet && !cli.json) {
        char *name = cli_escape_path(is_stream ? "standard output" : args.output);
        printf("%s%s: %s tensor%s, %s\n", cli.dry_run ? "would write " : "", name,
               cli_exact_text(n_tensors).text, cli_plural(n_tensors), cli_size_text(n).text);
        free(name);
    }
    free(page);
    return code;
}

/* Adds what is told of one model; an exit code. */
static int add_model(tare_json_node *models, report_input *in) {
    tare_model *renamed = NULL;
    int code = in->base ? name_alike(in, &renamed) : CLI_YES;
    tare_json_node *document = code == CLI_YES ? report_document(in, &code) : NULL;
    if (document) cli_json_append(models, document);
    tare_model_free(renamed);
    return code;
}

static int report(report_input *in, size_t n) {
    tare_json_node *document = cli_json_new("tare.report/2"), *models = cli_json_array();
    int code = CLI_YES;
    cli_json_text(document, "tare_version", tare_version());
    cli_json_add(document, "models", models);
    for (size_t i = 0; i < n && code == CLI_YES; i++) code = add_model(models, &in[i]);
    if (code == CLI_YES && args.output) code = write_page(document, in, n);
    if (code == CLI_YES && cli.json) cli_json_print(document);
    return code;
}

/* The page must not replace what it is about; the first model is seen to when it is written. */
static int check_output(int n, const char **paths) {
    if (!args.output || strcmp(args.output, "-") == 0) return CLI_YES;
    if (args.against && cli_is_same_file(args.against, args.output))
        return cli_usage(&cmd_report, "the page would replace the model that it compares with");
    for (int i = 1; i < n; i++)
        if (cli_is_same_file(paths[i], args.output))
            return cli_usage(&cmd_report, "the page would replace a model that it is about");
    return CLI_YES;
}

/* Whether there is no model of this name, nor may be. */
static bool is_nothing(const char *path) {
    return strcmp(path, "-") != 0 && !strchr(path, ':') && !cli_has_entry(path);
}

static int refuse_page(const char *path) {
    char *safe = cli_escape_path(path);
    cli_usage(&cmd_report, "%s: no model is there, and a page is named x.html or by -o", safe);
    free(safe);
    return CLI_USAGE;
}

static int check_usage(int n, const char **paths) {
    if (args.output && cli_check_output(&cmd_report, args.output) != CLI_YES) return CLI_USAGE;
    const char *claimed = args.output ? cli_suffix_claims(args.output, "HTML") : NULL;
    if (claimed)
        return cli_usage(&cmd_report, "the page is HTML, but its name ends like %s", claimed);
    const bool is_stdout = args.output && strcmp(args.output, "-") == 0 && !cli.dry_run;
    if (!args.output && !cli.json && n > 1 && is_nothing(paths[n - 1]))
        return refuse_page(paths[n - 1]);
    if (!args.output && !cli.json)
        return cli_usage(&cmd_report, "name the page%s, as in -o report.html",
                         n > 1 ? " of several models" : "");
    if (is_stdout && cli.json) return cli_usage_both(&cmd_report, "json");
    if (is_stdout && cli_is_terminal(stdout))
        return cli_usage(&cmd_report, "standard output is a terminal; give -o FILE");
    int n_stdin = args.against && strcmp(args.against, "-") == 0;
    for (int i = 0; i < n; i++) n_stdin += strcmp(paths[i], "-") == 0;
    if (n_stdin > 1) return cli_usage(&cmd_report, "standard input can be one of the models only");
    return check_output(n, paths);
}

static int report_paths(int argc, const char **argv) {
    int code = CLI_YES;
    report_input *in = cli_alloc((size_t)argc, sizeof *in);
    tare_model *base = NULL;
    if (args.against) code = cli_open(&base, args.against, NULL);
    int n = 0;
    for (; n < argc && code == CLI_YES; n++) {
        tare_model *model;
        tare_report *findings = cli_report_new();
        in[n] = (report_input){.path = argv[n],
                               .base = base,
                               .given = base,
                               .base_path = args.against,
                               .is_directory = args.is_directory,
                               .findings = findings};
        code = cli_open(&model, argv[n], findings);
        in[n].model = model;
    }
    if (code == CLI_YES) code = report(in, (size_t)n);
    for (int i = 0; i < n; i++) {
        tare_model_free((tare_model *)(uintptr_t)in[i].model);
        tare_report_free((tare_report *)(uintptr_t)in[i].findings);
    }
    tare_model_free(base);
    free(in);
    return code;
}

static bool is_page(const char *path) {
    const size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".html") == 0;
}

static int run(int argc, const char **argv) {
    const bool is_named = argc > 1 && is_page(argv[argc - 1]);
    if (is_named && args.output)
        return cli_usage(&cmd_report, "the page is named twice, as an argument and by --output");
    if (is_named) args.output = argv[--argc];
    char *page = argc == 1 && !args.output && !cli.json ? cli_name_of_page(argv[0]) : NULL;
    if (page) args.output = page;
    int code = check_usage(argc, argv);
    if (code == CLI_YES) code = report_paths(argc, argv);
    free(page);
    return code;
}

const cli_command cmd_report = {
    .name = "report",
    .summary = "make a page that shows what is in a model",
    .usage = "FILE|DIR|URL [x.html] [--against BASE] [--header-only]\n"
             "FILE|DIR|URL... x.html [--against BASE] [--header-only]",
    .description =
        "One HTML file that needs no network: where the bytes are, all tensors with their "
        "statistics and histograms, metadata, and a sample of the tokenizer. With --against it "
        "shows by layer and role how far the values are from those of another model, whose "
        "tensors may have Hugging Face's names where the model has llama.cpp's, or the reverse. "
        "Several models stand side by side: sizes, bits, and with --against the error of each by "
        "role. Without --output, the page of one model is named after it. --json prints "
        "what the page shows.",
    .examples = {{"tare report model.gguf", "a page to open in a browser, as model.html"},
                 {"tare report q4.gguf --against f16.gguf -o report.html",
                  "what quantization cost, layer by layer"},
                 {"tare report q4.gguf --against hf-directory -o report.html",
                  "the same against the model it was converted from"},
                 {"tare report q8.gguf q5.gguf q4.gguf --against f16.gguf -o report.html",
                  "three files side by side"},
                 {"tare report hf://ORG/NAME --header-only -o report.html",
                  "what is on the hub, without fetching its values"},
                 {"tare report model.gguf --json", "the same facts for a program"}},
    .options = options,
    .main = "output against header-only dry-run force json",
    .takes = CLI_TAKES_WORK | CLI_TAKES_JSON | CLI_TAKES_INPUT | CLI_TAKES_OUTPUT | CLI_TAKES_BASE,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 1,
    .max_args = -1,
    .run = run,
};
