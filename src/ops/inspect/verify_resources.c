/* SPDX-License-Identifier: MIT
 *
 * tare_verify_resources: side files are not what is left in the place of a file, and those that are
 * JSON or text by their names are that. What they mean is for those who use them to say. */
#include <string.h>

#include <tare/inspect.h>
#include <tare/model.h>

#include "base/json.h"
#include "base/pool.h"
#include "base/report.h"
#include "base/str.h"
#include "base/utf8.h"
#include "model/catalog.h"
#include "model/foreign.h"
#include "model/model_internal.h"

#define HEAD_BYTES 4096 /* of a file that is only bytes: enough to tell what it is instead */

typedef enum content { CONTENT_ANY, CONTENT_TEXT, CONTENT_TOKENIZER, CONTENT_JSON } content;

/* What a name says. A tokenizer is a message of SentencePiece, or text. */
static content content_of(tare_str name) {
    static const struct {
        const char *suffix;
        content what;
    } suffixes[] = {{".json", CONTENT_JSON},
                    {".jinja", CONTENT_TEXT},
                    {"merges.txt", CONTENT_TEXT},
                    {"vocab.txt", CONTENT_TEXT},
                    {"tokenizer.model", CONTENT_TOKENIZER},
                    {"tiktoken.model", CONTENT_TOKENIZER},
                    {"spiece.model", CONTENT_TOKENIZER},
                    {"sentencepiece.bpe.model", CONTENT_TOKENIZER},
                    {".tiktoken", CONTENT_TOKENIZER}};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (tare_str_ends(name, tare_str_of(suffixes[i].suffix))) return suffixes[i].what;
    return CONTENT_ANY;
}

static void report_fault(tare_report *report, size_t i, tare_str name, const char *code,
                         const tare_error *fault) {
    tare_finding f = TARE_FINDING(ERROR, fault->status, code);
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item = (int64_t)i;
    f.item_name = name;
    f.offset = fault->offset;
    f.text = tare_str_of(fault->what);
    tare_report_add(report, &f);
}

/* transformers refuses a text with it. */
static void note_mark(tare_report *report, size_t i, tare_str name) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "resource.byte-order-mark");
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item = (int64_t)i;
    f.item_name = name;
    f.offset = 0;
    f.text = TARE_STR("begins with a byte order mark, which Python's json refuses");
    tare_report_add(report, &f);
}

/* HTML among the side files of a model is what it says it is. */
static bool is_page(tare_str name, tare_str head) {
    const size_t at = strspn(head.ptr, TARE_UTF8_MARK " \t\r\n");
    static const char *const suffixes[] = {".html", ".htm", ".xhtml", ".xml", ".svg", ".md"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (head.ptr[at] == '<' && tare_str_ends(name, tare_str_of(suffixes[i]))) return true;
    return false;
}

/* TARE_OK: it may be text in UTF-8. A template may be empty. */
static tare_status check_text(tare_str text, tare_str name, tare_error *err) {
    if (!text.len && !tare_str_ends(name, TARE_STR(".jinja")))
        return tare_fail_at(err, TARE_ERR_TRUNCATED, 0, "the file is empty");
    if (tare_is_utf8(text.ptr, text.len) && !(text.len && memchr(text.ptr, 0, text.len)))
        return TARE_OK;
    tare_fail_at(err, TARE_ERR_CORRUPT, 0, "a text in UTF-8 was expected");
    return tare_name_foreign(TARE_ERR_CORRUPT, text, text.len, true, err);
}

/* Whether the first line is that of a list of tokens: base64, a space, a number. */
static bool begins_with_rank(tare_str text) {
    const size_t word = strspn(text.ptr, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                         "0123456789+/=");
    if (!word || text.ptr[word] != ' ') return false;
    const size_t rank = strspn(text.ptr + word + 1, "0123456789");
    const char end = text.ptr[word + 1 + rank];
    return rank && (end == '\r' || end == '\n' || end == '\0');
}

/* TARE_OK: it begins as a tokenizer: with a piece of SentencePiece's message or what it was trained
 * with, or with a token and its rank. */
static tare_status check_tokenizer(tare_str text, tare_error *err) {
    if (!text.len) return tare_fail_at(err, TARE_ERR_TRUNCATED, 0, "the file is empty");
    if (*text.ptr == '\n' || *text.ptr == '\x12' || begins_with_rank(text)) return TARE_OK;
    tare_fail_at(err, TARE_ERR_CORRUPT, 0,
                 "a model of SentencePiece, or lines of base64 and rank, were expected");
    return tare_name_foreign(TARE_ERR_CORRUPT, text, text.len, true, err);
}

static void judge(tare_report *report, size_t i, const tare_resource *r, tare_str head) {
    tare_error fault = TARE_ERROR_NONE;
    const content what = content_of(r->name);
    const bool is_json = what == CONTENT_JSON;
    const char *foreign = is_page(r->name, head) ? NULL : tare_not_the_file(head, r->size);
    if (foreign) {
        tare_fail(&fault, TARE_ERR_UNSUPPORTED, foreign);
        report_fault(report, i, r->name, "resource.not-the-file", &fault);
    } else if (is_json && tare_name_foreign(tare_json_whole(NULL, head, &fault), head, r->size,
                                            true, &fault) != TARE_OK) {
        report_fault(report, i, r->name, "resource.json", &fault);
    } else if (what == CONTENT_TEXT && check_text(head, r->name, &fault) != TARE_OK) {
        report_fault(report, i, r->name, "resource.text", &fault);
    } else if (what == CONTENT_TOKENIZER && check_tokenizer(head, &fault) != TARE_OK) {
        report_fault(report, i, r->name, "resource.tokenizer", &fault);
    } else if (is_json && tare_str_starts(head, TARE_STR(TARE_UTF8_MARK))) {
        note_mark(report, i, r->name);
    }
}

/* JSON and texts are read whole, of any other file the beginning. */
static tare_status verify_resource(const tare_model *model, size_t i, tare_report *report,
                                   const tare_allocator *a, tare_error *err) {
    const tare_resource *r = tare_model_resource(model, i);
    size_t size = (size_t)r->size;
    if (content_of(r->name) == CONTENT_ANY && size > HEAD_BYTES) size = HEAD_BYTES;
    char *text = tare_alloc(a, size + 1);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "side file");
    tare_status status = tare_resource_read(text, model, i, 0, size, err);
    text[size] = '\0';
    if (status == TARE_OK) judge(report, i, r, (tare_str){text, size});
    tare_free(a, text, size + 1);
    return status;
}

tare_status tare_verify_resources(const tare_model *model, const tare_context *context,
                                  tare_error *err) {
    TARE_REQUIRE(model, err);
    tare_context o = tare_context_default();
    TARE_TRY(tare_options_read(&o, sizeof o, context, err));
    for (size_t i = 0; i < model->catalog.n_resources; i++) {
        TARE_TRY(tare_cancel_check(o.cancel, err));
        TARE_TRY(verify_resource(model, i, o.report, o.allocator, err));
    }
    return TARE_OK;
}
