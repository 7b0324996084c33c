/* SPDX-License-Identifier: MIT
 *
 * The side files a tokenizer is made of, and how errors in them are reported. */
#include <stdarg.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "base/utf8.h"
#include "llama/config.h"
#include "llama/tokenizer/context.h"
#include "model/foreign.h"

tare_status tare_llama_in_file(tare_error *err, tare_status status, const tare_llama_file *file) {
    if (status != TARE_OK)
        tare_error_item(err, TARE_ITEM_RESOURCE, file->resource, tare_str_of(file->name));
    return status;
}

tare_status tare_llama_fail_file(tare_error *err, tare_status status, const tare_llama_file *file,
                                 uint64_t offset, const char *what) {
    return tare_llama_in_file(err, tare_fail_at(err, status, offset, what), file);
}

void tare_llama_note(const tare_llama_tokenizer *t, tare_level level, const char *code,
                     const char *file, const char *format, ...) {
    char text[512];
    va_list args;
    tare_finding finding = TARE_FINDING(INFO, TARE_OK, code);
    finding.level = level;
    if (file) {
        finding.item_kind = TARE_ITEM_RESOURCE;
        finding.item_name = tare_str_of(file);
    }
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    finding.text = tare_str_of(text);
    tare_report_add(t->report, &finding);
}

tare_status tare_llama_text(tare_str *out, tare_llama_tokenizer *t, const tare_json_value *v,
                            tare_error *err) {
    *out = tare_json_text(v, &t->scratch);
    return out->ptr ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "text");
}

tare_status tare_llama_file_read(tare_llama_file *out, tare_llama_tokenizer *t, const char *name,
                                 tare_error *err) {
    *out = (tare_llama_file){.name = name};
    TARE_TRY(tare_model_find_file(&out->resource, t->hf, name, err));
    if (out->resource < 0) return TARE_OK;
    const tare_resource *r = tare_model_resource(t->hf, (size_t)out->resource);
    size_t size;
    if (r->size > t->hf->limits.resource_bytes || !tare_size_of_u64(r->size, &size))
        return tare_llama_fail_file(err, TARE_ERR_LIMIT, out, TARE_NO_OFFSET, "size of a resource");
    char *text = tare_arena_take(&t->scratch, size);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, name);
    tare_status status = tare_resource_read(text, t->hf, (size_t)out->resource, 0, size, err);
    out->text = (tare_str){text, size};
    const char *foreign = status == TARE_OK ? tare_not_the_file(out->text, size) : NULL;
    if (foreign) status = tare_fail(err, TARE_ERR_UNSUPPORTED, foreign);
    return tare_llama_in_file(err, status, out);
}

tare_status tare_llama_file_read_text(tare_llama_file *out, tare_llama_tokenizer *t,
                                      const char *name, tare_error *err) {
    TARE_TRY(tare_llama_file_read(out, t, name, err));
    const tare_str text = out->text;
    if (!text.ptr) return TARE_OK;
    if (tare_str_starts(text, TARE_STR("\xef\xbb\xbf"))) out->text = tare_str_cut(text, 3);
    tare_status status = TARE_OK;
    if (!text.len && !tare_str_ends(tare_str_of(name), TARE_STR(".jinja")))
        status = tare_fail_at(err, TARE_ERR_TRUNCATED, 0, "the file is empty");
    else if (!tare_is_utf8(text.ptr, text.len) || (text.len && memchr(text.ptr, 0, text.len)))
        status = tare_name_foreign(
            tare_fail_at(err, TARE_ERR_CORRUPT, 0, "a text in UTF-8 was expected"), text, text.len,
            true, err);
    return tare_llama_in_file(err, status, out);
}

tare_status tare_llama_file_read_json(tare_llama_file *out, tare_llama_tokenizer *t,
                                      const char *name, tare_error *err) {
    TARE_TRY(tare_llama_file_read(out, t, name, err));
    if (!out->text.ptr) return TARE_OK;
    tare_status status = tare_json_whole(&out->root, out->text, err);
    status = tare_name_foreign(status, out->text, out->text.len, true, err);
    if (status == TARE_OK && out->root.type != TARE_JSON_OBJECT)
        status = tare_fail_at(err, TARE_ERR_CORRUPT, out->root.offset, "an object was expected");
    return tare_llama_in_file(err, status, out);
}

/* JSON's null counts as absent. */
static void forget_nulls(tare_json_value *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (values[i].type == TARE_JSON_NULL) values[i].type = TARE_JSON_END;
}

tare_status tare_llama_tokenizer_json_read(tare_llama_tokenizer *t, tare_error *err) {
    static const char *const parts[] = {"model",         "added_tokens",   "normalizer",
                                        "pre_tokenizer", "post_processor", "decoder"};
    static const char *const members[] = {"type", "vocab", "merges", "byte_fallback",
                                          "ignore_merges"};
    tare_json_value values[6], inner[5];
    tare_llama_tokenizer_json *j = &t->json;
    TARE_TRY(tare_llama_file_read_json(&j->file, t, "tokenizer.json", err));
    tare_json_span_members(&j->file.root, parts, values, 6);
    forget_nulls(values, 6);
    j->model = values[0];
    j->added_tokens = values[1];
    j->normalizer = values[2];
    j->pre_tokenizer = values[3];
    j->post_processor = values[4];
    j->decoder = values[5];
    tare_json_span_members(&j->model, members, inner, 5);
    forget_nulls(inner, 5);
    j->type = inner[0];
    j->vocab = inner[1];
    j->merges = inner[2];
    j->byte_fallback = tare_json_span_bool(&inner[3], false);
    j->ignore_merges = tare_json_span_bool(&inner[4], false);
    return TARE_OK;
}
