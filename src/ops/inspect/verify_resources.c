/* SPDX-License-Identifier: MIT
 *
 * tare_verify_resources: side files are not what is left in the place of a file, and those that are
 * JSON by their names are JSON. What their members mean is for those who use them to say. */
#include <tare/inspect.h>
#include <tare/model.h>

#include "base/json.h"
#include "base/pool.h"
#include "base/report.h"
#include "base/str.h"
#include "model/catalog.h"
#include "model/foreign.h"
#include "model/model_internal.h"

#define HEAD_BYTES 4096 /* of a file that is not JSON: enough to tell what it is instead */

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

static void judge(tare_report *report, size_t i, const tare_resource *r, tare_str head) {
    tare_error fault = TARE_ERROR_NONE;
    const bool is_json = tare_str_ends(r->name, TARE_STR(".json"));
    const char *foreign = is_page(r->name, head) ? NULL : tare_not_the_file(head, r->size);
    if (foreign) {
        tare_fail(&fault, TARE_ERR_UNSUPPORTED, foreign);
        report_fault(report, i, r->name, "resource.not-the-file", &fault);
    } else if (is_json && tare_name_foreign(tare_json_whole(NULL, head, &fault), head, r->size,
                                            true, &fault) != TARE_OK) {
        report_fault(report, i, r->name, "resource.json", &fault);
    } else if (is_json && tare_str_starts(head, TARE_STR(TARE_UTF8_MARK))) {
        note_mark(report, i, r->name);
    }
}

/* JSON is read whole, of any other file the beginning. */
static tare_status verify_resource(const tare_model *model, size_t i, tare_report *report,
                                   const tare_allocator *a, tare_error *err) {
    const tare_resource *r = tare_model_resource(model, i);
    size_t size = (size_t)r->size;
    if (!tare_str_ends(r->name, TARE_STR(".json")) && size > HEAD_BYTES) size = HEAD_BYTES;
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
