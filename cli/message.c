/* SPDX-License-Identifier: MIT
 *
 * Messages about what the library found: a failure in one clear line, and with --json as a
 * document; findings in a line for each code, or with -v for each. Foreign text is always escaped. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

enum { LINE_MOST = 8192 }; /* a path of the system's length, and words around it */

int cli_usage(const cli_command *command, const char *format, ...) {
    const char *name = command ? command->name : "";
    char text[LINE_MOST];
    va_list arguments;
    const int n = snprintf(text, sizeof text, "%s%s", name, *name ? ": " : "");
    va_start(arguments, format);
    vsnprintf(text + n, sizeof text - (size_t)n, format, arguments);
    va_end(arguments);
    fprintf(cli_error_stream(), "tare: %s\ntry: tare %s%s--help\n", text, name, *name ? " " : "");
    cli_json_fault(CLI_USAGE, text);
    return CLI_USAGE;
}

int cli_fail_text(int code, const char *format, ...) {
    char text[LINE_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(cli_error_stream(), "tare: %s\n", text);
    cli_json_fault(code, text);
    return code;
}

int cli_usage_both(const cli_command *command, const char *option) {
    cli.json = false; /* whoever reads the output takes no document */
    return cli_usage(command, "--%s and the output cannot both go to standard output", option);
}

void cli_hint_salvage(FILE *out) {
    fputs("tare unpack --salvage gives back what is not damaged\n", out);
}

/* Also a .wcodec that nothing but its name tells to be one. */
static bool may_be_salvaged(const tare_error *err, const char *path) {
    static const char suffix[] = ".wcodec";
    const char *file = err->file[0] ? err->file : path ? path : "";
    const size_t n = strlen(file), n_suffix = sizeof suffix - 1;
    if (cli.is_salvaging || (err->status != TARE_ERR_CORRUPT && err->status != TARE_ERR_CHECKSUM &&
                             err->status != TARE_ERR_TRUNCATED))
        return false;
    if (cli_has_code(err, TARE_CODE_PACKED_DAMAGED)) return true;
    return err->offset == 0 && n > n_suffix && strcmp(file + n - n_suffix, suffix) == 0;
}

int cli_fail(const tare_error *err, const char *path) {
    /* The reader of a pipe that went away knows; it needs no message. */
    if (err->os_error == EPIPE) return CLI_OUTPUT_CLOSED;
    if (err->status == TARE_ERR_CANCELLED) return cli_fail_text(CLI_CANCELLED, "cancelled");
    char text[1200];
    cli_error_text(text, sizeof text, err, path);
    fprintf(cli_error_stream(), "tare: %s\n", text);
    if (may_be_salvaged(err, path)) cli_hint_salvage(stderr);
    if (cli.json) cli_json_print(cli_json_error(err, path));
    return cli_exit_code(err->status);
}

static const char *level_name(tare_level level) {
    return level == TARE_LEVEL_ERROR ? "error" : level == TARE_LEVEL_WARNING ? "warning" : "note";
}

/* Whether the command whose findings are printed did what was asked. */
static bool is_done;

/* `n_more`: findings that it stands for, too. */
static void print_finding(FILE *out, const tare_finding *f, size_t n_more, const char *path) {
    const tare_level level =
        is_done && f->level == TARE_LEVEL_ERROR ? TARE_LEVEL_WARNING : f->level;
    static const cli_style styles[] = {[TARE_LEVEL_INFO] = CLI_PLAIN,
                                       [TARE_LEVEL_WARNING] = CLI_YELLOW,
                                       [TARE_LEVEL_ERROR] = CLI_RED};
    char *file =
        f->file.len ? cli_escape(f->file, false, 0) : cli_escape_path(cli_input_name(path));
    char *text = cli_escape(f->text, false, 0);
    cli_spell(text);
    fprintf(out, "%s: %s%s%s: ", file, cli_style_on(out, styles[level]), level_name(level),
            cli_style_off(out));
    if (f->offset != TARE_NO_OFFSET) fprintf(out, "byte %" PRIu64 ": ", f->offset);
    if (f->item_kind != TARE_ITEM_NONE) {
        fputs(cli_item_word(f->item_kind), out);
        if (f->item >= 0) fprintf(out, " %" PRId64, f->item);
        if (f->item_name.len) {
            char *name = cli_escape(f->item_name, true, 200);
            fprintf(out, " \"%s\"", name);
            free(name);
        }
        fputs(": ", out);
    }
    fputs(text[0] ? text : tare_status_text(f->status), out);
    if (f->code) {
        fprintf(out, " %s[%s]%s", cli_style_on(out, CLI_DIM), f->code, cli_style_off(out));
    }
    if (n_more) fprintf(out, " (%s more: -v)", cli_exact_text(n_more).text);
    fputc('\n', out);
    free(text);
    free(file);
}

/* Findings of one code and level: the first one, and how many. */
typedef struct kind {
    const tare_finding *first;
    size_t n;
} kind;

static bool is_of_kind(const kind *k, const tare_finding *f) {
    const char *a = k->first->code ? k->first->code : "", *b = f->code ? f->code : "";
    return k->first->level == f->level && strcmp(a, b) == 0;
}

/* In the order of their first ones; owned by the caller. Codes are few. */
static kind *find_kinds(size_t *n, const tare_report *report) {
    kind *kinds = NULL;
    const tare_finding *f;
    *n = 0;
    for (size_t i = 0; (f = tare_report_at(report, i)) != NULL; i++) {
        size_t k = 0;
        while (k < *n && !is_of_kind(&kinds[k], f)) k++;
        if (k == *n) {
            kinds = cli_grow(kinds, ++*n, sizeof *kinds);
            kinds[k] = (kind){f, 0};
        }
        kinds[k].n++;
    }
    return kinds;
}

static void print_kinds(FILE *out, const tare_report *report, const char *path, tare_level level) {
    size_t n;
    kind *kinds = find_kinds(&n, report);
    for (int worst = TARE_LEVEL_ERROR; worst >= (int)level; worst--)
        for (size_t k = 0; k < n; k++)
            if ((int)kinds[k].first->level == worst)
                print_finding(out, kinds[k].first, kinds[k].n - 1, path);
    free(kinds);
}

void cli_print_findings(FILE *out, const tare_report *report, const char *path, tare_level level) {
    const tare_finding *f;
    if (out == stderr) cli_flush();
    if (!cli.verbose) print_kinds(out, report, path, level);
    for (size_t i = 0; cli.verbose && (f = tare_report_at(report, i)) != NULL; i++)
        if (f->level >= level) print_finding(out, f, 0, path);
}

void cli_print_remarks(const tare_report *report, const char *path, tare_level level) {
    is_done = true;
    cli_print_findings(stderr, report, path, level);
    is_done = false;
}

void cli_print_left(const tare_report *report, const char *path) {
    const tare_finding *f;
    for (size_t i = 0; (f = tare_report_at(report, i)) != NULL; i++)
        if (f->code && strcmp(f->code, "upload.left") == 0) print_finding(stderr, f, 0, path);
}

int cli_write_failed(const cli_command *command, const tare_error *err, const char *in_path,
                     const tare_report *report) {
    cli_json_fail(err, in_path, report);
    if (err->status == TARE_ERR_ARG && !err->file[0] && err->item_kind == TARE_ITEM_NONE) {
        char text[512];
        snprintf(text, sizeof text, "%s", err->what);
        cli_spell(text);
        return cli_usage(command, "%s", text);
    }
    return cli_fail(err, in_path);
}
