/* SPDX-License-Identifier: MIT
 *
 * What is said when a model with weights that cannot be decoded is opened: reading them fails later,
 * and copies of their bytes are right; and of tensors beside packed weights that nothing uses. */
#include <stdio.h>

#include "base/arith.h"
#include "base/report.h"
#include "model/model_internal.h"
#include "quantized/quantized.h"

/* Tensors beside packed weights that nothing is known of: the first, and how many there are. */
static void report_unused(const tare_model *m, tare_report *report) {
    size_t n = 0, first = 0;
    for (size_t i = m->catalog.n_tensors; m->notes && i-- > 0;)
        if (m->notes[i].unused && !m->notes[i].refusal) {
            first = i;
            n++;
        }
    if (n == 0) return;
    tare_finding f = TARE_FINDING(WARNING, TARE_OK, "packed.unused");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)first;
    f.item_name = m->catalog.tensors[first].name;
    char others[48] = "";
    if (n > 1) snprintf(others, sizeof others, " (%zu more tensors)", n - 1);
    tare_report_addf(report, &f, "%s%s", m->notes[first].unused, others);
}

static void report_refused(const tare_model *m, tare_report *report) {
    size_t n = 0, first = 0;
    for (size_t i = m->catalog.n_tensors; m->notes && i-- > 0;)
        if (m->notes[i].refusal) {
            first = i;
            n++;
        }
    if (n == 0) {
        const tare_finding all = TARE_FINDING(INFO, TARE_ERR_UNSUPPORTED, "packed.refused");
        if (m->refusal)
            tare_report_addf(report, &all, "its weights cannot be decoded: %s", m->refusal);
        return;
    }
    const tare_tensor_note *note = &m->notes[first];
    const tare_model *stored = m->stored ? m->stored : m;
    const tare_str about =
        note->refused_about < 0 ? TARE_STR("") : stored->catalog.tensors[note->refused_about].name;
    tare_finding f = TARE_FINDING(INFO, note->refused_as, "packed.refused");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)first;
    f.item_name = m->catalog.tensors[first].name;
    char others[48] = "";
    if (n > 1) snprintf(others, sizeof others, " (%zu more tensors)", n - 1);
    tare_report_addf(report, &f, "cannot be decoded: %.*s%s%s%s", (int)tare_min_u64(about.len, 160),
                     about.ptr, about.len ? ": " : "", note->refusal, others);
}

void tare_quantized_report(const tare_model *m, tare_report *report) {
    report_refused(m, report);
    report_unused(m, report);
}
