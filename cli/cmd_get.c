/* SPDX-License-Identifier: MIT
 *
 * tare get: files of the hub or of another server, downloaded and checked. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "get.h"

static struct {
    const char *output;
    bool pack;
} args;

static const cli_option options[] = {
    {.name = "output",
     .letter = 'o',
     .arg = "DIR",
     .complete = CLI_COMPLETE_FILE,
     .help =
         "the folder of the files (default: named after the model; of a single file, this one); "
         "with --pack the .wcodec",
     .text = &args.output},
    {.name = "pack",
     .help = "pack what was downloaded and checked into one .wcodec, and keep only that",
     .flag = &args.pack},
    {0},
};

/* What a server sends without a digest may be its page of an error, compressed, or cut off: a file
 * with the name of a model has to be one. An exit code. */
static int check_content(const char *path) {
    tare_open_options how = tare_open_options_default();
    tare_report *report = tare_report_new();
    const tare_context context = cli_context(report);
    tare_model *model = NULL;
    tare_error err;
    how.context = &context;
    how.one_shard = true;
    how.stored = true;
    int code = CLI_YES;
    if (tare_open_path(&model, path, &how, &err) != TARE_OK)
        code = cli_fail(&err, path);
    else if (tare_report_count_level(report, TARE_LEVEL_ERROR)) {
        cli_print_findings(stderr, report, path, TARE_LEVEL_ERROR);
        code = CLI_INPUT;
    }
    if (code != CLI_YES) {
        char *name = cli_escape_path(path);
        fprintf(stderr, "tare: %s: this is what the server sent; it was kept\n", name);
        free(name);
    }
    tare_model_free(model);
    tare_report_free(report);
    return code;
}

/* What is told of the files. */
typedef struct outcome {
    tare_json_node *files; /* NULL: text */
    cli_got got;
    size_t n_present, n_unchecked;
    uint64_t bytes, resumed;
} outcome;

static void keep_path(cli_got *got, const char *path) {
    char **paths = cli_alloc(got->n + 1, sizeof *paths);
    if (got->n) memcpy(paths, got->paths, got->n * sizeof *paths);
    free(got->paths);
    got->paths = paths;
    got->paths[got->n++] = cli_copy(path, strlen(path));
}

static void note_file(void *ctx, const tare_download *file) {
    outcome *o = ctx;
    keep_path(&o->got, file->path);
    o->n_present += file->is_present;
    o->n_unchecked += !file->is_checked;
    o->bytes += file->size_bytes;
    o->resumed += file->resumed_bytes;
    if (o->files) {
        tare_json_node *row = cli_json_object();
        cli_json_text(row, "name", file->path);
        cli_json_u64(row, "size_bytes", file->size_bytes);
        cli_json_u64(row, "resumed_bytes", file->resumed_bytes);
        cli_json_bool(row, "is_present", file->is_present);
        cli_json_bool(row, "is_checked", file->is_checked);
        cli_json_append(o->files, row);
    } else if (cli.dry_run || cli.verbose) {
        char *name = cli_escape_path(file->path);
        printf("%s: %s%s\n", name, cli_size_text(file->size_bytes).text,
               file->is_present ? ", there already" : "");
        free(name);
    }
}

static void print_checked(const outcome *o) {
    if (o->n_unchecked == 0)
        fputs(o->got.n > 1 ? ", all checked" : ", checked", stdout);
    else if (o->n_unchecked == o->got.n)
        fputs(", not checked: the server states no digest", stdout);
    else
        printf(", %zu not checked: the server states no digest of them", o->n_unchecked);
}

/* A single file is told by its own name. */
static void print_outcome(const outcome *o, const char *output) {
    const bool is_one = o->got.n == 1 && !args.pack;
    char *name = cli_escape_path(is_one ? o->got.paths[0] : output);
    const char *would = args.pack ? "would fetch and pack into "
                        : is_one  ? "would fetch "
                                  : "would fetch into ";
    printf("%s%s: ", cli.dry_run ? would : "", name);
    if (!is_one) printf("%zu file%s, ", o->got.n, cli_plural(o->got.n));
    fputs(cli_size_text(o->bytes).text, stdout);
    if (o->n_present && is_one) fputs(", there already", stdout);
    if (o->n_present && !is_one) printf(", %zu there already", o->n_present);
    if (o->resumed) printf(", %s from an earlier run", cli_size_text(o->resumed).text);
    if (!cli.dry_run) print_checked(o);
    if (!cli.dry_run && args.pack)
        printf("; packed into %s", cli_size_text(o->got.packed_bytes).text);
    fputc('\n', stdout);
    free(name);
}

/* "s3://BUCKET/A/NAME/" -> "NAME", "s3://BUCKET/" -> "BUCKET"; of an object, the folder at hand. */
static char *name_store_folder(const char *url) {
    size_t n = strlen(url), from;
    const bool is_folder = url[n - 1] == '/' || !strchr(url + 5, '/');
    if (url[n - 1] == '/') n--;
    for (from = n; url[from - 1] != '/';) from--;
    return is_folder && n > from ? cli_copy(url + from, n - from) : cli_copy(".", 1);
}

/* "hf://ORG/NAME@REV:TYPE" -> "NAME"; of one file, and of other servers, the folder at hand. */
static char *name_folder(const char *url) {
    if (strncmp(url, "s3://", 5) == 0) return name_store_folder(url);
    if (strncmp(url, "hf://", 5) != 0) return cli_copy(".", 1);
    const char *slash = strchr(url + 5, '/'), *name = slash ? slash + 1 : "";
    const size_t n = strcspn(name, "@:/");
    const char *rest = name + n + (name[n] == '@' ? strcspn(name + n, "/") : 0);
    const bool is_file = rest[0] == '/' && rest[1] && rest[strlen(rest) - 1] != '/';
    return n && !is_file ? cli_copy(name, n) : cli_copy(".", 1);
}

static int check_contents(const outcome *o) {
    int code = CLI_YES;
    const bool are_checked = o->n_unchecked == 0 || cli.dry_run;
    for (size_t i = 0; i < o->got.n && code == CLI_YES && !are_checked; i++)
        if (tare_format_of_path(o->got.paths[i])) code = check_content(o->got.paths[i]);
    return code;
}

static int download(const char *shown, const char *folder, outcome *o) {
    const tare_context context = cli_context(NULL);
    const tare_output_options output = cli_output();
    tare_download_options wanted = tare_download_options_default();
    tare_source source;
    tare_error err;
    wanted.context = &context;
    wanted.output = &output;
    wanted.done = note_file;
    wanted.done_ctx = o;
    if (cli_source(&source, shown, &err) != TARE_OK) return cli_fail(&err, shown);
    cli_progress_start("fetching");
    const tare_status status =
        tare_remote_download(folder, source.remote, source.name, &wanted, &err);
    cli_progress_end();
    if (status == TARE_OK) return check_contents(o);
    const int code = cli_fail(&err, shown);
    if (status == TARE_ERR_ARG && cli_names_type(shown) &&
        !cli_has_code(&err, TARE_CODE_OUTPUT_EXISTS))
        cli_hint_models(shown);
    return code;
}

/* What is told is `output`: a folder, or a .wcodec. */
static void print_json(outcome *o, const char *url, const char *output) {
    tare_json_node *document = cli_json_new("tare.get/2");
    cli_json_text(document, "input", cli_input_name(url));
    cli_json_text(document, "output", output);
    cli_json_bool(document, "is_dry_run", cli.dry_run);
    cli_json_add(document, "files", o->files);
    if (args.pack && !cli.dry_run) cli_json_u64(document, "packed_bytes", o->got.packed_bytes);
    cli_json_print(document);
}

/* "-o model.gguf": a folder is asked for, and is hardly meant. */
static int check_folder(const char *folder) {
    const char *suffix = tare_format_of_path(folder);
    tare_format_info format = tare_format_info_default();
    for (size_t i = 0; suffix && tare_format_at(&format, i); i++)
        if (strcmp(format.name, suffix) == 0 && format.is_directory) return CLI_YES;
    if (!suffix || cli_is_there(folder)) return CLI_YES;
    char *safe = cli_escape_path(folder);
    cli_usage(&cmd_get, "%s: -o names the folder of the files, which keep their names%s", safe,
              strcmp(suffix, "wcodec") == 0 ? "; --pack makes a .wcodec" : "");
    free(safe);
    return CLI_USAGE;
}

static int get(outcome *o, const char *url, const char *packed) {
    int code = packed ? cli_get_check(url, packed) : CLI_YES;
    if (code == CLI_YES) code = download(url, o->got.folder, o);
    if (code == CLI_YES && packed && !cli.dry_run) code = cli_get_pack(&o->got, packed);
    return code;
}

static int run(int argc, const char **argv) {
    const char *url = argv[0];
    if (argc > 1 && args.output)
        return cli_usage(&cmd_get, "the output is named twice, as an argument and by --output");
    if (argc > 1) args.output = argv[1];
    outcome o = {.files = NULL};
    const bool is_here = cli_names_file(url) && !cli_names_type(url);
    if (!strstr(url, "://") || is_here)
        return cli_usage(&cmd_get, "a URL of https, http, hf or s3 was expected, such as "
                                   "hf://ORG/NAME");
    if (args.output && cli_check_local(&cmd_get, args.output) != CLI_YES) return CLI_USAGE;
    if (args.output && !args.pack && check_folder(args.output) != CLI_YES) return CLI_USAGE;
    char *packed = args.pack ? cli_get_packed_name(&cmd_get, url, args.output) : NULL;
    if (args.pack && !packed) return CLI_USAGE;
    o.got.folder = packed        ? cli_get_staging(packed)
                   : args.output ? cli_copy(args.output, strlen(args.output))
                                 : name_folder(url);
    o.files = cli.json ? cli_json_array() : NULL;
    const int code = get(&o, url, packed);
    const char *output = packed ? packed : o.got.folder;
    if (code == CLI_YES && cli.json) print_json(&o, url, output);
    if (code == CLI_YES && !cli.json && !cli.quiet) print_outcome(&o, output);
    for (size_t i = 0; i < o.got.n; i++) free(o.got.paths[i]);
    free(o.got.paths);
    free(o.got.folder);
    free(packed);
    return code;
}

const cli_command cmd_get = {
    .name = "get",
    .summary = "download a model, or files of it, and check them",
    .usage = "URL [DIR] [--dry-run]\n"
             "URL [OUT.wcodec] --pack",
    .description =
        "Files are fetched in several ranges at once, and get their names when they are complete "
        "and have the digests that the hub states. After an interruption, what has arrived is kept "
        "in the same folder as .NAME.ID.tare-part, and the same command goes on from there. Files "
        "that are there already are checked, and left alone. With :TYPE after the model's name, "
        "only its GGUF files of that type. With --pack the files lie in .OUT.wcodec.tare-get until "
        "they are complete and packed, which takes room for both; the same command goes on after "
        "an interruption here, too.",
    .examples = {{"tare get hf://ORG/NAME", "all files of a model, into NAME"},
                 {"tare get hf://ORG/NAME:Q4_K_M -o models", "its GGUF files of one type"},
                 {"tare get hf://ORG/NAME@v1.0/model.gguf",
                  "one file of a revision, into this folder"},
                 {"tare get s3://BUCKET/NAME/", "all objects of a folder of a store, into NAME"},
                 {"tare get https://example.org/model.gguf", "a file of another server"},
                 {"tare get hf://ORG/NAME --pack", "a model in less space, as NAME.wcodec"},
                 {"tare get hf://ORG/NAME -n", "what would be fetched, and how much it is"}},
    .options = options,
    .main = "output pack dry-run force json",
    .takes = CLI_TAKES_WORK | CLI_TAKES_JSON | CLI_TAKES_OUTPUT | CLI_TAKES_URL,
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
