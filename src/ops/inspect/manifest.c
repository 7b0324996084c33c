/* SPDX-License-Identifier: MIT
 *
 * Manifests, written and checked: lines of manifest_lines.c. */
#include <string.h>

#include "base/arith.h"
#include "base/hash.h"
#include "base/reader.h"
#include "base/report.h"
#include "base/str.h"
#include "model/catalog.h"
#include "ops/digest.h"
#include "ops/item_walk.h"
#include "ops/steps.h"

#define HEX 64 /* characters of a SHA-256 */

/* ---- writing --------------------------------------------------------------------------------- */

static void append_line(void *ctx, const tare_buffer *line) {
    tare_buffer_put(ctx, line->data, line->size);
}

tare_status tare_manifest_write(const char *path, const tare_model *model,
                                const tare_output_options *output, const tare_context *context,
                                tare_error *err) {
    TARE_REQUIRE(path && model, err);
    tare_context o = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, context, err));
    const size_t size = model->catalog.n_tensors * sizeof(tare_digest);
    tare_digest *digests = tare_alloc(o.allocator, size + 1);
    if (!digests) return tare_fail(err, TARE_ERR_NOMEM, "the manifest");
    tare_buffer text;
    tare_buffer_init(&text, o.allocator);
    tare_status s = tare_walk_guard(model, path, err);
    const tare_context quiet = tare_steps_context_quiet(&o);
    if (s == TARE_OK) s = tare_digests_check(model, &quiet, err);
    if (s == TARE_OK) s = tare_model_digest(digests, NULL, model, &o, err);
    if (s == TARE_OK)
        s = tare_manifest_lines(model->catalog.tensors, digests, model->catalog.n_tensors,
                                o.allocator, append_line, &text, err);
    if (s == TARE_OK) s = tare_buffer_status(&text, err);
    if (s == TARE_OK) s = tare_file_write(path, text.data, text.size, model, output, &o, err);
    tare_buffer_free(&text);
    tare_free(o.allocator, digests, size + 1);
    return s;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* What the manifest says of a tensor. */
typedef struct expectation {
    tare_digest digest;
    uint64_t offset; /* of its line; TARE_NO_OFFSET: there is none */
} expectation;

typedef struct check {
    const char *path;
    const tare_model *model;
    const tare_context *context;
    expectation *expected; /* one a tensor */
    size_t n_differences;
} check;

static void report(check *c, const char *code, int64_t tensor, tare_str name, uint64_t offset,
                   const char *text) {
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CHECKSUM, code);
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = tensor;
    f.item_name = name;
    f.offset = offset;
    if (offset != TARE_NO_OFFSET) f.file = tare_str_of(c->path);
    f.text = tare_str_of(text);
    tare_report_add(c->context->report, &f);
    c->n_differences++;
}

static tare_status bad_line(const check *c, uint64_t offset, const char *what, tare_error *err) {
    tare_status s = tare_fail_at(err, TARE_ERR_CORRUPT, offset, what);
    tare_error_file(err, c->path);
    return s;
}

/* Takes the escapes out of `raw`, the last part of a line at `offset`. */
static tare_status unescape(tare_buffer *name, const check *c, tare_str raw, uint64_t offset,
                            tare_error *err) {
    for (size_t i = 0; i < raw.len; i++) {
        char ch = raw.ptr[i];
        if (ch == '\\') {
            char next = ++i < raw.len ? raw.ptr[i] : 0;
            ch = next == 'n' ? '\n' : next == 'r' ? '\r' : next == '\\' ? '\\' : 0;
            if (!ch) return bad_line(c, offset + i - 1, "manifest: \\n, \\r or \\\\ expected", err);
        }
        tare_buffer_put_u8(name, (uint8_t)ch);
    }
    return tare_buffer_status(name, err);
}

/* One line without its newline; it begins at `offset`. */
static tare_status check_line(check *c, tare_str line, uint64_t offset, tare_buffer *scratch,
                              tare_error *err) {
    expectation e = {.offset = offset};
    const bool is_escaped = line.len && line.ptr[0] == '\\';
    tare_str rest = tare_str_cut(line, is_escaped ? 1 : 0);
    if (rest.len < HEX + 2 || !tare_unhex(e.digest.bytes, rest.ptr, sizeof e.digest.bytes))
        return bad_line(c, offset, "manifest: 64 hexadecimal digits and a name expected", err);
    if (rest.ptr[HEX] != ' ' || (rest.ptr[HEX + 1] != ' ' && rest.ptr[HEX + 1] != '*'))
        return bad_line(c, offset + (uint64_t)(rest.ptr + HEX - line.ptr),
                        "manifest: two spaces, or a space and an asterisk, expected", err);
    tare_str name = tare_str_cut(rest, HEX + 2);
    scratch->size = 0;
    if (is_escaped) {
        TARE_TRY(unescape(scratch, c, name, offset + (uint64_t)(name.ptr - line.ptr), err));
        name = (tare_str){(const char *)scratch->data, scratch->size};
    }
    int64_t tensor = tare_model_find_tensor(c->model, name);
    if (tensor < 0) {
        report(c, "manifest.missing", -1, name, offset, "in the manifest, but not in the model");
        return TARE_OK;
    }
    if (c->expected[tensor].offset != TARE_NO_OFFSET)
        return bad_line(c, offset, "manifest: a second line for the same tensor", err);
    c->expected[tensor] = e;
    return TARE_OK;
}

static tare_status check_lines(check *c, tare_str text, tare_error *err) {
    tare_buffer scratch;
    tare_status s = TARE_OK;
    tare_buffer_init(&scratch, c->context->allocator);
    for (size_t at = 0; s == TARE_OK && at < text.len;) {
        tare_str line = tare_str_cut(text, at);
        const char *end = memchr(line.ptr, '\n', line.len);
        if (end) line.len = (size_t)(end - line.ptr);
        s = check_line(c, line, at, &scratch, err);
        at += line.len + 1;
    }
    tare_buffer_free(&scratch);
    return s;
}

static tare_status read_manifest(check *c, tare_error *err) {
    tare_reader reader;
    size_t size;
    TARE_TRY(tare_reader_open(&reader, c->path, false, err));
    tare_status s = TARE_OK;
    char *text = NULL;
    if (reader.size > c->model->limits.metadata_bytes || !tare_size_of_u64(reader.size, &size)) {
        s = tare_fail(err, TARE_ERR_LIMIT, "manifest: too large");
        tare_error_file(err, c->path);
        goto out;
    }
    if (size == 0) goto out;
    text = tare_alloc(c->context->allocator, size);
    if (!text)
        s = tare_fail(err, TARE_ERR_NOMEM, "the manifest");
    else
        s = tare_reader_read(&reader, 0, text, size, err);
    if (s == TARE_OK) s = check_lines(c, (tare_str){text, size}, err);
    if (text) tare_free(c->context->allocator, text, size);
out:
    tare_reader_close(&reader);
    return s;
}

static tare_status compare(check *c, const tare_digest *digests, tare_error *err) {
    for (size_t i = 0; i < c->model->catalog.n_tensors; i++) {
        const expectation *e = &c->expected[i];
        tare_str name = c->model->catalog.tensors[i].name;
        if (e->offset == TARE_NO_OFFSET)
            report(c, "manifest.extra", (int64_t)i, name, TARE_NO_OFFSET,
                   "in the model, but not in the manifest");
        else if (memcmp(&e->digest, &digests[i], sizeof e->digest))
            report(c, "manifest.digest", (int64_t)i, name, e->offset,
                   "its digest is not the manifest's");
    }
    if (c->n_differences == 0) return TARE_OK;
    return tare_fail(err, TARE_ERR_CHECKSUM, "the model is not what the manifest says");
}

tare_status tare_manifest_check(const char *path, const tare_model *model,
                                const tare_context *context, tare_error *err) {
    TARE_REQUIRE(path && model, err);
    tare_context o = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, context, err));
    const size_t n = model->catalog.n_tensors;
    const size_t expected_size = n * sizeof(expectation) + 1, size = n * sizeof(tare_digest) + 1;
    check c = {.path = path, .model = model, .context = &o};
    c.expected = tare_alloc(o.allocator, expected_size);
    tare_digest *digests = tare_alloc(o.allocator, size);
    tare_status s = TARE_OK;
    if (!c.expected || !digests) s = tare_fail(err, TARE_ERR_NOMEM, "the manifest");
    for (size_t i = 0; s == TARE_OK && i < n; i++) c.expected[i].offset = TARE_NO_OFFSET;
    if (s == TARE_OK) s = read_manifest(&c, err);
    if (s == TARE_OK) s = tare_model_digest(digests, NULL, model, &o, err);
    if (s == TARE_OK) s = compare(&c, digests, err);
    if (digests) tare_free(o.allocator, digests, size);
    if (c.expected) tare_free(o.allocator, c.expected, expected_size);
    return s;
}
