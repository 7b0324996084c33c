/* SPDX-License-Identifier: MIT
 *
 * Metadata that depends on what becomes of the tensors; all other keys go across as they are:
 * docs/behaviour.md, "Conversion". */
#include <string.h>

#include "base/report.h"
#include "base/str.h"
#include "ops/plan.h"

#define FILE_TYPE            "general.file_type"
#define QUANTIZATION_VERSION "general.quantization_version"
#define QUANTIZATION_NOW     2 /* of ggml's block formats */
#define ADDED_KEYS           2 /* the quantization version, the record of carried tensors */

static bool is_recoded(const tare_planned *t) {
    return t->action == TARE_ACTION_ENCODE || t->action == TARE_ACTION_LOSSY;
}

/* How a shard set was cut says nothing about the model that is written. */
static bool is_split_key(const tare_metadata *m) {
    return m->space == TARE_KEYS_MODEL &&
           (tare_str_is(m->key, "split.no") || tare_str_is(m->key, "split.count") ||
            tare_str_is(m->key, "split.tensors.count"));
}

/* llama.cpp's number for "mostly this type"; -1: it has none. Of the mixes Q3_K to Q5_K it is the S
 * one, which strays least from a single type. */
static int file_type_of(const tare_encoding *e) {
    static const struct {
        tare_encoding_id id;
        int number;
    } numbers[] = {
        {TARE_ENCODING_F32, 0},      {TARE_ENCODING_F16, 1},     {TARE_ENCODING_Q4_0, 2},
        {TARE_ENCODING_Q4_1, 3},     {TARE_ENCODING_Q8_0, 7},    {TARE_ENCODING_Q5_0, 8},
        {TARE_ENCODING_Q5_1, 9},     {TARE_ENCODING_Q2_K, 10},   {TARE_ENCODING_Q3_K, 11},
        {TARE_ENCODING_Q4_K, 14},    {TARE_ENCODING_Q5_K, 16},   {TARE_ENCODING_Q6_K, 18},
        {TARE_ENCODING_IQ2_XXS, 19}, {TARE_ENCODING_IQ2_XS, 20}, {TARE_ENCODING_IQ3_XXS, 23},
        {TARE_ENCODING_IQ1_S, 24},   {TARE_ENCODING_IQ4_NL, 25}, {TARE_ENCODING_IQ3_S, 26},
        {TARE_ENCODING_IQ2_S, 28},   {TARE_ENCODING_IQ4_XS, 30}, {TARE_ENCODING_IQ1_M, 31},
        {TARE_ENCODING_BF16, 32},    {TARE_ENCODING_TQ1_0, 36},  {TARE_ENCODING_TQ2_0, 37},
        {TARE_ENCODING_MXFP4, 38},   {TARE_ENCODING_NVFP4, 39},  {TARE_ENCODING_Q1_0, 40},
        {TARE_ENCODING_Q2_0, 41},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].id == e->id) return numbers[i].number;
    return -1;
}

/* The encoding that most elements of matrices have. */
static const tare_encoding *most_used(const tare_plan *p) {
    uint64_t elements[TARE_ENCODING_COUNT] = {0};
    size_t best = TARE_ENCODING_UNKNOWN;
    for (size_t i = 0; i < p->catalog.n_tensors; i++) {
        const tare_tensor *t = p->tensors[i].becomes;
        if (t->n_dims < 2) continue;
        elements[t->encoding->id] += t->n_elements;
        if (elements[t->encoding->id] > elements[best]) best = t->encoding->id;
    }
    return tare_encoding_get((tare_encoding_id)best);
}

static tare_finding key_finding(const char *code, tare_str key) {
    tare_finding f = TARE_FINDING(INFO, TARE_OK, code);
    f.item_kind = TARE_ITEM_KEY;
    f.item_name = key;
    return f;
}

/* Keeps general.file_type true; false: the key goes, for it would not be. */
static bool keep_file_type(const tare_plan *p, tare_metadata *m) {
    int number = file_type_of(most_used(p));
    tare_finding f = key_finding("convert.file-type", m->key);
    if (number < 0) {
        tare_report_addf(p->options.report, &f, "left out: no number says what the types are now");
        return false;
    }
    m->value = (tare_value){.type = TARE_VALUE_U32, .as.u = (uint64_t)number};
    m->offset = TARE_NO_OFFSET;
    return true;
}

static tare_status add_record(tare_plan *p, tare_error *err) {
    tare_catalog *c = &p->catalog;
    const tare_tensor **becomes = TARE_NEW_ARRAY(&p->arena, const tare_tensor *, c->n_tensors);
    const tare_tensor **stored = TARE_NEW_ARRAY(&p->arena, const tare_tensor *, c->n_tensors);
    size_t n = 0;
    if (!becomes || !stored) return tare_fail(err, TARE_ERR_NOMEM, "record of carried tensors");
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (!p->tensors[i].is_carried) continue;
        becomes[n] = p->tensors[i].becomes;
        stored[n++] = &c->tensors[i];
    }
    if (n == 0) return TARE_OK;
    return tare_carry_record(&c->metadata[c->n_metadata++], becomes, stored, n, &p->arena, err);
}

/* All as it was; the record of stand-ins in its place. */
static void keep_all(tare_plan *p) {
    const tare_catalog *in = &p->in->catalog;
    tare_catalog *c = &p->catalog;
    for (size_t i = 0; i <= in->n_metadata; i++) {
        if (p->in->carried && i == p->in->carried_at)
            c->metadata[c->n_metadata++] = *p->in->carried;
        if (i < in->n_metadata) c->metadata[c->n_metadata++] = in->metadata[i];
    }
}

tare_status tare_plan_metadata(tare_plan *plan, tare_error *err) {
    const tare_catalog *in = &plan->in->catalog;
    tare_catalog *c = &plan->catalog;
    bool recodes = false, has_new_blocks = false, has_version = false, had_split = false;
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (!is_recoded(&plan->tensors[i])) continue;
        recodes = true;
        has_new_blocks |= plan->tensors[i].becomes->encoding->kind == TARE_KIND_BLOCK;
    }
    c->metadata = TARE_NEW_ARRAY(&plan->arena, tare_metadata, in->n_metadata + ADDED_KEYS);
    if (!c->metadata) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    if (plan->is_identity) {
        keep_all(plan);
        return TARE_OK;
    }
    for (size_t i = 0; i < in->n_metadata; i++) {
        tare_metadata m = in->metadata[i];
        bool is_model = m.space == TARE_KEYS_MODEL;
        if (is_split_key(&m)) {
            had_split = true;
            continue;
        }
        if (recodes && is_model && tare_str_is(m.key, FILE_TYPE) && !keep_file_type(plan, &m))
            continue;
        has_version |= is_model && tare_str_is(m.key, QUANTIZATION_VERSION);
        c->metadata[c->n_metadata++] = m;
    }
    if (has_new_blocks && !has_version)
        c->metadata[c->n_metadata++] =
            (tare_metadata){.key = TARE_STR(QUANTIZATION_VERSION),
                            .value = {.type = TARE_VALUE_U32, .as.u = QUANTIZATION_NOW},
                            .space = TARE_KEYS_MODEL,
                            .offset = TARE_NO_OFFSET};
    if (had_split) {
        tare_finding f = key_finding("convert.split-keys-dropped", TARE_STR("split.*"));
        tare_report_addf(plan->options.report, &f, "left out: they tell how the input was split");
    }
    return add_record(plan, err);
}
