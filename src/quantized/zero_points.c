/* SPDX-License-Identifier: MIT
 *
 * Zero points that are not what the settings say, or cannot be what was meant, and what no settings
 * tell, or none that are known. */
#include "base/arith.h"
#include "base/bytes.h"
#include "base/report.h"
#include "quantized/quantized.h"
#include "quantized/search.h"
#include "quantized/weights.h"

/* What is seen of the zero points of a weight. */
typedef struct seen {
    bool is_one;       /* all are the same */
    float zero;        /* as it is stored: the first */
    uint64_t n_over;   /* that are one more than any code */
    bool is_unordered; /* the group of each column is stated, and is 0 for all of them */
} seen;

static tare_status look(seen *out, const tare_weight *w, const tare_model *stored,
                        tare_error *err) {
    const uint64_t at_once = 64;
    const float top = (float)(1u << w->bits);
    *out = (seen){.is_one = true};
    for (uint64_t first = 0; first < w->n_rows; first += at_once) {
        const uint64_t n = w->n_rows - first < at_once ? w->n_rows - first : at_once;
        tare_weight plain = *w;
        tare_weight_scales s;
        plain.is_symmetric = false;
        TARE_TRY(tare_weight_scales_read(&s, &plain, stored, first, n, err));
        if (first == 0) out->zero = s.zero[0] - (float)w->adds_one;
        out->is_unordered = w->parts[TARE_PART_INDEX] >= 0 && !s.group;
        for (uint64_t i = 0; i < s.n; i++) {
            out->is_one = out->is_one && s.zero[i] - (float)w->adds_one == out->zero;
            out->n_over += s.zero[i] == top;
        }
        tare_weight_scales_free(&s);
    }
    return TARE_OK;
}

tare_status tare_quantized_check(const tare_model *m, tare_report *report, tare_error *err) {
    const struct tare_packed_weights *p = m->packed;
    size_t n_contradicted = 0, n_wrapped = 0, n_assumed = 0, n_unordered = 0;
    for (size_t i = 0; p && i < p->n; i++) {
        const tare_weight *w = &p->weights[i];
        seen s;
        if (w->order != TARE_ORDER_DOWN) n_assumed += w->is_assumed;
        if (w->order != TARE_ORDER_DOWN) continue;
        TARE_TRY(look(&s, w, p->stored, err));
        const float middle = (float)(1u << (w->bits - 1));
        const bool is_middle = s.is_one && (s.zero == middle || s.zero == middle - 1);
        n_assumed += w->is_assumed && !is_middle;
        n_contradicted += w->is_symmetric && s.is_one && s.zero == middle - (w->adds_one ? 0 : 1);
        n_wrapped += s.n_over > 0;
        n_unordered += s.is_unordered;
    }
    if (n_contradicted) {
        const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "gptq.zero-points");
        tare_report_addf(report, &f,
                         "the zero points of %zu weights are not stored as checkpoint_format says: "
                         "the weights are symmetric (sym), and theirs are the middle of the codes",
                         n_contradicted);
    }
    if (n_assumed) {
        const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "packed.assumed");
        tare_report_addf(
            report, &f,
            "no settings (config.json) say how %zu packed weights are stored: zero points "
            "are read as GPTQ's first version has them, less 1, and BitNet's factor "
            "divides",
            n_assumed);
    }
    if (p && p->n && p->unknown_method.len) {
        const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "packed.assumed");
        tare_report_addf(report, &f,
                         "quant_method: tare does not know '%.*s': %zu packed weights are read by "
                         "the form of their tensors",
                         (int)tare_min_u64(p->unknown_method.len, 60), p->unknown_method.ptr, p->n);
    }
    if (n_unordered) {
        const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "gptq.no-order");
        tare_report_addf(report, &f,
                         "g_idx of %zu weights says that all columns are of the first group: they "
                         "are read as groups that follow each other",
                         n_unordered);
    }
    if (n_wrapped) {
        const tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "gptq.zero-wrapped");
        tare_report_addf(report, &f,
                         "zero points of %zu weights are one more than the largest code: makers of "
                         "such files may have meant 0",
                         n_wrapped);
    }
    return TARE_OK;
}
