/* SPDX-License-Identifier: MIT
 *
 * What is wrong with a checkpoint, and what of it is left out. */
#include "base/report.h"
#include "base/str.h"
#include "format/dcp/dcp.h"

void tare_dcp_report(const tare_dcp *d, tare_level level, const char *code, tare_item_kind kind,
                     tare_str name, uint64_t offset, const char *text) {
    tare_finding f = TARE_FINDING(ERROR, TARE_ERR_CORRUPT, code);
    f.level = level;
    f.offset = offset;
    f.item_kind = kind;
    f.item_name = name;
    f.text = tare_str_of(text);
    tare_report_add(d->report, &f);
}

tare_status tare_dcp_leave_out(const tare_dcp *d, tare_torch_file *f, const tare_dcp_entry *e,
                               tare_level level, const char *code, const char *why,
                               tare_error *err) {
    const tare_left_out left = {e->name, code, why};
    TARE_TRY(tare_gather_left(&f->lists, &left, err));
    tare_dcp_report(d, level, code, TARE_ITEM_KEY, e->name, e->record, why);
    return TARE_OK;
}
