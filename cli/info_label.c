/* SPDX-License-Identifier: MIT
 *
 * Lines of the one screen of tare info: labels, and entries side by side. */
#include <string.h>

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

/* Whether it is of a format, or one of that format was packed. */
static bool holds(const tare_model *model, const char *wanted) {
    tare_container_info c = tare_container_info_default();
    const char *format =
        tare_model_container(&c, model) ? c.format : tare_model_summarize(model)->format;
    return format && strcmp(format, wanted) == 0;
}

bool info_llama(tare_error *why, const tare_model *model) {
    memset(why, 0, sizeof *why);
    if (!holds(model, "gguf")) return false;
    if (tare_llama_can_run(model, why)) why->status = TARE_OK;
    return why->status == TARE_OK;
}

tare_str info_projector(const tare_model *model) {
    static const tare_str key = {"clip.projector_type", 19};
    const int64_t i = tare_model_find_key(model, key);
    const tare_metadata *m = i < 0 ? NULL : tare_model_metadata(model, (size_t)i);
    return m && m->value.type == TARE_VALUE_STRING ? m->value.as.s : (tare_str){"", 0};
}

/* What kept a verdict from being made. */
static tare_error fault;

bool info_converts(tare_error *why, const tare_model *model) {
    const tare_llama_options options = tare_llama_options_default();
    tare_model *mapped;
    tare_str hf_class;
    memset(why, 0, sizeof *why);
    if (!holds(model, "hf") || !tare_llama_can_map(&hf_class, model)) return false;
    const tare_file_info *file = tare_model_file(model, 0);
    if (file && tare_is_url(file->name)) return true; /* its side files would have to be fetched */
    if (tare_llama_map(&mapped, model, &options, why) == TARE_OK) tare_model_free(mapped);
    if (why->status == TARE_ERR_IO || why->status == TARE_ERR_NOMEM) fault = *why;
    return true;
}

int info_fault(const char *path) {
    return fault.status == TARE_OK ? CLI_YES : cli_fail(&fault, path);
}

void info_llama_text(char *buf, size_t size, const tare_error *why) {
    char line[512];
    cli_error_text(line, sizeof line, why, "");
    snprintf(buf, size, "%s", line[0] == ':' ? line + 2 : line);
    cli_spell(buf);
}
