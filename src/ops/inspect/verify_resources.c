/* SPDX-License-Identifier: MIT
 *
 * tare_verify_resources: side files that are JSON by their names are JSON. What their members mean
 * is for those who use them to say. */
#include <tare/ops.h>

#include "base/json.h"
#include "base/pool.h"
#include "base/report.h"
#include "base/str.h"
#include "model/catalog.h"
#include "model/model_internal.h"

static void report_fault(tare_report *report, size_t i, tare_str name, const tare_error *fault) {
    tare_finding f = TARE_FINDING(ERROR, fault->status, "resource.json");
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item = (int64_t)i;
    f.item_name = name;
    f.offset = fault->offset;
    f.text = tare_str_of(fault->what);
    tare_report_add(report, &f);
}

static tare_status verify_json(const tare_model *model, size_t i, tare_report *report,
                               const tare_allocator *a, tare_error *err) {
    const tare_resource *resource = tare_model_resource(model, i);
    const size_t size = (size_t)resource->size;
    char *text = tare_alloc(a, size + 1);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "side file");
    tare_error fault;
    tare_status status = tare_resource_read(model, i, 0, text, size, err);
    if (status == TARE_OK && tare_json_document(NULL, (tare_str){text, size}, &fault) != TARE_OK)
        report_fault(report, i, resource->name, &fault);
    tare_free(a, text, size + 1);
    return status;
}

tare_status tare_verify_resources(const tare_model *model, const tare_run_options *options,
                                  tare_error *err) {
    TARE_REQUIRE(model, err);
    tare_run_options o = TARE_RUN_OPTIONS_INIT;
    TARE_TRY(tare_options_read(&o, sizeof o, options, err));
    for (size_t i = 0; i < model->catalog.n_resources; i++) {
        if (!tare_str_ends(tare_model_resource(model, i)->name, TARE_STR(".json"))) continue;
        TARE_TRY(tare_cancel_check(o.cancel, err));
        TARE_TRY(verify_json(model, i, o.report, o.allocator, err));
    }
    return TARE_OK;
}
