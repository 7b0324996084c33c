/* SPDX-License-Identifier: MIT
 *
 * What an output may replace: neither a model that is being read nor an unrelated folder.
 */
#include "ops/output/replaced.h"

#include <errno.h>
#include <string.h>

#include "base/files.h"
#include "base/outfile.h"
#include "base/str.h"
#include "format/format.h"

/* Whether a name equals, or ends like, that of a file of some format, or of an index of such. */
static bool is_model_name(const char *name) {
    const tare_str index = TARE_STR(".index.json");
    tare_str text = tare_str_of(name);
    if (tare_str_ends(text, index)) text.len -= index.len;
    for (size_t i = 0; tare_format_row(i); i++) {
        const char *main_file = tare_format_row(i)->main_file;
        if (main_file && strcmp(name, main_file) == 0) return true;
        tare_str suffix = tare_str_of(tare_format_row(i)->suffix);
        if (suffix.len && tare_str_ends(text, suffix)) return true;
    }
    return false;
}

typedef struct contents {
    bool is_empty, has_model;
} contents;

static tare_status visit(void *ctx, const tare_files_entry *entry, tare_error *err) {
    contents *seen = ctx;
    (void)err;
    seen->is_empty = false;
    seen->has_model |= is_model_name(entry->name);
    return TARE_OK;
}

tare_status tare_check_replaced(const char *out_path, tare_error *err) {
    contents seen = {.is_empty = true};
    int os_error;
    const tare_path_kind kind = tare_path_stat(out_path, &os_error);
    if (kind == TARE_PATH_NOTHING && os_error != ENOENT && os_error != ENOTDIR) {
        tare_fail_errno(err, os_error, "the old output cannot be read");
        tare_error_file(err, out_path);
        return TARE_ERR_IO;
    }
    if (kind != TARE_PATH_FOLDER) return TARE_OK;
    tare_status status = tare_files_list(NULL, out_path, visit, &seen, err);
    if (status != TARE_OK) {
        if (err) err->what = "the old output cannot be read";
        tare_error_file(err, out_path);
        return status;
    }
    if (seen.is_empty || seen.has_model) return TARE_OK;
    tare_fail(err, TARE_ERR_ARG, "the old output holds no model: not replaced, remove it yourself");
    tare_error_file(err, out_path);
    return TARE_ERR_ARG;
}

bool tare_replaces_model(const char *out_path, const tare_model *model) {
    for (size_t i = 0; model && i < model->n_files; i++) {
        if (tare_holds_file(out_path, &model->files[i].reader)) return true;
    }
    return false;
}

uint16_t tare_model_withheld(const tare_model *model) {
    unsigned withheld = 0;
    for (size_t i = 0; i < model->n_files; i++) withheld |= model->files[i].reader.withheld;
    return (uint16_t)withheld;
}
