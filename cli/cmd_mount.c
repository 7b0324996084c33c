/* SPDX-License-Identifier: MIT
 *
 * tare mount: files that are computed when they are read, as a file system. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "mount.h"

static struct {
    cli_write write;
    const char *folder; /* as it was typed */
    const char *mix, *log;
    uint64_t cache;
    bool recursive, foreground, unmount, allow_other;
} args;

static const cli_option options[] = {
    {.name = "as",
     .arg = "FORMAT",
     .choices = "gguf hf safetensors",
     .help = "show what tare convert would write in this format, byte for byte",
     .text = &args.write.to},
    {.name = "type",
     .arg = "TYPE",
     .complete = CLI_COMPLETE_TYPE,
     .help = "with --as: number format of every float tensor with two or more dimensions, except "
             "norms",
     .encoding = &args.write.type},
    {.name = "mix",
     .arg = "MIX",
     .complete = CLI_COMPLETE_MIX,
     .help = "with --as: a type for each tensor, as tare quantize chooses it (Q4_K_M)",
     .text = &args.mix},
    {.name = "imatrix",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "with --as: importance matrix of llama-imatrix, by which block types weight their "
             "errors",
     .text = &args.write.imatrix},
    {.name = "recursive",
     .letter = 'r',
     .help = "show what is in subfolders, too",
     .flag = &args.recursive},
    {.name = "cache",
     .arg = "SIZE",
     .help = "memory for what is computed (default: 256Mi)",
     .size = &args.cache},
    {.name = "foreground",
     .letter = 'f',
     .help = "stay in the foreground, until Ctrl-C or until DIR is unmounted",
     .flag = &args.foreground},
    {.name = "log",
     .arg = "FILE",
     .complete = CLI_COMPLETE_FILE,
     .help = "write a line to FILE for each read that fails (default: to standard error in the "
             "foreground, else to the system's log)",
     .text = &args.log},
    {.name = "allow-other",
     .help = "let other users read, too; /etc/fuse.conf must allow it",
     .flag = &args.allow_other},
    {.name = "unmount", .letter = 'u', .help = "unmount DIR", .flag = &args.unmount},
    {0},
};

static cli_mount mount_of; /* what the command line says */

static tare_status make_view(tare_view **out, tare_report *report, tare_error *err) {
    tare_view_options o = tare_view_options_default();
    tare_context context = cli_context(report);
    o.context = &context;
    o.cache_bytes = args.cache;
    context.progress = NULL;
    return tare_view_new(out, &o, err);
}

static tare_json_node *describe(const tare_view *view, const tare_report *report) {
    tare_json_node *document = cli_json_new("tare.mount/2"), *files = cli_json_array();
    tare_view_file f = tare_view_file_default();
    cli_json_text(document, "input", mount_of.source);
    cli_json_text(document, "output", args.folder);
    cli_json_bool(document, "is_mounted", true);
    for (size_t i = 0; tare_view_at(&f, view, i); i++) {
        if (f.kind != TARE_VIEW_FILE) continue;
        tare_json_node *row = cli_json_object();
        cli_json_str(row, "name", f.name);
        cli_json_u64(row, "size_bytes", f.n_bytes);
        cli_json_append(files, row);
    }
    cli_json_add(document, "files", files);
    cli_json_add(document, "findings", cli_json_findings(report));
    return document;
}

/* Findings come before messages end at the terminal. */
static int serve(tare_view *view, const tare_report *report, const char *in_path) {
    if (cli.json)
        mount_of.document = describe(view, report);
    else
        cli_print_remarks(report, in_path, cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_INFO);
    return cli_mount_serve(&mount_of, view);
}

/* ---- files that were packed ------------------------------------------------------------------ */

static tare_status add_files(tare_view *view, const char *in_path, tare_error *err) {
    tare_open_options o = tare_open_options_default();
    tare_source source;
    tare_model **bases;
    tare_status status = cli_bases(&bases, &o.n_bases, err);
    if (status != TARE_OK) return status;
    o.bases = (const tare_model *const *)bases;
    if (cli_stat(in_path) == CLI_PATH_FOLDER)
        return tare_view_add_folder(view, in_path, args.recursive, &o, err);
    status = cli_source(&source, in_path, err);
    return status == TARE_OK ? tare_view_add_packed(view, "", &source, &o, err) : status;
}

static int mount_files(const char *in_path, tare_report *report) {
    tare_view *view;
    tare_error err;
    int code;
    tare_status status = make_view(&view, report, &err);
    if (status == TARE_OK) status = add_files(view, in_path, &err);
    if (status == TARE_OK) {
        code = serve(view, report, in_path);
    } else {
        cli_note_base(report);
        cli_name_base(&err);
        code = cli_fail(&err, in_path);
    }
    tare_view_free(view);
    return code;
}

/* ---- a conversion ---------------------------------------------------------------------------- */

/* The file's name, or none of a directory, whose files lie at the top. */
static int serve_plan(const tare_plan *plan, const char *in_path, const char *out_path,
                      tare_report *report) {
    const char *slash = strrchr(out_path, '/');
    const char *name = tare_plan_summarize(plan)->is_directory ? "" : slash ? slash + 1 : out_path;
    tare_view *view;
    tare_error err;
    tare_status status = make_view(&view, report, &err);
    if (status == TARE_OK) status = tare_view_add_plan(view, name, plan, &err);
    const int code = status == TARE_OK ? serve(view, report, in_path) : cli_fail(&err, in_path);
    tare_view_free(view);
    return code;
}

static int find_mix(tare_mix_options *mix) {
    const tare_str name = {args.mix, strlen(args.mix)};
    if (args.write.type) return cli_usage(&cmd_mount, "--type and --mix exclude each other");
    mix->mix = tare_mix_find(name);
    if (mix->mix) return CLI_YES;
    char *safe = cli_escape_path(args.mix);
    cli_usage(&cmd_mount, "no mix \"%s\": tare quantize --help lists them", safe);
    free(safe);
    return CLI_USAGE;
}

/* "DIR/" and the last part of what the source would be called in the other format. */
static char *name_output(const char *in_path) {
    tare_format_info format = tare_format_info_default();
    for (size_t i = 0; tare_format_at(&format, i) && strcmp(format.name, args.write.to) != 0;) i++;
    char *beside = args.mix && strcmp(args.write.to, "gguf") == 0
                       ? cli_name_of_mix(in_path, args.mix)
                       : cli_name_after(in_path, format.suffix);
    const char *base = beside ? strrchr(beside, '/') : NULL;
    base = base ? base + 1 : beside && *beside ? beside : "model";
    const size_t size = strlen(mount_of.folder) + strlen(base) + 2;
    char *path = cli_alloc(size, 1);
    snprintf(path, size, "%s/%s", mount_of.folder, base);
    free(beside);
    return path;
}

static int mount_conversion(const char *in_path, tare_report *report) {
    tare_mix_options mix = tare_mix_options_default();
    tare_model *model;
    int code = args.mix ? find_mix(&mix) : CLI_YES;
    if (code != CLI_YES) return code;
    if (args.mix) args.write.mix = &mix;
    args.write.serve = serve_plan;
    code = cli_open(&model, in_path, report);
    if (code != CLI_YES) return code;
    char *out_path = name_output(in_path);
    code = cli_write_model(&cmd_mount, model, in_path, out_path, &args.write, report);
    free(out_path);
    tare_model_free(model);
    return code;
}

/* ---- running --------------------------------------------------------------------------------- */

static int check_folder(const char *folder) {
    while (cli_is_dead_mount(folder)) {
        const int code = cli_mount_end(folder);
        if (code != CLI_YES) return code;
    }
    if (cli_stat(folder) == CLI_PATH_FOLDER) return CLI_YES;
    char *safe = cli_escape_path(folder);
    const int code = cli_fail_text(CLI_USAGE, "%s: not a folder: make it first", safe);
    free(safe);
    return code;
}

static int mount_source(const char *in_path) {
    tare_report *report = cli_report_new();
    const int code =
        args.write.to ? mount_conversion(in_path, report) : mount_files(in_path, report);
    tare_report_free(report);
    return code;
}

static int unmount(const char *folder) {
    const int code = cli_mount_end(folder);
    if (code != CLI_YES || !cli.json) return code;
    tare_json_node *document = cli_json_new("tare.mount/2");
    cli_json_text(document, "output", folder);
    cli_json_bool(document, "is_mounted", false);
    cli_json_print(document);
    return code;
}

static int run(int argc, const char **argv) {
    tare_error err;
    if (args.unmount)
        return argc == 1 ? unmount(argv[0])
                         : cli_usage(&cmd_mount, "--unmount takes only the folder");
    if (argc != 2) return cli_usage(&cmd_mount, "needs SOURCE DIR");
    if (!args.write.to && (args.write.type || args.mix || args.write.imatrix))
        return cli_usage(&cmd_mount, "--type, --mix and --imatrix need --as FORMAT");
    if (args.write.to && args.recursive)
        return cli_usage(&cmd_mount, "--recursive is for a folder of packed files");
    if (cli_check_local(&cmd_mount, argv[1]) != CLI_YES) return CLI_USAGE;
    if (cli_mount_check(&err) != TARE_OK) return cli_fail(&err, NULL);
    int code = check_folder(argv[1]);
    if (code != CLI_YES) return code;
    args.folder = argv[1];
    /* In the background paths are opened again that must not depend on where that is. */
    char *own = cli_true_path(argv[0]), *folder = cli_true_path(argv[1]);
    mount_of = (cli_mount){.source = argv[0],
                           .folder = folder ? folder : argv[1],
                           .log = args.log,
                           .in_foreground = args.foreground,
                           .allow_other = args.allow_other};
    if (cli_mount_begin(&code, &mount_of)) code = mount_source(own ? own : argv[0]);
    free(own);
    free(folder);
    return code;
}

const cli_command cmd_mount = {
    .name = "mount",
    .summary = "show packed models, or models in another format, as files (Linux)",
    .usage = "SOURCE DIR [--as FORMAT [--type TYPE | --mix MIX]] [-r] [-f]\n-u DIR",
    .description =
        "DIR shows files that are stored nowhere: any program can read them, and what it reads is "
        "computed at that moment, byte for byte as unpack or convert would write it. A .wcodec "
        "shows the files that "
        "it "
        "was packed from; a folder shows each .wcodec in it as these, named as unpack names them, "
        "and all other files as they are. With --as a model appears in another format or with "
        "other "
        "number types. SOURCE may be a URL.\n\n"
        "Nothing can be changed through DIR. A read of what is damaged fails (EIO), and the log "
        "says "
        "why; the rest can be read. The mount goes on in the background until tare mount -u DIR.",
    .examples = {{"tare mount model.gguf.wcodec m",
                  "m/model.gguf, for llama.cpp or any other program"},
                 {"tare mount -u m", "end the mount"},
                 {"tare mount archive m -r", "a folder of packed models, as they were before"},
                 {"tare mount path/to/Qwen3-8B m --as gguf --mix Q4_K_M",
                  "a Hugging Face directory as a quantized GGUF, computed when read"},
                 {"tare mount hf://Qwen/Qwen3-0.6B m --as gguf --type q8_0 -f",
                  "from the hub, in the foreground"}},
    .options = options,
    .main = "as type mix recursive cache foreground unmount log",
    .takes = CLI_TAKES_WORK | CLI_TAKES_JSON | CLI_TAKES_INPUT | CLI_TAKES_BASE,
    .complete = CLI_COMPLETE_FILE,
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
