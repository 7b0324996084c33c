/* SPDX-License-Identifier: MIT
 *
 * tare get --pack: what is downloaded becomes a .wcodec. The files lie in a folder beside it until they
 * are whole, checked and packed: so a run that ends at any point goes on where the last one was. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "get.h"
#include "system.h"

#define SUFFIX  ".wcodec"
#define STAGING ".tare-get"

/* n bytes of a text, then three more, to be freed. */
static char *join(const char *begin, size_t n, const char *b, const char *c, const char *d) {
    const size_t size = n + strlen(b) + strlen(c) + strlen(d) + 1;
    char *out = cli_alloc(size, 1);
    snprintf(out, size, "%.*s%s%s%s", (int)n, begin, b, c, d);
    return out;
}

/* "hf://ORG/NAME@REV:TYPE" -> "NAME-TYPE", "https://.../m.gguf" -> "m.gguf". */
static char *name_of(const char *url) {
    const char *path = strstr(url, "://") + 3;
    const char *slash = strchr(path, '/');
    const char *type = strncmp(url, "hf://", 5) == 0 ? strrchr(path, ':') : NULL;
    size_t n = type ? (size_t)(type - path) : strcspn(path, "?#");
    while (n && path[n - 1] == '/') n--;
    size_t from = n;
    while (from && path[from - 1] != '/') from--;
    if (slash && strncmp(url, "hf://", 5) == 0 && !strchr(slash + 1, '/'))
        n = from + strcspn(path + from, "@:");
    return type ? join(path + from, n - from, "-", type + 1, "") : cli_copy(path + from, n - from);
}

char *cli_get_packed_name(const cli_command *command, const char *url, const char *given) {
    char *name = given ? cli_copy(given, strlen(given)) : name_of(url), *out;
    const char *format = tare_format_of_path(name);
    if (given && (!format || strcmp(format, "wcodec") != 0)) {
        cli_usage(command, "with --pack, -o names the output, which ends in " SUFFIX);
        out = NULL;
    } else if (!given && !name[0]) {
        cli_usage(command,
                  "the URL has no name that the output could be called after: -o FILE" SUFFIX);
        out = NULL;
    } else {
        out = given ? cli_copy(given, strlen(given)) : join(name, strlen(name), SUFFIX, "", "");
    }
    free(name);
    return out;
}

char *cli_get_staging(const char *packed) {
    const char *slash = strrchr(packed, '/'), *name = slash ? slash + 1 : packed;
    return join(packed, (size_t)(name - packed), ".", name, STAGING);
}

int cli_get_check(const char *url, const char *packed) {
    tare_model *model = NULL;
    if (cli_has_entry(packed) && !cli.force) {
        char *name = cli_escape_path(packed);
        const int code =
            cli_fail_text(CLI_USAGE, "%s: the output exists; --force replaces it", name);
        free(name);
        return code;
    }
    /* One type of a model is a set of files that has no URL of its own. */
    if (cli_names_type(url)) return CLI_YES;
    const int code = cli_open(&model, url, NULL);
    tare_model_free(model);
    return code;
}

/* What is to be opened of them: the one file, the first of a set of GGUF files, else the folder. */
static const char *model_of(const cli_got *got) {
    bool is_gguf = true;
    size_t first = 0;
    for (size_t i = 0; i < got->n; i++) {
        const char *format = tare_format_of_path(got->paths[i]);
        is_gguf = is_gguf && format && strcmp(format, "gguf") == 0;
        if (strcmp(got->paths[i], got->paths[first]) < 0) first = i;
    }
    return got->n == 1 || (got->n && is_gguf) ? got->paths[first] : got->folder;
}

/* Files, then the folders that they leave empty. */
static void remove_files(const cli_got *got) {
    const size_t least = strlen(got->folder);
    for (size_t i = 0; i < got->n; i++) {
        char *path = cli_copy(got->paths[i], strlen(got->paths[i])), *slash;
        cli_remove_file(path);
        while ((slash = strrchr(path, '/')) != NULL && (size_t)(slash - path) >= least) {
            *slash = '\0';
            cli_remove_folder(path);
        }
        free(path);
    }
}

static int fail_staged(const cli_got *got, int code) {
    char *name = cli_escape_path(got->folder);
    if (!cli.json) fprintf(stderr, "the files are complete and stay in %s\n", name);
    free(name);
    return code;
}

int cli_get_pack(cli_got *got, const char *packed) {
    tare_pack_options options = tare_pack_options_default();
    tare_pack_summary sum = tare_pack_summary_default();
    tare_report *report = cli_report_new();
    const tare_context context = cli_context(report);
    const tare_output_options output = cli_output();
    const char *path = model_of(got);
    tare_model *model = NULL;
    tare_error err;
    cli.is_stored = true;
    options.context = &context;
    options.output = &output;
    if (path == got->folder) options.directory = path;
    int code = cli_open(&model, path, report);
    if (code == CLI_YES && path != got->folder && tare_model_summarize(model)->n_files != got->n)
        code = cli_fail_text(CLI_USAGE,
                             "%s: the files are several models, of which each is packed "
                             "by itself",
                             packed);
    if (code == CLI_YES) {
        cli_progress_start("packing");
        const tare_status status = tare_pack(&sum, packed, model, &options, &err);
        cli_progress_end();
        if (!cli.json)
            cli_print_findings(stderr, report, path,
                               cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_INFO);
        if (status != TARE_OK) code = cli_fail(&err, path);
    }
    tare_model_free(model);
    tare_report_free(report);
    if (code != CLI_YES) return fail_staged(got, code);
    got->packed_bytes = sum.to_bytes;
    remove_files(got);
    return CLI_YES;
}
