/* SPDX-License-Identifier: MIT
 *
 * tare report: what is in a model, as a page to look at. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
     .help = "the page, x.html; -: standard output",
     .text = &args.output},
    {.name = "against",
     .arg = "BASE",
     .complete = CLI_COMPLETE_FILE,
     .help = "the model that this one was made from: shows how much each tensor differs",
     .text = &args.against},
    {.name = "directory",
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
    cli_fail_text(CLI_USAGE, "--against: %s has no tensor of the names of the model's", safe);
    free(safe);
    return CLI_USAGE;
}

/* ---- the page -------------------------------------------------------------------------------- */

static int write_page(const report_input *in, struct json_t *document) {
    size_t n;
    tare_error err;
    tare_run_options run_options = TARE_RUN_OPTIONS_INIT;
    char *page = report_page(document, &n);
    int code = CLI_YES;
    run_options.force = cli.force;
    run_options.no_sync = cli.no_sync;
    if (strcmp(args.output, "-") == 0) {
        cli_put(page, n);
    } else if (tare_file_write(args.output, page, n, in->model, &run_options, &err) != TARE_OK) {
        code = cli_fail(&err, args.output);
    } else if (!cli.quiet && !cli.json) {
        const size_t n_tensors = tare_model_summarize(in->model)->n_tensors;
        char *name = cli_escape_path(args.output);
        printf("%s: %s tensor%s, %s\n", name, cli_exact_text(n_tensors).text, cli_plural(n_tensors),
               cli_size_text(n).text);
        free(name);
    }
    free(page);
    return code;
}

static int report(report_input *in) {
    tare_model *renamed = NULL;
    int code = in->base ? name_alike(in, &renamed) : CLI_YES;
    struct json_t *document = code == CLI_YES ? report_document(in, &code) : NULL;
    if (document && args.output) code = write_page(in, document);
    if (document && cli.json && code == CLI_YES)
        cli_json_print(document);
    else if (document)
        cli_json_free(document);
    tare_model_free(renamed);
    return code;
}

static int run(int argc, const char **argv) {
    (void)argc;
    report_input in = {
        .path = argv[0], .base_path = args.against, .is_directory = args.is_directory};
    if (args.output && cli_check_local(&cmd_report, args.output) != CLI_YES) return CLI_USAGE;
    const char *claimed = args.output ? cli_suffix_claims(args.output, "HTML") : NULL;
    if (claimed)
        return cli_usage(&cmd_report, "the page is HTML, but its name ends like %s", claimed);
    const bool is_stdout = args.output && strcmp(args.output, "-") == 0;
    if (!args.output && !cli.json)
        return cli_usage(&cmd_report, "name the page, as in -o report.html");
    if (is_stdout && cli.json)
        return cli_usage(&cmd_report, "standard output is for the page or for --json, not both");
    if (is_stdout && isatty(STDOUT_FILENO))
        return cli_usage(&cmd_report, "standard output is a terminal; say -o FILE");
    if (args.against && strcmp(args.against, "-") == 0 && strcmp(in.path, "-") == 0)
        return cli_usage(&cmd_report, "standard input can be one of the two only");
    tare_report *findings = tare_report_new();
    tare_model *model, *base = NULL;
    int code = cli_open(&model, argv[0], findings);
    if (code == CLI_YES && args.against) code = cli_open(&base, args.against, NULL);
    in.model = model;
    in.base = in.given = base;
    in.findings = findings;
    if (code == CLI_YES) code = report(&in);
    tare_model_free(base);
    tare_model_free(model);
    tare_report_free(findings);
    return code;
}

const cli_command cmd_report = {
    .name = "report",
    .summary = "make a page that shows what is in a model",
    .usage = "FILE|DIR|URL -o x.html [--against BASE] [--directory]",
    .description =
        "One HTML file that needs no network: where the bytes are, all tensors with their "
        "statistics and histograms, metadata, and a sample of the tokenizer. With --against it "
        "shows by layer and role how far the values are from those of another model, whose "
        "tensors may have Hugging Face's names where the model has llama.cpp's, or the reverse. "
        "--json prints "
        "what the page shows.",
    .examples = {{"tare report model.gguf -o report.html", "a page to open in a browser"},
                 {"tare report q4.gguf --against f16.gguf -o report.html",
                  "what quantization cost, layer by layer"},
                 {"tare report q4.gguf --against hf-directory -o report.html",
                  "the same against the model it was converted from"},
                 {"tare report hf://ORG/NAME --directory -o report.html",
                  "what is on the hub, without fetching its values"},
                 {"tare report model.gguf --json", "the same facts for a program"}},
    .options = options,
    .main = "output against directory json",
    .takes = CLI_TAKES_WORK | CLI_TAKES_JSON | CLI_TAKES_INPUT | CLI_TAKES_OUTPUT | CLI_TAKES_BASE,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
