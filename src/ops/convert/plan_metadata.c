/* SPDX-License-Identifier: MIT
 *
 * Metadata that depends on what becomes of the tensors; all other keys are copied unchanged:
 * docs/behaviour.md, "Conversion". */
#include <string.h>

#include "base/report.h"
#include "base/str.h"
#include "ops/convert/plan.h"

#define FILE_TYPE            "general.file_type"
#define QUANTIZATION_VERSION "general.quantization_version"
#define QUANTIZATION_NOW     2 /* of ggml's block formats */
#define ADDED_KEYS           3 /* the file type, this version, the record of carried tensors */

/* The encoding of most matrix elements. */
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

static tare_metadata u32_key(const char *key, uint64_t number) {
    return (tare_metadata){.key = tare_str_of(key),
                           .value = {.type = TARE_VALUE_U32, .as.u = number},
                           .space = TARE_KEYS_MODEL,
                           .offset = TARE_NO_OFFSET};
}

static tare_finding key_finding(const char *code, tare_str key) {
    tare_finding f = TARE_FINDING(INFO, TARE_OK, code);
    f.item_kind = TARE_ITEM_KEY;
    f.item_name = key;
    return f;
}

/* The mix that the types are chosen by; NULL: there is none. */
static const tare_mix *mix_of(const tare_plan *p) {
    return p->mix.mix && p->mix.mix->type ? p->mix.mix : NULL;
}

/* The type requested for all tensors of a mapped model, which may be so small that few of them have
 * it. */
static const tare_encoding *type_for_all(const tare_plan *p) {
    if (p->options.type) return p->options.type;
    return p->in->types->mostly ? p->in->types->mostly : p->in->types->usual;
}

/* Keeps general.file_type correct; false: the key is dropped, as it would be wrong, or types were
 * chosen one by one. For the mixes
 * Q3_K to Q5_K it is that of the S variant. */
static bool keep_file_type(const tare_plan *p, tare_metadata *m) {
    const tare_encoding *type = p->in->types ? type_for_all(p) : most_used(p);
    const tare_mix *mix = mix_of(p) ? mix_of(p) : tare_mix_mostly(type);
    tare_finding f = key_finding("convert.file-type", m->key);
    if (p->mix.is_of_rules) return false;
    if (!mix) {
        tare_report_addf(p->options.context->report, &f,
                         "left out: no file type number stands for the new types");
        return false;
    }
    *m = u32_key(FILE_TYPE, (uint64_t)mix->file_type);
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
    return tare_stand_in_record(&c->metadata[c->n_metadata++], becomes, stored, n, &p->arena, err);
}

/* All keys as they were, or as edited, with the record of stand-ins in its place. */
static void keep_all(tare_plan *p) {
    const tare_metadata *from = p->changes ? p->changes->metadata : p->in->catalog.metadata;
    const size_t n = p->changes ? p->changes->n_metadata : p->in->catalog.n_metadata;
    const size_t place = p->in->stand_ins_at < n ? p->in->stand_ins_at : n;
    tare_catalog *c = &p->catalog;
    for (size_t i = 0; i <= n; i++) {
        if (p->in->carried && p->is_identity && i == place)
            c->metadata[c->n_metadata++] = *p->in->carried;
        if (i < n) c->metadata[c->n_metadata++] = from[i];
    }
}

/* ---- keys of the model ----------------------------------------------------------------------- */

static tare_metadata *find_key(const tare_plan *p, tare_str key) {
    for (size_t i = 0; i < p->catalog.n_metadata; i++) {
        tare_metadata *m = &p->catalog.metadata[i];
        if (m->space == TARE_KEYS_MODEL && tare_str_equal(m->key, key)) return m;
    }
    return NULL;
}

/* In its old place, or at the end. */
static void set_key(tare_plan *p, const tare_metadata *m) {
    tare_metadata *old = find_key(p, m->key);
    *(old ? old : &p->catalog.metadata[p->catalog.n_metadata++]) = *m;
}

static void copy_keys(tare_plan *p, bool recodes) {
    const tare_catalog *in = &p->in->catalog;
    bool had_split = false;
    for (size_t i = 0; i < in->n_metadata; i++) {
        tare_metadata m = in->metadata[i];
        had_split |= tare_metadata_is_split(&m);
        if (tare_metadata_is_split(&m) || tare_metadata_is_spare(&m)) continue;
        if (recodes && m.space == TARE_KEYS_MODEL && tare_str_is(m.key, FILE_TYPE) &&
            !keep_file_type(p, &m))
            continue;
        p->catalog.metadata[p->catalog.n_metadata++] = m;
    }
    if (!had_split) return;
    tare_finding f = key_finding("convert.split-keys-dropped", TARE_STR("split.*"));
    tare_report_addf(p->options.context->report, &f,
                     "left out: they describe how the input was split");
}

/* The keys that the caller sets; their texts are copied, since the caller owns them. */
static tare_status override_keys(tare_plan *p, tare_error *err) {
    for (size_t i = 0; i < p->options.n_overrides; i++) {
        tare_metadata m = p->options.overrides[i];
        bool is_text = m.value.type == TARE_VALUE_STRING;
        if (m.key.len == 0 || m.value.type == TARE_VALUE_ARRAY)
            return tare_fail(err, TARE_ERR_ARG, "an override sets a key to a number, bool or text");
        m.key = tare_arena_str(&p->arena, m.key);
        if (is_text) m.value.as.s = tare_arena_str(&p->arena, m.value.as.s);
        if (!m.key.ptr || (is_text && !m.value.as.s.ptr))
            return tare_fail(err, TARE_ERR_NOMEM, "metadata");
        m.space = TARE_KEYS_MODEL;
        m.offset = TARE_NO_OFFSET;
        set_key(p, &m);
    }
    return TARE_OK;
}

tare_status tare_plan_metadata(tare_plan *plan, tare_error *err) {
    tare_catalog *c = &plan->catalog;
    const tare_mix *mix = plan->format->stored.keys == TARE_KEY_FORM_TYPED ? mix_of(plan) : NULL;
    bool recodes = mix_of(plan) || plan->in->types, has_blocks = mix != NULL;
    for (size_t i = 0; i < c->n_tensors; i++) {
        if (!tare_planned_is_made(&plan->tensors[i])) continue;
        recodes = true;
        const tare_encoding *e = plan->tensors[i].becomes->encoding;
        has_blocks |= e->kind == TARE_KIND_BLOCK && e->n_planes == 1; /* one of ggml's */
    }
    c->metadata =
        TARE_NEW_ARRAY(&plan->arena, tare_metadata,
                       (plan->changes ? plan->changes->n_metadata : plan->in->catalog.n_metadata) +
                           ADDED_KEYS + plan->options.n_overrides);
    if (!c->metadata) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    c->has_pairs = plan->in->catalog.has_pairs;
    if (plan->is_identity || plan->changes) {
        keep_all(plan);
        return plan->is_identity ? TARE_OK : add_record(plan, err);
    }
    copy_keys(plan, recodes);
    const tare_metadata version = u32_key(QUANTIZATION_VERSION, QUANTIZATION_NOW);
    if (plan->format->write.restate)
        plan->format->write.restate(c);
    else if (has_blocks && !find_key(plan, version.key))
        set_key(plan, &version);
    if (mix && !plan->mix.is_of_rules) {
        const tare_metadata file_type = u32_key(FILE_TYPE, (uint64_t)mix->file_type);
        set_key(plan, &file_type);
    }
    TARE_TRY(override_keys(plan, err));
    return add_record(plan, err);
}
