/* SPDX-License-Identifier: MIT
 *
 * Containers by number, name and suffix. */
#include <tare/convert.h>

#include "base/str.h"
#include "format/format.h"

const tare_format *tare_format_row(size_t i) {
    for (size_t k = 0; tare_formats[k]; k++)
        if (k == i) return tare_formats[k];
    return NULL;
}

const tare_format *tare_format_find(const char *name) {
    for (size_t i = 0; tare_formats[i]; i++)
        if (strcmp(tare_formats[i]->name, name) == 0) return tare_formats[i];
    return NULL;
}

bool tare_format_at(tare_format_info *out, size_t i) {
    const tare_format *f = tare_format_row(i);
    if (!f || tare_result_check(out, NULL) != TARE_OK) return false;
    const tare_format_info info = {.name = f->name,
                                   .description = f->description,
                                   .suffix = f->suffix,
                                   .can_write = f->write.plan != NULL,
                                   .is_directory = f->is_directory};
    tare_result_write(out, &info, sizeof info);
    return true;
}

const tare_format *tare_format_packing(void) {
    size_t i = 0;
    while (tare_formats[i] && !tare_formats[i]->write.pack) i++;
    return tare_formats[i];
}

tare_status tare_format_of_output(const tare_format **out, const char *name, const char *path,
                                  tare_error *err) {
    if (!name && path) name = tare_format_of_path(path);
    *out = name ? tare_format_find(name) : NULL;
    if (*out) return TARE_OK;
    return tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_OUTPUT_FORMAT,
                          name ? "the output format is not known"
                               : "the output's name does not determine a format: name one");
}

const char *tare_format_of_path(const char *path) {
    for (size_t i = 0; tare_formats[i]; i++)
        if (tare_formats[i]->suffix[0] &&
            tare_str_ends(tare_str_of(path), tare_str_of(tare_formats[i]->suffix)))
            return tare_formats[i]->name;
    return NULL;
}

bool tare_format_holds(const char *format, const tare_encoding *encoding) {
    const tare_format *f = format ? tare_format_find(format) : NULL;
    return f && encoding && f->caps->has_encoding(encoding);
}
