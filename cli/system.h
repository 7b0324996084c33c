/* SPDX-License-Identifier: MIT
 *
 * What the command asks of the system itself: what a path leads to, the terminal, its own limits. */
#ifndef TARE_CLI_SYSTEM_H
#define TARE_CLI_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CLI_OUTPUT_FD     1   /* the descriptor of standard output */
#define CLI_OUTPUT_CLOSED 141 /* its reader went away: what a shell says of SIGPIPE, 128 + 13 */

typedef enum cli_path_kind {
    CLI_PATH_NOTHING = 0, /* or a link that leads nowhere; errno says why */
    CLI_PATH_FILE,
    CLI_PATH_FOLDER,
    CLI_PATH_DISK, /* a block device */
    CLI_PATH_OTHER,
} cli_path_kind;

cli_path_kind cli_look(const char *path);
static inline bool cli_is_there(const char *path) {
    return cli_look(path) != CLI_PATH_NOTHING;
}
/* Also a link that leads nowhere is an entry; if there is none, errno says why. */
bool cli_has_entry(const char *path);
/* Whether two paths lead to one file. */
bool cli_is_same_file(const char *a, const char *b);
/* A path without links, from the root on, for free(); NULL: it leads nowhere. */
char *cli_true_path(const char *path);

bool cli_is_terminal(FILE *file);
/* Its columns; 0: no terminal, or one that does not say. */
size_t cli_terminal_columns(FILE *file);

/* Before anything else: files that are opened must not become standard output because that is closed;
 * as many of them as are allowed; a file beyond the limit of sizes is an error that is reported. */
void cli_prepare_process(void);

#endif
