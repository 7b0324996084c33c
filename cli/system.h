/* SPDX-License-Identifier: MIT
 *
 * What the command asks of the system itself: what a path leads to, the terminal, its own limits. */
#ifndef TARE_CLI_SYSTEM_H
#define TARE_CLI_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CLI_PATH_SIZE     4096 /* of a path in a fixed place, with a NUL */
#define CLI_INPUT_FD      0    /* the descriptor of standard input */
#define CLI_OUTPUT_FD     1    /* of standard output */
#define CLI_OUTPUT_CLOSED 141  /* its reader went away: what a shell says of SIGPIPE, 128 + 13 */

typedef enum cli_path_kind {
    CLI_PATH_NOTHING = 0, /* or a link that leads nowhere; errno says why */
    CLI_PATH_FILE,
    CLI_PATH_FOLDER,
    CLI_PATH_DISK, /* a block device */
    CLI_PATH_OTHER,
} cli_path_kind;

cli_path_kind cli_stat(const char *path);
static inline bool cli_is_there(const char *path) {
    return cli_stat(path) != CLI_PATH_NOTHING;
}
/* Also a link that leads nowhere is an entry; if there is none, errno says why. */
bool cli_has_entry(const char *path);
/* Whether two paths lead to one file. */
bool cli_is_same_file(const char *a, const char *b);
/* A path without links, from the root on, for free(); NULL: it leads nowhere. */
char *cli_true_path(const char *path);

/* Whether a path is a file system whose process has ended without unmounting it. */
bool cli_is_dead_mount(const char *path);

typedef enum cli_input_kind {
    CLI_INPUT_CLOSED = 0, /* errno says why */
    CLI_INPUT_TERMINAL,
    CLI_INPUT_FILE,
    CLI_INPUT_STREAM,
} cli_input_kind;

cli_input_kind cli_look_at_input(void);
/* A variable of the environment that is set and not empty, as UTF-8; NULL: none. Valid from then on. */
const char *cli_variable(const char *name);
/* The user's own folder; NULL: nothing says which. */
const char *cli_home(void);
/* Whether the certificates to trust may be in files, as SSL_CERT_FILE and others say; else the system has them. */
bool cli_has_certificate_files(void);
/* What TMPDIR says, else a place on disk. */
const char *cli_temp_folder(void);
/* A file for reading and writing that goes with the process; -1, with errno: there can be none. */
int cli_open_unnamed(const char *folder);
/* A file, not a link to one; -1, with errno. */
int cli_open_for_reading(const char *path);
void cli_close(int fd);
/* For reading, byte for byte; NULL, with errno. */
FILE *cli_open_text(const char *path);
void cli_remove_file(const char *path);
/* False, with errno: it is there already, or cannot be made. */
bool cli_make_folder(const char *path);
void cli_remove_folder(const char *path); /* if it is empty */
/* From where the last call left off: bytes, 0 at the end, -1 with errno; EINTR: a signal came. */
int64_t cli_read_some(int fd, void *buf, size_t n);
/* False, with errno: not all could be written. */
bool cli_write_all(int fd, const void *bytes, size_t n);
/* Whether an errno says that there is no more room, on the disk or for this user. */
bool cli_is_disk_full(int os_error);
/* Whether standard output could not be written because nobody reads it; 0: errno was not kept. */
bool cli_is_reader_gone(int os_error);
bool cli_random_bytes(void *out, size_t n);
/* New files are for this user only, from now on. */
void cli_make_files_private(void);

/* `stop` is called once when the user, or the system, asks the process to stop; asked again, it ends.
 * It runs at any moment: it may set flags, and call cli_end_at_once. */
void cli_catch_stop(void (*stop)(void));
_Noreturn void cli_end_at_once(const char *line, int code);

bool cli_is_terminal(FILE *file);
/* Whether terminals show colours. */
bool cli_has_colours(void);
/* Its columns; 0: no terminal, or one that does not say. */
size_t cli_terminal_columns(FILE *file);

/* Before anything else: the arguments as UTF-8; files that are opened must not become standard output because that is closed;
 * as many of them as are allowed; a file beyond the limit of sizes is an error that is reported. */
void cli_prepare_process(int *argc, char ***argv);

#endif
