/* SPDX-License-Identifier: MIT
 *
 * What the parts of a restoration share: side files, findings, keys by name, numbers as text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/report.h"
#include "base/str.h"
#include "llama/restore/restore.h"

void tare_llama_not_restored_in(tare_model *out, tare_report *report, tare_item_kind kind,
                                tare_str name, const char *why) {
    tare_finding f = TARE_FINDING(WARNING, TARE_OK, "llama.not-restored");
    f.item_kind = kind;
    f.item_name = name;
    f.text = tare_str_of(why);
    tare_report_add(report, &f);
    if (!out->loss.code) out->loss = f;
}

void tare_llama_not_restored(const tare_llama_restoring *r, tare_item_kind kind, tare_str name,
                             const char *why) {
    tare_llama_not_restored_in(r->out, r->options->context->report, kind, name, why);
}

tare_status tare_llama_add_file(tare_llama_restoring *r, const char *name, tare_buffer *text,
                                tare_error *err) {
    tare_status status = tare_buffer_status(text, err);
    if (status == TARE_OK) {
        tare_str bytes =
            tare_arena_str(&r->out->arena, (tare_str){(const char *)text->data, text->size});
        bool has_room = tare_grow(r->out->allocator, (void **)&r->files, &r->files_capacity,
                                  r->n_files + 1, sizeof *r->files);
        if (!bytes.ptr || !has_room) status = tare_fail(err, TARE_ERR_NOMEM, name);
        if (status == TARE_OK)
            r->files[r->n_files++] = (tare_resource_entry){.info = {tare_str_of(name), bytes.len},
                                                           .bytes = (const uint8_t *)bytes.ptr};
    }
    tare_buffer_free(text);
    return status;
}

size_t tare_llama_f32_text(char *buf, size_t size, double x) {
    int n = 0, digits = 1;
    if (!isfinite(x)) x = 0; /* JSON has no such numbers */
    for (; digits < 9; digits++) {
        n = snprintf(buf, size, "%.*e", digits - 1, x);
        if (strtof(buf, NULL) == (float)x) break;
    }
    int exponent = atoi(strchr(buf, 'e') + 1), behind = digits - 1 - exponent;
    if (exponent < -4 || exponent > 15)
        n = snprintf(buf, size, "%.*g", digits, x);
    else
        n = snprintf(buf, size, "%.*f", behind > 1 ? behind : 1, x);
    return (size_t)n;
}

const tare_value *tare_llama_key_of(const tare_model *gguf, const char *key) {
    for (size_t i = 0; i < gguf->catalog.n_metadata; i++)
        if (tare_str_is(gguf->catalog.metadata[i].key, key))
            return &gguf->catalog.metadata[i].value;
    return NULL;
}
