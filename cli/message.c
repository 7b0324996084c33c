/* SPDX-License-Identifier: MIT
 *
 * What the command says: one clear line for a failure, findings one a line, and the exit code that
 * belongs to each status. Foreign text is always escaped. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int cli_exit_code(tare_status status) {
    switch (status) {
    case TARE_OK:
        return CLI_YES;
    case TARE_ERR_ARG:
        return CLI_USAGE;
    case TARE_ERR_IO:
        return CLI_IO;
    case TARE_ERR_NOMEM:
    case TARE_ERR_NOSPACE:
        return CLI_MEMORY;
    case TARE_ERR_UNSUPPORTED:
        return CLI_UNSUPPORTED;
    case TARE_ERR_TRUNCATED:
    case TARE_ERR_CORRUPT:
    case TARE_ERR_LIMIT:
    case TARE_ERR_CHECKSUM:
        return CLI_INPUT;
    case TARE_ERR_CANCELLED:
        return CLI_CANCELLED;
    }
    return CLI_INPUT;
}

/* The first failure to write to standard output: 0, or its errno. */
static int output_errno;

static void flush_output(void) {
    if (fflush(stdout) != 0 && output_errno == 0) output_errno = errno;
}

/* Standard error, once what was printed before is out: both may go to one place. */
static FILE *error_stream(void) {
    flush_output();
    return stderr;
}

int cli_usage(const cli_command *command, const char *format, ...) {
    const char *name = command ? command->name : "";
    va_list arguments;
    va_start(arguments, format);
    fprintf(error_stream(), "tare: %s%s", name, *name ? ": " : "");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\ntry: tare %s%s--help\n", name, *name ? " " : "");
    va_end(arguments);
    return CLI_USAGE;
}

int cli_fail_text(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("tare: ", error_stream());
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return code;
}

int cli_fail(const tare_error *err, const char *path) {
    /* The reader of a pipe that went away knows; it needs no message. */
    if (err->os_error == EPIPE) return 128 + SIGPIPE;
    if (err->status == TARE_ERR_CANCELLED) return cli_fail_text(CLI_CANCELLED, "cancelled");
    char text[1200];
    cli_error_text(text, sizeof text, err, path);
    fprintf(error_stream(), "tare: %s\n", text);
    if (cli.json) cli_json_print(cli_json_error(err, path));
    return cli_exit_code(err->status);
}

bool cli_has_code(const tare_error *err, const char *code) {
    return err->code && strcmp(err->code, code) == 0;
}

/* The library knows no options; where one is the way out, the command names it. */
void cli_error_text(char *buf, size_t size, const tare_error *err, const char *path) {
    tare_error said = *err;
    if (cli_has_code(err, TARE_CODE_OUTPUT_EXISTS))
        said.what = "the output exists; --force replaces it";
    /* An output without a name is standard output. */
    if (cli_has_code(err, TARE_CODE_OUTPUT_WRITE) && !err->file[0]) path = "standard output";
    tare_error_format(buf, size, &said, path ? cli_input_name(path) : NULL);
}

const char *cli_input_name(const char *path) {
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

static const char *level_name(tare_level level) {
    return level == TARE_LEVEL_ERROR ? "error" : level == TARE_LEVEL_WARNING ? "warning" : "note";
}

const char *cli_item_kind(tare_item_kind kind) {
    static const char *const kinds[] = {"", "tensor", "key", "resource", "adapter"};
    return kinds[kind];
}

static void print_finding(FILE *out, const tare_finding *f, const char *path) {
    static const cli_style styles[] = {[TARE_LEVEL_INFO] = CLI_PLAIN,
                                       [TARE_LEVEL_WARNING] = CLI_YELLOW,
                                       [TARE_LEVEL_ERROR] = CLI_RED};
    char *file =
        f->file.len ? cli_escape(f->file, false, 0) : cli_escape_path(cli_input_name(path));
    char *text = cli_escape(f->text, false, 0);
    fprintf(out, "%s: %s%s%s: ", file, cli_style_on(out, styles[f->level]), level_name(f->level),
            cli_style_off(out));
    if (f->offset != TARE_NO_OFFSET) fprintf(out, "byte %" PRIu64 ": ", f->offset);
    if (f->item_kind != TARE_ITEM_NONE) {
        fputs(cli_item_kind(f->item_kind), out);
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
    fputc('\n', out);
    free(text);
    free(file);
}

/* How many findings of one code were seen; codes are static, and few. */
typedef struct code_count {
    const char *code;
    size_t n;
} code_count;

#define CODES_MAX 64

/* Counts a finding under its code and returns how many there are now. */
static size_t count_code(code_count *counts, const char *code) {
    size_t k = 0;
    while (k < CODES_MAX - 1 && counts[k].code && strcmp(counts[k].code, code) != 0) k++;
    counts[k].code = code;
    return ++counts[k].n;
}

void cli_print_findings(FILE *out, const tare_report *report, const char *path, tare_level level,
                        size_t most) {
    if (out == stderr) flush_output();
    code_count counts[CODES_MAX] = {{NULL, 0}};
    const tare_finding *finding;
    for (size_t i = 0; (finding = tare_report_at(report, i)) != NULL; i++) {
        if (finding->level < level) continue;
        size_t n = count_code(counts, finding->code ? finding->code : "");
        if (n <= most) print_finding(out, finding, path);
    }
    for (size_t k = 0; k < CODES_MAX && counts[k].code; k++) {
        if (counts[k].n <= most) continue;
        char *name = cli_escape_path(cli_input_name(path));
        fprintf(out, "%s: %s more %s[%s]%s; --json lists all\n", name,
                cli_exact_text(counts[k].n - most).text, cli_style_on(out, CLI_DIM), counts[k].code,
                cli_style_off(out));
        free(name);
    }
}

int cli_finish(int code) {
    flush_output();
    if (output_errno == 0 && !ferror(stdout)) return code;
    if (output_errno == EPIPE) return 128 + SIGPIPE;
    bool is_full = output_errno == ENOSPC || output_errno == EDQUOT || output_errno == EFBIG;
    return cli_fail_text(is_full ? CLI_MEMORY : CLI_IO, "standard output: %s",
                         output_errno ? strerror(output_errno) : "cannot be written");
}
