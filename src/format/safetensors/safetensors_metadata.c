/* SPDX-License-Identifier: MIT
 *
 * The __metadata__ of safetensors files: pairs of strings. A set of shards usually repeats its
 * pairs in each file, so equal pairs are taken once, and the first of differing ones wins. Two keys
 * are ours: tare.metadata holds typed keys, tare.resources holds side files (docs/behaviour.md). A
 * text under these names that is not of our form stays a plain pair. Behind them stands what
 * transformers asks of every __metadata__, "format": it is ours there, too. */
#include "base/json.h"
#include "base/report.h"
#include "base/str.h"
#include "format/safetensors/safetensors.h"
#include "model/names.h"

typedef struct pair {
    tare_str name; /* first: an index over names reads it */
    tare_json_value key, value;
    size_t shard;
    size_t last_shard; /* the last one that repeats it */
    bool is_dropped;   /* an earlier shard has it */
    bool is_ours;      /* expanded */
} pair;

typedef struct pair_list {
    tare_model *m;
    tare_safetensors_layout *layout;
    tare_report *report;
    tare_arena scratch;
    pair *pairs;
    size_t n;
    tare_metadata *typed; /* what tare.metadata holds */
    size_t n_typed;
} pair_list;

/* ---- collecting ------------------------------------------------------------------------------ */

static bool take_pairs(pair_list *l, tare_json *j, size_t shard) {
    tare_json_value key, value;
    while (tare_json_key(j, &key) != TARE_JSON_END) {
        tare_json_next(j, &value);
        tare_str name = tare_json_text(&key, &l->m->arena);
        if (!name.ptr) return tare_json_fail(j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "metadata");
        if (name.len > l->m->limits.name_bytes) {
            return tare_json_fail(j, TARE_ERR_LIMIT, key.offset, "key length");
        }
        l->pairs[l->n++] = (pair){name, key, value, shard, shard, false, false};
    }
    return true;
}

/* The header has already been validated as JSON and its pairs counted. */
static tare_status collect(pair_list *l, size_t shard, tare_error *err) {
    const tare_safetensors_shard *s = &l->layout->shards[shard];
    tare_json j;
    tare_json_value key, value;
    tare_json_init(&j, s->header, s->data_offset - s->header.len, l->m->limits.nesting);
    tare_json_begin(&j, &value);
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        tare_json_next(&j, &value);
        if (s->has_pairs && tare_json_is(&key, TARE_SAFETENSORS_METADATA)) {
            take_pairs(l, &j, shard);
            break;
        }
        tare_json_skip(&j, &value, NULL);
    }
    return tare_json_status(&j, err);
}

/* ---- one list of all shards ------------------------------------------------------------------ */

static void note(const pair_list *l, const pair *p, const char *code, const char *text) {
    tare_finding finding = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, code);
    finding.item_kind = TARE_ITEM_KEY;
    finding.item_name = p->name;
    finding.offset = p->key.offset;
    if (l->layout->n_shards > 1) {
        finding.file = tare_str_of(l->m->files[l->layout->shards[p->shard].file].name);
    }
    finding.text = tare_str_of(text);
    tare_report_add(l->report, &finding);
}

static tare_status fail_pair(const pair_list *l, const pair *p, tare_status status,
                             const char *what, tare_error *err) {
    tare_fail_at(err, status, p->key.offset, what);
    tare_error_item(err, TARE_ITEM_KEY, p - l->pairs, p->name);
    if (l->layout->n_shards > 1) {
        tare_error_file(err, l->m->files[l->layout->shards[p->shard].file].name);
    }
    return status;
}

/* Drops what earlier shards have already; a name twice in one file is a fault. */
static tare_status merge(pair_list *l, tare_error *err) {
    tare_name_index index;
    TARE_TRY(tare_name_index_init(&index, &l->scratch, l->n, err));
    for (size_t i = 0; i < l->n; i++) {
        pair *p = &l->pairs[i];
        int64_t at = tare_name_index_add(&index, l->pairs, sizeof *l->pairs, i, NULL);
        if (at < 0) continue;
        pair *first = &l->pairs[at];
        if (first->last_shard == p->shard) {
            return fail_pair(l, p, TARE_ERR_CORRUPT, TARE_SAFETENSORS_METADATA ": duplicate key",
                             err);
        }
        first->last_shard = p->shard;
        p->is_dropped = true;
        if (!tare_str_equal(p->value.raw, first->value.raw)) {
            note(l, p, "safetensors.metadata-differs", "shards disagree; the first one's is taken");
        }
    }
    return TARE_OK;
}

/* Expands a pair of ours; a text of another form leaves it a plain pair. */
static tare_status expand(pair_list *l, pair *p, tare_error *err) {
    bool is_typed = tare_str_is(p->name, TARE_SAFETENSORS_TYPED_KEY);
    if (!is_typed && !tare_str_is(p->name, TARE_SAFETENSORS_RESOURCES_KEY)) return TARE_OK;
    tare_model *m = l->m;
    tare_str text = tare_json_text(&p->value, &m->arena); /* the typed values point into it */
    if (!text.ptr) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    tare_error inner = TARE_ERROR_NONE;
    tare_status status =
        is_typed
            ? tare_metadata_from_json(&l->typed, &l->n_typed, text, &m->arena, &m->limits, &inner)
            : tare_resources_from_json(&m->catalog.resources, &m->catalog.n_resources, text,
                                       &m->arena, &inner);
    if (status == TARE_ERR_CORRUPT) {
        note(l, p, "safetensors.not-our-record", inner.what);
        return TARE_OK;
    }
    if (status != TARE_OK) return fail_pair(l, p, status, inner.what, err);
    p->is_ours = true;
    *(is_typed ? &l->layout->typed_shard : &l->layout->resources_shard) = p->shard;
    return TARE_OK;
}

/* The "format" that was written because ours were: it is no key of the model. */
static bool is_our_format(const pair *p, const pair *before) {
    return before->is_ours && before->shard == p->shard &&
           tare_str_is(p->name, TARE_SAFETENSORS_FORMAT_KEY) &&
           tare_json_is(&p->value, TARE_SAFETENSORS_FORMAT);
}

static tare_status add_plain(pair_list *l, const pair *p, tare_error *err) {
    tare_str text = tare_json_text(&p->value, &l->m->arena);
    if (!text.ptr) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    l->m->catalog.metadata[l->m->catalog.n_metadata++] = (tare_metadata){
        .key = p->name,
        .value = {.type = TARE_VALUE_STRING, .as = {.s = text}},
        .space = TARE_KEYS_SAFETENSORS,
        .offset = p->key.offset,
    };
    return TARE_OK;
}

/* The catalog's list: pairs in the files' order, the typed keys where their record stands. */
static tare_status join(pair_list *l, tare_error *err) {
    tare_catalog *c = &l->m->catalog;
    if (l->n_typed > l->m->limits.keys || l->n > l->m->limits.keys - l->n_typed) {
        return tare_fail_at(err, TARE_ERR_LIMIT, l->pairs[0].key.offset, "number of keys");
    }
    c->metadata = TARE_NEW_ARRAY(&l->m->arena, tare_metadata, l->n + l->n_typed);
    if (!c->metadata) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    for (size_t i = 0; i < l->n; i++) {
        const pair *p = &l->pairs[i];
        if (p->is_dropped) continue;
        if (!p->is_ours) {
            TARE_TRY(add_plain(l, p, err));
            continue;
        }
        bool is_typed = tare_str_is(p->name, TARE_SAFETENSORS_TYPED_KEY);
        for (size_t k = 0; is_typed && k < l->n_typed; k++) {
            l->typed[k].offset = p->key.offset;
            c->metadata[c->n_metadata++] = l->typed[k];
        }
    }
    return TARE_OK;
}

static tare_status read_pairs(pair_list *l, tare_error *err) {
    size_t n = 0;
    for (size_t i = 0; i < l->layout->n_shards; i++) {
        const tare_safetensors_shard *shard = &l->layout->shards[i];
        n += shard->n_pairs;
        if (shard->has_pairs && !shard->n_pairs) l->m->catalog.has_pairs = true;
    }
    if (n == 0) return TARE_OK;
    l->pairs = TARE_NEW_ARRAY(&l->scratch, pair, n);
    if (!l->pairs) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    for (size_t i = 0; i < l->layout->n_shards; i++) TARE_TRY(collect(l, i, err));
    TARE_TRY(merge(l, err));
    for (size_t i = 0; i < n; i++) {
        if (l->pairs[i].is_dropped) continue;
        TARE_TRY(expand(l, &l->pairs[i], err));
        if (i > 0 && is_our_format(&l->pairs[i], &l->pairs[i - 1])) l->pairs[i].is_ours = true;
    }
    return join(l, err);
}

tare_status tare_safetensors_read_metadata(tare_model *m, tare_safetensors_layout *layout,
                                           tare_report *report, tare_error *err) {
    pair_list l = {.m = m, .layout = layout, .report = report};
    layout->typed_shard = layout->resources_shard = layout->n_shards;
    tare_arena_init(&l.scratch, m->allocator);
    tare_status status = read_pairs(&l, err);
    tare_arena_free(&l.scratch);
    return status;
}
