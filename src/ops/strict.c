/* SPDX-License-Identifier: MIT */
#include "ops/strict.h"

#include <stdio.h>

#include "base/str.h"

void tare_strict_remember(tare_strict *s, const tare_finding *finding, const char *what) {
    if (s->what) return;
    s->what = what;
    s->item_kind = finding->item_kind;
    s->item = finding->item;
    s->item_name = finding->item_name;
}

void tare_strict_loss(tare_strict *s, const tare_finding *loss) {
    if (loss->code) tare_strict_remember(s, loss, loss->text.ptr);
}

void tare_strict_note(tare_strict *s, const tare_finding *finding, const char *what,
                      const char *format, ...) {
    char text[512];
    va_list args;
    tare_finding f = *finding;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    f.level = TARE_LEVEL_WARNING;
    f.status = TARE_ERR_UNSUPPORTED;
    f.text = tare_str_of(text);
    tare_report_add(s->report, &f);
    tare_strict_remember(s, finding, what);
}

void tare_strict_file(tare_strict *s, tare_str name, const char *why) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "left-out");
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item_name = name;
    tare_strict_note(s, &f, why, "%s", why);
}

void tare_strict_left_out(tare_strict *s, const tare_model *m) {
    for (size_t i = 0; i < m->n_left_out; i++) tare_report_remove(s->report, m->left_out[i].code);
    for (size_t i = 0; i < m->n_left_out; i++)
        tare_strict_file(s, m->left_out[i].name, m->left_out[i].why);
    tare_strict_loss(s, &m->loss);
}

tare_status tare_strict_check(const tare_strict *s, tare_error *err) {
    if (!s->is_strict || !s->what) return TARE_OK;
    tare_fail(err, TARE_ERR_UNSUPPORTED, s->what);
    if (s->item_name.len) tare_error_item(err, s->item_kind, s->item, s->item_name);
    return TARE_ERR_UNSUPPORTED;
}
