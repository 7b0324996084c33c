/* SPDX-License-Identifier: MIT
 *
 * What the two halves of tare get share. */
#ifndef TARE_CLI_GET_H
#define TARE_CLI_GET_H

#include "cli.h"

/* The files of a download, and where they lie. */
typedef struct cli_got {
    char *folder;
    char **paths; /* of all of them */
    size_t n;
    uint64_t packed_bytes; /* of cli_get_pack: what became of them */
} cli_got;

/* The .wcodec that a download becomes: `given`, else the URL's own name in the folder at hand; the
 * caller frees it. NULL after saying what is wrong. */
char *cli_get_packed_name(const cli_command *command, const char *url, const char *given);
/* The folder beside it where files are kept until they are packed; the caller frees it. */
char *cli_get_staging(const char *packed);
/* Whether what the URL names can be packed: an exit code after saying why not. */
int cli_get_check(const char *url, const char *packed);
/* Packs the files and removes them; an exit code. If that fails they stay. */
int cli_get_pack(cli_got *got, const char *packed);

#endif
