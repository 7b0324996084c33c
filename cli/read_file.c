/* SPDX-License-Identifier: MIT
 *
 * Small files that options name. */
#include <errno.h>
#include <stdio.h>

#include "cli.h"
#include "system.h"

static int file_fault(const char *path, const char *what) {
    const tare_error err = {.status = TARE_ERR_IO,
                            .item = -1,
                            .offset = TARE_NO_OFFSET,
                            .os_error = errno,
                            .what = what};
    return cli_fail(&err, path);
}

int cli_read_file(char **out, size_t *n, const char *path, size_t most) {
    FILE *f = cli_open_text(path);
    size_t size = 0;
    *out = NULL;
    *n = 0;
    if (!f) return file_fault(path, "cannot be opened");
    do {
        *out = cli_grow(*out, size + 65536, 1);
        size_t got = fread(*out + size, 1, 65536, f);
        if (got == 0) break;
        size += got;
    } while (size <= most);
    bool is_bad = ferror(f) != 0;
    fclose(f);
    if (is_bad) return file_fault(path, "cannot be read");
    *n = size;
    return 0;
}

FILE *cli_open_optional(const char *path, bool *is_hidden) {
    FILE *file = cli_open_text(path);
    *is_hidden = !file && errno != ENOENT && errno != ENOTDIR;
    return file;
}

int cli_read_sensitivities(tare_str *text, char **memory, const char *path) {
    int code = cli_read_file(memory, &text->len, path, CLI_SENSITIVITIES_MOST);
    const tare_error empty = {.status = TARE_ERR_ARG,
                              .item = -1,
                              .offset = TARE_NO_OFFSET,
                              .what = "it is empty: expected lines TENSOR VALUE"};
    text->ptr = *memory;
    return code || text->len ? code : cli_fail(&empty, path);
}
