/* SPDX-License-Identifier: MIT
 *
 * Reads NAME.expect line by line: the first word decides, the rest is taken apart by sscanf. */
#include "expect.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *expect_item_text(tare_item_kind kind) {
    static const char *const text[] = {"none", "tensor", "key", "resource", "adapter"};
    return (unsigned)kind < 5 ? text[kind] : "unknown";
}

const char *expect_level_text(tare_level level) {
    static const char *const text[] = {"info", "warning", "error"};
    return (unsigned)level < 3 ? text[level] : "unknown";
}

static bool parse_status(const char *word, tare_status *out) {
#define EXPECT_STATUS(name, number, text)                                                          \
    if (strcmp(&#name[number == 0 ? 0 : 4], word) == 0) return *out = TARE_##name, true;
    TARE_STATUS_LIST(EXPECT_STATUS)
#undef EXPECT_STATUS
    return false;
}

static bool parse_offset(const char *word, uint64_t *out) {
    *out = TARE_NO_OFFSET;
    return strcmp(word, "none") == 0 || sscanf(word, "%" SCNu64, out) == 1;
}

static bool parse_item(const char *words, expect_item *out) {
    char kind[16];
    *out = (expect_item){TARE_ITEM_NONE, -1};
    if (strcmp(words, "none") == 0) return true;
    if (sscanf(words, "%15s %" SCNd64, kind, &out->index) != 2) return false;
    while (out->kind <= TARE_ITEM_ADAPTER && strcmp(expect_item_text(out->kind), kind) != 0) {
        out->kind++;
    }
    return out->kind <= TARE_ITEM_ADAPTER;
}

/* "error CODE OFFSET ITEM", without OFFSET for what reading the data finds. */
static bool parse_finding(const char *words, bool has_offset, expect_finding *out) {
    char level[16], offset[32] = "none";
    int at = 0;
    out->has_offset = has_offset;
    if (has_offset) {
        if (sscanf(words, "%15s %63s %31s %n", level, out->code, offset, &at) != 3) return false;
    } else if (sscanf(words, "%15s %63s %n", level, out->code, &at) != 2) {
        return false;
    }
    out->level = strcmp(level, "error") == 0 ? TARE_LEVEL_ERROR : TARE_LEVEL_WARNING;
    return parse_offset(offset, &out->offset) && parse_item(words + at, &out->item);
}

static bool copy(char *out, size_t size, const char *words) {
    return (size_t)snprintf(out, size, "%s", words) < size;
}

static bool parse_read(const char *words, expectation *e) {
    char status[32];
    expect_read *r = &e->reads[e->n_reads++];
    return sscanf(words, "tensor %zu %31s", &r->tensor, status) == 2 &&
           parse_status(status, &r->status);
}

static bool parse_field(const char *words, expectation *e) {
    expect_field *f = &e->fields[e->n_fields++];
    return sscanf(words, "%31s %63s", f->name, f->value) == 2;
}

static bool parse_line(expectation *e, const char *word, const char *rest) {
    if (e->n_findings == EXPECT_MAX || e->n_deep == EXPECT_MAX || e->n_fields == EXPECT_MAX ||
        e->n_reads == EXPECT_MAX) {
        return false;
    }
    if (strcmp(word, "open") == 0) return copy(e->open, sizeof e->open, rest);
    if (strcmp(word, "one-shard") == 0) return e->one_shard = true;
    if (strcmp(word, "importance") == 0) return e->is_importance = true;
    if (strcmp(word, "file") == 0) return copy(e->file, sizeof e->file, rest);
    if (strcmp(word, "status") == 0) return parse_status(rest, &e->status);
    if (strcmp(word, "offset") == 0) return parse_offset(rest, &e->offset);
    if (strcmp(word, "item") == 0) return parse_item(rest, &e->item);
    if (strcmp(word, "what") == 0) return copy(e->what, sizeof e->what, rest);
    if (strcmp(word, "finding") == 0) {
        return parse_finding(rest, true, &e->findings[e->n_findings++]);
    }
    if (strcmp(word, "deep") == 0) return parse_finding(rest, false, &e->deep[e->n_deep++]);
    if (strcmp(word, "has") == 0) return parse_field(rest, e);
    if (strcmp(word, "read") == 0) return parse_read(rest, e);
    return false;
}

bool expect_load(expectation *out, const char *path) {
    memset(out, 0, sizeof *out);
    out->offset = TARE_NO_OFFSET;
    out->item = (expect_item){TARE_ITEM_NONE, -1};
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        printf("%s: cannot be opened\n", path);
        return false;
    }
    char line[1024];
    bool ok = true;
    while (ok && fgets(line, sizeof line, f) != NULL) {
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#') continue;
        char *rest = line + strcspn(line, " ");
        if (*rest != 0) *rest++ = 0;
        ok = parse_line(out, line, rest);
        if (!ok) printf("%s: a line that is none: %s %s\n", path, line, rest);
    }
    fclose(f);
    return ok;
}
