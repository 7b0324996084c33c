/* SPDX-License-Identifier: MIT
 *
 * tare join: an output of the parts that --part wrote. */
#include <inttypes.h>
#include <stdlib.h>

#include "commands.h"

static bool keep;

static const cli_option options[] = {
    {.name = "keep", .help = "leave the parts where they are", .flag = &keep},
    {.name = "output",
     .letter = 'o',
     .arg = "PATH",
     .help = "write the output there instead, as to s3://BUCKET/KEY",
     .complete = CLI_COMPLETE_FILE,
     .text = &cli.output},
    {0},
};

static void print_json(const tare_join_result *r, const tare_parts *parts, const char *out_path,
                       const tare_report *report) {
    tare_json_node *document = cli_json_new("tare.join/2");
    cli_json_text(document, "output", out_path);
    cli_json_bool(document, "is_dry_run", cli.dry_run);
    cli_json_bool(document, "is_directory", r->is_directory);
    cli_json_u64(document, "part_count", tare_parts_count(parts));
    cli_json_u64(document, "file_count", r->n_files);
    cli_json_u64(document, "size_bytes", r->total_bytes);
    cli_json_add(document, "findings", cli_json_findings(report));
    cli_json_print(document);
}

static void print_text(const tare_join_result *r, const tare_parts *parts, const char *out_path) {
    char *name = cli_escape_path(out_path);
    printf("%s%s: ", cli.dry_run ? "would write " : "", name);
    if (r->is_directory) printf("%zu file%s, ", r->n_files, cli_plural(r->n_files));
    printf("%s from %" PRIu32 " part%s\n", cli_size_text(r->total_bytes).text,
           tare_parts_count(parts), cli_plural(tare_parts_count(parts)));
    free(name);
}

static int run(int argc, const char **argv) {
    const char *to = argc > 1 ? argv[1] : NULL;
    tare_report *report = cli_report_new();
    const tare_context context = cli_context(report);
    tare_output_options output = cli_output();
    tare_join_result result = tare_join_result_default();
    tare_parts *parts;
    tare_error err;
    const char *out_path = to ? to : argv[0];
    int code = cli_check_local(&cmd_join, argv[0]);
    if (code == CLI_YES && to) code = cli_check_output(&cmd_join, to);
    if (code != CLI_YES) goto out;
    output.remote = cli_session();
    tare_status status = tare_parts_open(&parts, argv[0], &context, &err);
    cli_progress_start("joining");
    if (status == TARE_OK) status = tare_parts_join(&result, parts, to, keep, &output, &err);
    cli_progress_end();
    if (status != TARE_OK) {
        cli_print_left(report, argv[0]);
        if (cli_has_code(&err, TARE_CODE_NO_PARTS) && cli_stat(argv[0]) != CLI_PATH_NOTHING)
            err.what = "there is no part of this output, and the output is there: joined already?";
        code = cli_fail(&err, argv[0]);
        tare_parts_free(parts);
        goto out;
    }
    if (!cli.json)
        cli_print_findings(stderr, report, argv[0],
                           cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_WARNING);
    if (cli.json)
        print_json(&result, parts, out_path, report);
    else if (!cli.quiet)
        print_text(&result, parts, out_path);
    tare_parts_free(parts);
out:
    tare_report_free(report);
    return code;
}

const cli_command cmd_join = {
    .name = "join",
    .summary = "join the parts that --part wrote into their output",
    .usage = "OUT [PATH] [--keep]",
    .description =
        "OUT is what convert, quantize, pack, unpack or verify --write-manifest were given with "
        "--part. It becomes what one "
        "machine "
        "would have written, byte for byte, and the parts are removed; where the file system can, "
        "it takes over their data without copying. A part that is missing, unfinished, made with "
        "other options or from another input, or there twice, is named, and nothing is written "
        "(exit code 2). What --shared wrote "
        "gets its name. PATH, or -o PATH: where the output goes instead.",
    .examples = {{"tare quantize model.gguf small.gguf Q4_K_M --part 1/2", "on one machine"},
                 {"tare quantize model.gguf small.gguf Q4_K_M --part 2/2", "on another one"},
                 {"tare status small.gguf", "which parts are done"},
                 {"tare join small.gguf", "small.gguf, as one machine writes it"},
                 {"tare join small.gguf -o s3://bucket/small.gguf", "the same, uploaded"},
                 {"sbatch --array=0-99 job.sh", "a job that runs tare convert IN OUT --part auto"}},
    .options = options,
    .takes = CLI_TAKES_QUIET | CLI_TAKES_JSON | CLI_TAKES_OUTPUT | CLI_TAKES_URL,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 1,
    .max_args = 2,
    .out_at = 1,
    .run = run,
};
