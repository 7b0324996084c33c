/* SPDX-License-Identifier: MIT
 *
 * Failures in one line, and the exit code that belongs to each status. Nothing here allocates
 * memory, so that running out of it can still be reported. */
#include <errno.h>
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

void cli_flush(void) {
    if (fflush(stdout) != 0 && output_errno == 0) output_errno = errno;
}

void cli_put(const char *bytes, size_t n) {
    if (fwrite(bytes, 1, n, stdout) < n && output_errno == 0) output_errno = errno;
}

FILE *cli_error_stream(void) {
    cli_flush();
    return stderr;
}

bool cli_has_code(const tare_error *err, const char *code) {
    return err->code && strcmp(err->code, code) == 0;
}

/* The library does not know the command's options; if one of them would help, the command names it.
 */
void cli_error_text(char *buf, size_t size, const tare_error *err, const char *path) {
    tare_error said = *err;
    if (cli_has_code(err, TARE_CODE_OUTPUT_EXISTS))
        said.what = "the output exists; --force replaces it";
    char refused[256];
    if (cli_has_code(err, TARE_CODE_EDIT_REFUSED)) {
        snprintf(refused, sizeof refused, "%s; --force changes it all the same", err->what);
        said.what = refused;
    }
    if (cli_has_code(err, TARE_CODE_NOT_RUNNABLE)) {
        const bool is_said = strstr(err->field, "llama.cpp") != NULL;
        snprintf(refused, sizeof refused, "%s%s; --force writes it all the same", err->what,
                 is_said ? "" : ": llama.cpp would not run the result");
        said.what = refused;
    }
    if (cli_has_code(err, TARE_CODE_EDIT_BEGUN)) {
        snprintf(refused, sizeof refused, "%s; tare edit --recover finishes it", err->what);
        said.what = refused;
    }
    const bool has_own_form = cli_has_code(err, TARE_CODE_IS_WHISPER);
    if (has_own_form || cli_has_code(err, TARE_CODE_UNKNOWN_ARCHITECTURE)) {
        snprintf(refused, sizeof refused, "%s; %s, --keep-names converts under the names there are",
                 err->what,
                 has_own_form ? "--to whisper writes a file for it"
                              : "tare convert --list-architectures shows those that it does");
        said.what = refused;
    }
    /* An output without a name is standard output. */
    if (cli_has_code(err, TARE_CODE_OUTPUT_WRITE) && !err->file[0]) path = "standard output";
    tare_error_format(buf, size, &said, path ? cli_input_name(path) : NULL);
    cli_spell(buf);
    const size_t n = strlen(buf);
    if (err->os_error == EFBIG && n < size)
        snprintf(buf + n, size - n,
                 ": beyond what the shell (ulimit -f) or the file system allows");
}

const char *cli_input_name(const char *path) {
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

const char *cli_item_kind(tare_item_kind kind) {
    static const char *const kinds[] = {"", "tensor", "key", "resource", "adapter"};
    return kinds[kind];
}

const char *cli_item_word(tare_item_kind kind) {
    return kind == TARE_ITEM_RESOURCE ? "file" : cli_item_kind(kind);
}

int cli_finish(int code) {
    cli_flush();
    if (output_errno == 0 && !ferror(stdout)) return code;
    if (cli_is_reader_gone(output_errno)) return CLI_OUTPUT_CLOSED;
    fprintf(stderr, "tare: standard output: %s\n",
            output_errno ? strerror(output_errno) : "cannot be written");
    return cli_is_disk_full(output_errno) ? CLI_MEMORY : CLI_IO;
}
