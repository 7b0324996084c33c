/* SPDX-License-Identifier: MIT
 *
 * Lines of the one screen of tare info: labels, and entries side by side. */
#include "info.h"

#define SCREEN_COLUMNS 80

void info_label(const char *name) {
    printf("  %-*s", INFO_LABEL_COLUMN - 2, name);
}

void info_put_entry(size_t *column, const char *name, const char *entry) {
    size_t width = cli_width(entry);
    if (*column == 0) {
        info_label(name);
        *column = INFO_LABEL_COLUMN;
    } else if (*column + 2 + width > SCREEN_COLUMNS) {
        printf(",\n%*s", INFO_LABEL_COLUMN, "");
        *column = INFO_LABEL_COLUMN;
    } else {
        fputs(", ", stdout);
        *column += 2;
    }
    fputs(entry, stdout);
    *column += width;
}
