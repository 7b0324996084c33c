/* SPDX-License-Identifier: MIT
 *
 * tare unpack: the files that a .wcodec was packed from. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static struct {
    const char *planes, *to, *file;
    bool salvage;
} args;

static const cli_option options[] = {
    {.name = "to",
     .arg = "FORMAT",
     .complete = CLI_COMPLETE_CONTAINER,
     .help = "the format that was packed; needed where OUT's suffix says another",
     .text = &args.to},
    {.name = "file",
     .arg = "NAME",
     .help = "unpack this file alone, of several",
     .text = &args.file},
    {.name = "planes",
     .arg = "N",
     .choices = "0 1 2 3 4",
     .help = "a coarse preview; of floats, decode the compressed bits and only the first N groups "
             "(of 4, 2 and 1 bits) of those stored as they are; missing bits are set to the middle "
             "of their range; data read in part is not checked for damage",
     .text = &args.planes},
    {.name = "salvage",
     .help = "decode what is intact; damaged segments become zeros and are named (exit code 3); "
             "a container that lost its header, its footer or the last records of its index is "
             "read, too",
     .flag = &args.salvage},
    {0},
};

/* ---- what became of it ----------------------------------------------------------------------- */

static bool is_whole(const tare_unpack_result *r) {
    return r->n_lost == 0 && r->n_files_lost == 0;
}

static void print_result(const tare_unpack_result *r, const char *out_path) {
    char *name = cli_escape_path(out_path), packed[40];
    snprintf(packed, sizeof packed, "%s", cli_size_text(r->packed_bytes).text);
    printf("%s%s: ", cli.dry_run ? "would write " : "", name);
    if (r->is_directory)
        printf("%s file%s, ", cli_exact_text(r->n_files).text, cli_plural(r->n_files));
    printf("%s from %s", cli_size_text(r->n_bytes).text, packed);
    if (args.planes && !cli.dry_run)
        printf("; %zu tensor%s coarse, %zu whole", r->n_coarse, cli_plural(r->n_coarse),
               r->n_whole);
    if (r->n_lost) printf("; %zu segment%s lost", r->n_lost, cli_plural(r->n_lost));
    if (!is_whole(r)) fputs("; not the whole model", stdout);
    fputc('\n', stdout);
    free(name);
}

static void print_json(const tare_unpack_result *r, const char *in_path, const char *out_path,
                       const tare_report *report) {
    tare_json_node *document = cli_json_new("tare.unpack/2");
    cli_json_text(document, "input", in_path);
    cli_json_text(document, "output", out_path);
    cli_json_bool(document, "is_dry_run", cli.dry_run);
    cli_json_bool(document, "is_directory", r->is_directory);
    cli_json_u64(document, "file_count", r->n_files);
    cli_json_u64(document, "size_bytes", r->n_bytes);
    cli_json_u64(document, "packed_bytes", r->packed_bytes);
    cli_json_bool(document, "is_whole", is_whole(r));
    cli_json_bool(document, "is_checked", !r->is_unchecked);
    cli_json_u64(document, "lost_segment_count", r->n_lost);
    cli_json_u64(document, "damaged_tensor_count", r->n_tensors_damaged);
    cli_json_u64(document, "lost_file_count", r->n_files_lost);
    cli_json_u64(document, "coarse_tensor_count", r->n_coarse);
    cli_json_u64(document, "whole_tensor_count", r->n_whole);
    cli_json_add(document, "findings", cli_json_findings(report));
    cli_json_print(document);
}

/* ---- running --------------------------------------------------------------------------------- */

static tare_status unpack(tare_unpack_result *r, const char *in_path, const char *out_path,
                          tare_report *report, tare_error *err) {
    tare_unpack_options o = tare_unpack_options_default();
    const tare_context context = cli_context(report);
    o.context = &context;
    const tare_output_options output = cli_output();
    o.output = &output;
    tare_source source;
    tare_model **bases;
    tare_status status = cli_bases(&bases, &o.n_bases, err);
    if (status == TARE_OK) status = cli_source(&source, in_path, err);
    if (status == TARE_OK) status = cli_device(&o.device, err);
    if (status != TARE_OK) return status;
    o.bases = (const tare_model *const *)bases;
    o.salvage = args.salvage;
    o.file = args.file;
    o.is_coarse = args.planes != NULL;
    o.groups = args.planes ? (unsigned)(args.planes[0] - '0') : 0;
    cli_progress_start("unpacking");
    status = strcmp(out_path, "-") == 0 ? tare_unpack_fd(r, CLI_OUTPUT_FD, &source, &o, err)
                                        : tare_unpack(r, out_path, &source, &o, err);
    cli_progress_end();
    return status;
}

/* Everything that was lost is listed. */
static void print_findings(const tare_report *report, const char *in_path) {
    if (args.salvage) cli.verbose = true;
    cli_print_findings(stderr, report, in_path, cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_WARNING);
}

/* "model.gguf.wcodec" -> "model.gguf"; NULL: the name does not end so. Owned by the caller. */
static char *name_output(const char *in_path) {
    static const char suffix[] = ".wcodec";
    const size_t n = strlen(in_path), n_suffix = sizeof suffix - 1;
    if (n <= n_suffix || strcmp(in_path + n - n_suffix, suffix) != 0 ||
        in_path[n - n_suffix - 1] == '/')
        return NULL;
    return cli_copy(in_path, n - n_suffix);
}

/* What was packed, as far as it can be told without unpacking it. */
typedef struct held {
    const char *format; /* NULL: none that is known, or it cannot be looked into */
    bool is_directory;
} held;

static held packed_contents(const char *in_path) {
    tare_container_info info = tare_container_info_default();
    tare_lossy_info lossy = tare_lossy_info_default();
    tare_format_info format = tare_format_info_default();
    tare_model *model;
    tare_error err;
    held h = {NULL, false};
    cli.base_use = CLI_BASES_UNUSED;
    if (cli_open_quietly(&model, in_path, NULL, &err) == TARE_OK &&
        tare_model_container(&info, model))
        h = (held){info.format, info.is_directory}; /* the name is static */
    const bool is_lossy = tare_model_lossy(&lossy, model);
    for (size_t i = 0; is_lossy && tare_format_at(&format, i); i++)
        if (strlen(format.name) == lossy.container.len &&
            memcmp(format.name, lossy.container.ptr, lossy.container.len) == 0)
            h = (held){format.name, format.is_directory};
    tare_model_free(model);
    return h;
}

/* Whether the name of OUT fits its contents. Contents that cannot be examined have no format that a
 * name could contradict. */
static int check_name(const char *in_path, const char *out_path) {
    if (args.file) return CLI_YES; /* it is what it is called */
    if (!args.to && !cli_suffix_claims(out_path, NULL)) return CLI_YES;
    const held h = packed_contents(in_path);
    if (args.to && h.format && strcmp(args.to, h.format) != 0)
        return cli_usage(&cmd_unpack, "--to %s: what was packed is %s; tare convert makes another",
                         args.to, h.format);
    const char *named = tare_format_of_path(out_path);
    const char *claimed = cli_suffix_claims(out_path, h.format ? h.format : named);
    /* A set of shards is not a single file of its format; a package is a directory anyway. */
    if (!claimed && h.is_directory && named && strcmp(named, "infq") != 0) claimed = named;
    if (args.to || !claimed) return CLI_YES;
    char *safe = cli_escape_path(out_path);
    if (h.is_directory)
        cli_usage(&cmd_unpack,
                  "%s: its name says %s, but it will be a directory: name it accordingly%s%s", safe,
                  claimed, h.format ? ", or give --to " : "", h.format ? h.format : "");
    else if (h.format)
        cli_usage(&cmd_unpack,
                  "%s: its name says %s, but it will be %s: name it accordingly, or give --to %s",
                  safe, claimed, h.format, h.format);
    else
        cli_usage(&cmd_unpack, "%s: its name says %s, which is not what was packed", safe, claimed);
    free(safe);
    return CLI_USAGE;
}

/* The format of a model that is not packed; NULL: it is, or is no model. */
static const char *format_as_it_is(const char *in_path) {
    tare_model *model;
    tare_error err;
    const char *format = NULL;
    const cli_base_use use = cli.base_use;
    cli.base_use = CLI_BASES_UNUSED;
    if (strcmp(in_path, "-") != 0 && cli_open_quietly(&model, in_path, NULL, &err) == TARE_OK) {
        tare_container_info c = tare_container_info_default();
        if (!tare_model_container(&c, model)) format = tare_model_summarize(model)->format;
        tare_model_free(model);
    }
    cli.base_use = use;
    return format;
}

static int fail_unpacked(const char *in_path, const char *format) {
    char *safe = cli_escape_path(in_path);
    cli_fail_text(
        CLI_USAGE,
        "%s: not packed: it is %s, which every command reads as it is; tare convert makes "
        "another format of it",
        safe, format);
    free(safe);
    return CLI_USAGE;
}

/* A part of it, which is read from a view of the files. */
static tare_status unpack_part(const char *in_path, const char *out_path,
                               const tare_part_options *part, tare_report *report,
                               tare_error *err) {
    tare_open_options open = tare_open_options_default();
    tare_view_options of_view = tare_view_options_default();
    const tare_context context = cli_context(report);
    const tare_output_options output = cli_output();
    tare_part_options of_part = *part;
    tare_part_result result = tare_part_result_default();
    tare_source source;
    tare_model **bases;
    tare_view *view = NULL;
    char *name = cli_copy(out_path, strlen(out_path));
    for (size_t n = strlen(name); n > 1 && name[n - 1] == '/'; n--) name[n - 1] = '\0';
    const char *slash = strrchr(name, '/');
    of_part.context = of_view.context = &context;
    of_part.output = &output;
    cli_part_needs(&of_part, in_path);
    for (size_t i = 0; i < cli.base.n; i++) cli_part_needs(&of_part, cli.base.items[i]);
    tare_status status = cli_bases(&bases, &open.n_bases, err);
    open.bases = (const tare_model *const *)bases;
    if (status == TARE_OK) status = cli_source(&source, in_path, err);
    if (status == TARE_OK) status = tare_view_new(&view, &of_view, err);
    if (status == TARE_OK)
        status = tare_view_add_packed(view, slash ? slash + 1 : name, &source, &open, err);
    cli_progress_start("unpacking");
    if (status == TARE_OK) status = tare_part_of_view(&result, name, view, &of_part, err);
    cli_progress_end();
    if (status == TARE_OK) cli_part_print(part, &result, in_path, out_path, report);
    tare_view_free(view);
    cli_part_free(&of_part);
    free(name);
    return status;
}

static int check_part(tare_part_options *part, const char *out_path) {
    const int code = cli_part_read(part, &cmd_unpack);
    if (code != CLI_YES || !cli.part) return code;
    if (cli_part_check_output(&cmd_unpack, out_path) != CLI_YES) return CLI_USAGE;
    if (args.salvage || args.planes || args.file)
        return cli_usage(&cmd_unpack, "--part is of a whole and sound .wcodec: not with --%s",
                         args.salvage  ? "salvage"
                         : args.planes ? "planes"
                                       : "file");
    return CLI_YES;
}

static int unpack_as(const char *in_path, const char *out_path) {
    tare_part_options part;
    const bool is_stream = strcmp(out_path, "-") == 0, takes_stdout = is_stream && !cli.dry_run;
    if (takes_stdout && cli.json) return cli_usage_both(&cmd_unpack, "json");
    if (takes_stdout && cli_is_terminal(stdout))
        return cli_usage(&cmd_unpack, "standard output is a terminal");
    int code = check_part(&part, out_path);
    if (code != CLI_YES) return code;
    tare_report *report = cli_report_new();
    tare_unpack_result result = tare_unpack_result_default();
    tare_error err;
    tare_status status = cli.part ? unpack_part(in_path, out_path, &part, report, &err)
                                  : unpack(&result, in_path, out_path, report, &err);
    if (status != TARE_OK) {
        cli_note_base(report);
        cli_name_base(&err);
        const bool is_other = err.status == TARE_ERR_CORRUPT && err.offset == 0; /* no header */
        const char *format = is_other ? format_as_it_is(in_path) : NULL;
        code = format ? fail_unpacked(in_path, format) : cli_fail(&err, in_path);
    } else if (!cli.part) {
        if (!cli.json) print_findings(report, in_path);
        if (cli.json)
            print_json(&result, in_path, out_path, report);
        else if (!cli.quiet && (cli.dry_run || !is_stream))
            print_result(&result, is_stream ? "standard output" : out_path);
        if (!is_whole(&result) || result.is_unchecked) code = cli_exit_code(TARE_ERR_CORRUPT);
    }
    tare_report_free(report);
    return code;
}

/* Without OUT, which is named after IN. */
static int fail_name(const char *in_path) {
    const char *format = format_as_it_is(in_path);
    if (format) return fail_unpacked(in_path, format);
    return cli_usage(&cmd_unpack, "the input's name does not end in .wcodec: name OUT");
}

static int run(int argc, const char **argv) {
    cli.is_stored = true;
    cli.is_salvaging = args.salvage;
    if (argc > 1) {
        int code = cli_check_output(&cmd_unpack, argv[1]);
        if (code == CLI_YES && strcmp(argv[0], "-") != 0) code = check_name(argv[0], argv[1]);
        return code == CLI_YES ? unpack_as(argv[0], argv[1]) : code;
    }
    const char *slash = args.file ? strrchr(args.file, '/') : NULL;
    char *name =
        args.file ? cli_copy(slash ? slash + 1 : args.file, strlen(slash ? slash + 1 : args.file))
                  : name_output(argv[0]);
    int code = name ? unpack_as(argv[0], name) : fail_name(argv[0]);
    free(name);
    return code;
}

const cli_command cmd_unpack = {
    .name = "unpack",
    .summary = "restore the files that were packed into a .wcodec",
    .usage = "IN.wcodec [OUT] [--file NAME] [--salvage] [--base BASE]...",
    .description =
        "OUT becomes the file or directory that was packed, byte for byte, a directory with its "
        "links, permissions and times. It appears under its name only when it is complete. Without "
        "OUT, the name is IN without .wcodec. OUT may be - (standard output) for a single file. A "
        ".wcodec that tare convert made holds a model but no files; convert it back instead.",
    .examples = {{"tare unpack model.wcodec model.gguf", "the file, byte for byte"},
                 {"tare unpack tuned.wcodec tuned.gguf --base base.gguf",
                  "one that was packed against another model"},
                 {"tare unpack ladder.wcodec --file model-Q4_K_M.gguf", "one file of many"},
                 {"tare unpack model.wcodec coarse.gguf --planes 1", "a coarse preview"},
                 {"tare unpack damaged.wcodec rest.gguf --salvage", "what a bad disk left"}},
    .options = options,
    .main = "file base salvage planes dry-run force",
    .takes = CLI_TAKES_WORK | CLI_TAKES_NAMED | CLI_TAKES_JSON | CLI_TAKES_OUTPUT | CLI_TAKES_PART |
             CLI_TAKES_SHARED | CLI_TAKES_STRICT | CLI_TAKES_BASE | CLI_TAKES_URL |
             CLI_TAKES_DEVICE,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 1,
    .max_args = 2,
    .out_at = 1,
    .run = run,
};
