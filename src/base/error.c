/* SPDX-License-Identifier: MIT
 *
 * Statuses and errors: filled in once where the fault is found, turned into text at the top. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/str.h"

const char *tare_version(void) {
    return TARE_TEXT_OF(TARE_VERSION_MAJOR) "." TARE_TEXT_OF(TARE_VERSION_MINOR) "." TARE_TEXT_OF(
        TARE_VERSION_PATCH);
}

const char *tare_status_text(tare_status status) {
    switch (status) {
#define TARE_STATUS_CASE(name, number, text)                                                       \
    case TARE_##name:                                                                              \
        return text;
        TARE_STATUS_LIST(TARE_STATUS_CASE)
#undef TARE_STATUS_CASE
    }
    return "unknown status";
}

#ifdef TARE_TRACE
void tare_trace(const char *file, int line, tare_status status) {
    fprintf(stderr, "%s:%d: %s\n", file, line, tare_status_text(status));
}
#endif

tare_status tare_fail(tare_error *err, tare_status status, const char *what) {
    if (err) {
        *err = TARE_ERROR_NONE;
        err->status = status;
        err->what = what;
    }
    return status;
}

tare_status tare_fail_code(tare_error *err, tare_status status, const char *code,
                           const char *what) {
    tare_fail(err, status, what);
    tare_error_code(err, code);
    return status;
}

void tare_error_code(tare_error *err, const char *code) {
    if (err) err->code = code;
}

tare_status tare_fail_at(tare_error *err, tare_status status, uint64_t offset, const char *what) {
    tare_fail(err, status, what);
    if (err) err->offset = offset;
    return status;
}

tare_status tare_fail_errno(tare_error *err, int os_error, const char *what) {
    tare_status status = TARE_ERR_IO;
    if (os_error == ENOMEM) status = TARE_ERR_NOMEM;
    if (os_error == ENOSPC || os_error == EFBIG) status = TARE_ERR_NOSPACE;
#if defined(EDQUOT) /* ISO C has it not, and not every system */
    if (os_error == EDQUOT) status = TARE_ERR_NOSPACE;
#endif
    tare_fail(err, status, what);
    if (err) err->os_error = os_error;
    return status;
}

/* The same for a path, whose end says more than its beginning: "..." goes in front. */
static void put_path(char *field, size_t size, tare_str path) {
    if (tare_str_escape(field, size, path, true) < size) return;
    memcpy(field, "...", 3);
    tare_str rest = tare_str_cut(path, path.len > size ? path.len - size : 0);
    do {
        do {
            rest = tare_str_cut(rest, 1);
        } while (rest.len && ((unsigned char)rest.ptr[0] & 0xc0) == 0x80); /* inside a character */
    } while (tare_str_escape(field + 3, size - 3, rest, true) >= size - 3);
}

void tare_error_item(tare_error *err, tare_item_kind kind, int64_t item, tare_str name) {
    if (!err || err->item_kind != TARE_ITEM_NONE) return;
    err->item_kind = kind;
    err->item = item;
    tare_str_escape_cut(err->item_name, sizeof err->item_name, name);
}

void tare_error_file(tare_error *err, const char *file) {
    if (!err || err->file[0] || !file) return;
    put_path(err->file, sizeof err->file, tare_str_of(file));
}

void tare_error_field(tare_error *err, const char *list, size_t index, const char *part,
                      const char *field) {
    if (!err || err->field[0]) return;
    snprintf(err->field, sizeof err->field, "%s[%zu]%s%s%s%s", list, index, part ? "." : "",
             part ? part : "", field ? "." : "", field ? field : "");
}

static const char *item_word(tare_item_kind kind) {
    switch (kind) {
    case TARE_ITEM_TENSOR:
        return "tensor";
    case TARE_ITEM_KEY:
        return "key";
    case TARE_ITEM_RESOURCE:
        return "file";
    case TARE_ITEM_ADAPTER:
        return "adapter";
    case TARE_ITEM_NONE:
        break;
    }
    return "item";
}

/* Texts of these say of what, as "number of dimensions": what happened stands in front of them. */
static bool is_told_first(const tare_error *err) {
    return !err->os_error && (err->status == TARE_ERR_NOMEM || err->status == TARE_ERR_LIMIT);
}

size_t tare_error_format(char *buf, size_t size, const tare_error *err, const char *path) {
    char line[1024], escaped[512];
    size_t n = 0;
#define PUT(...)                                                                                   \
    do {                                                                                           \
        int put_ = snprintf(line + n, sizeof line - n, __VA_ARGS__);                               \
        if (put_ > 0) n = n + (size_t)put_ < sizeof line ? n + (size_t)put_ : sizeof line - 1;     \
    } while (0)
    if (err->file[0]) {
        PUT("%s: ", err->file);
    } else if (path) {
        tare_str_escape(escaped, sizeof escaped, tare_str_of(path), false);
        PUT("%s: ", escaped);
    }
    if (err->offset != TARE_NO_OFFSET) PUT("byte %" PRIu64 ": ", err->offset);
    if (err->item_kind != TARE_ITEM_NONE) {
        PUT("%s", item_word(err->item_kind));
        if (err->item >= 0) PUT(" %" PRId64, err->item);
        if (err->item_name[0]) PUT(" \"%s\"", err->item_name);
        PUT(": ");
    }
    if (err->field[0]) PUT("%s: ", err->field);
    const char *status = tare_status_text(err->status);
    const bool has_text = err->what && err->what[0];
    if (has_text && is_told_first(err)) PUT("%s: ", status);
    PUT("%s", has_text ? err->what : status);
    if (err->os_error) PUT(": %s", strerror(err->os_error));
#undef PUT
    if (size > 0) {
        size_t keep = n < size ? n : size - 1;
        memcpy(buf, line, keep);
        buf[keep] = 0;
    }
    return n;
}

bool tare_error_is_absent(const tare_error *err) {
    return err->os_error == ENOENT || (err->code && strcmp(err->code, TARE_CODE_NOT_FOUND) == 0);
}

bool tare_status_is_loss(tare_status status) {
    return status == TARE_ERR_CORRUPT || status == TARE_ERR_CHECKSUM ||
           status == TARE_ERR_TRUNCATED || status == TARE_ERR_UNSUPPORTED ||
           status == TARE_ERR_IO || status == TARE_ERR_LIMIT;
}

void tare_error_detail(tare_error *err, const char *format, ...) {
    va_list args;
    if (!err) return;
    va_start(args, format);
    vsnprintf(err->field, sizeof err->field, format, args);
    va_end(args);
}
