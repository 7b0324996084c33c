/* SPDX-License-Identifier: MIT
 *
 * Layers that predict more tokens (MTP, NextN): how many a model has, and whether they are written with
 * the others, left out, or written alone: with the embeddings, the last norm and the head, a draft for
 * the model. */
#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"

void tare_llama_add_fact(tare_llama_mapping *m, const char *name, double number) {
    size_t i = 0; /* there is room for all, and for their end */
    while (m->facts[i].name && strcmp(m->facts[i].name, name) != 0) i++;
    m->facts[i] = (tare_llama_binding){name, number};
}

/* Many a model that was trained further has lost them, and its config.json still counts them. */
double tare_llama_nextn_layers(const tare_llama_mapping *m) {
    const tare_catalog *c = &m->hf->catalog;
    int64_t most = -1, first, last;
    if (!m->arch->nextn) return 0;
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (!tare_llama_contains(c->tensors[i].name, m->arch->nextn)) continue;
        tare_llama_numbers_of(c->tensors[i].name, &first, &last);
        most = first > most ? first : most;
    }
    return most < 1000000 ? (double)(most + 1) : 0;
}

/* How many blocks beyond `n_layers` the tensors are of. */
static double extra_layers(const tare_llama_mapping *m, double n_layers) {
    const tare_catalog *c = &m->hf->catalog;
    double n = tare_llama_nextn_layers(m);
    int64_t first, last;
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (tare_llama_is_left_out(c->tensors[i].name)) continue;
        tare_llama_numbers_of(c->tensors[i].name, &first, &last);
        if ((double)first >= n_layers + n) n = (double)first + 1 - n_layers;
    }
    return n;
}

/* They are lost when a model is saved by what does not know them, and still counted in its
 * config.json. */
static tare_status correct_count(tare_llama_mapping *m, double n_layers, double *extra,
                                 tare_error *err) {
    TARE_TRY(tare_llama_number(extra, m, m->arch->extra_layers, 0, err));
    const double n = m->is_rehearsal ? *extra : extra_layers(m, n_layers);
    if (!(n < *extra)) return TARE_OK;
    tare_finding f = TARE_FINDING(WARNING, TARE_OK, "llama.nextn-gone");
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item_name = TARE_STR("config.json");
    tare_report_addf(m->options->context->report, &f,
                     "it counts %.0f multi-token prediction (MTP) layers, and there are tensors of "
                     "%.0f: the latter is written",
                     *extra, n);
    tare_llama_add_fact(m, m->arch->extra_layers, n);
    *extra = n;
    return TARE_OK;
}

/* llama.cpp's file has as many blocks as its keys count. */
static void leave_uncounted(tare_llama_mapping *m) {
    const double n = m->is_rehearsal ? 0 : tare_llama_nextn_layers(m);
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "llama.nextn-uncounted");
    if (!(n > 0)) return;
    m->nextn = TARE_LLAMA_NEXTN_LEFT_OUT;
    m->n_left_layers = (uint64_t)n;
    if (m->options->nextn == TARE_LLAMA_NEXTN_LEFT_OUT) return;
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item_name = TARE_STR("config.json");
    tare_report_addf(m->options->context->report, &f,
                     "it counts no multi-token prediction (MTP) layers, and there are tensors of "
                     "them: they are left out");
}

static void note_apart(const tare_llama_mapping *m) {
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "llama.nextn-apart");
    f.text = TARE_STR("llama.cpp has multi-token prediction (MTP) layers of this architecture in a "
                      "file of their own: they are left out, and `mtp` writes it");
    tare_report_add(m->options->context->report, &f);
}

/* What a row names that has no member of config.json for them. */
static const char beyond[] = "blocks_beyond";

tare_status tare_llama_count_extra_layers(tare_llama_mapping *m, double n_layers, double *extra,
                                          tare_error *err) {
    const tare_llama_nextn asked = m->options->nextn;
    const bool is_apart = asked == TARE_LLAMA_NEXTN_TOO && m->arch->nextn_apart;
    *extra = 0;
    if (m->arch->extra_layers && strcmp(m->arch->extra_layers, beyond) == 0)
        tare_llama_add_fact(m, beyond, extra_layers(m, n_layers));
    m->nextn = is_apart ? TARE_LLAMA_NEXTN_LEFT_OUT : asked;
    if (m->arch->extra_layers)
        TARE_TRY(correct_count(m, n_layers, extra, err));
    else if (asked != TARE_LLAMA_NEXTN_TOO)
        return tare_fail(
            err, TARE_ERR_UNSUPPORTED,
            "llama.cpp does not support multi-token prediction (MTP) layers in this architecture");
    if (asked == TARE_LLAMA_NEXTN_ALONE && !(*extra > 0))
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "the model has no multi-token prediction (MTP) layers");
    if (m->arch->extra_layers && *extra == 0) leave_uncounted(m);
    if (m->nextn != TARE_LLAMA_NEXTN_LEFT_OUT || !(*extra > 0 && *extra < 1e6)) return TARE_OK;
    if (is_apart) note_apart(m);
    m->n_left_layers = (uint64_t)*extra;
    tare_llama_add_fact(m, m->arch->extra_layers, 0);
    *extra = 0;
    return TARE_OK;
}

bool tare_llama_is_beside(const tare_llama_mapping *m, tare_str target, int64_t layer) {
    const int64_t n = (int64_t)(m->n_layers - m->n_extra_layers);
    if (m->nextn == TARE_LLAMA_NEXTN_LEFT_OUT)
        return layer >= n && layer < n + (int64_t)m->n_left_layers;
    return m->nextn == TARE_LLAMA_NEXTN_ALONE && layer < n &&
           !tare_llama_is_one_of(target, "token_embd.weight output_norm.weight output.weight");
}

tare_status tare_llama_is_unwanted(bool *out, const tare_llama_mapping *m, size_t tensor,
                                   tare_error *err) {
    tare_arena *arena = &m->out->arena;
    int64_t layer, number;
    tare_str target;
    *out = false;
    if (m->nextn == TARE_LLAMA_NEXTN_TOO) return TARE_OK;
    const tare_str name = tare_llama_normal_name(m, tare_llama_source_name(m, tensor));
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    tare_llama_numbers_of(name, &layer, &number);
    TARE_TRY(tare_llama_names_find(&target, &m->names, name, arena, err));
    *out = tare_llama_is_beside(m, target, layer);
    return TARE_OK;
}
