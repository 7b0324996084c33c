/* SPDX-License-Identifier: MIT
 *
 * What is left to do once a driver has filled a model: names are indexed and must differ, stand-ins
 * are replaced by what they stand for, hyperparameters are found. */
#include "model/model_internal.h"
#include "model/names.h"
#include "model/stand_in.h"

static tare_status name_fault(tare_model *m, tare_error *err, const char *what, size_t i) {
    const tare_tensor *t = &m->catalog.tensors[i];
    tare_fail_at(err, TARE_ERR_CORRUPT, t->offset, what);
    tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, t->name);
    tare_error_file(err, tare_model_record_file(m, t->planes[0].file));
    return TARE_ERR_CORRUPT;
}

/* What a tensor is made of, the first of it; NULL: nothing of another model. */
static const tare_tensor *made_of(const tare_model *m, size_t i) {
    const tare_composition *of = m->made_of ? &m->made_of[i] : NULL;
    if (!of || !of->n_pieces || of->pieces[0].source >= m->made_of_model->catalog.n_tensors)
        return NULL;
    return &m->made_of_model->catalog.tensors[of->pieces[0].source];
}

static tare_status fail_twice(tare_model *m, size_t first, size_t second, tare_error *err) {
    const tare_tensor *a = made_of(m, first), *b = made_of(m, second);
    if (!a || !b) return name_fault(m, err, "duplicate tensor name", second);
    tare_fail(err, TARE_ERR_CORRUPT, "both would be one tensor of the output");
    tare_error_item(err, TARE_ITEM_TENSOR, -1, b->name);
    tare_error_detail(err, "%.*s", (int)a->name.len, a->name.ptr);
    return TARE_ERR_CORRUPT;
}

static tare_status index_tensors(tare_model *m, tare_error *err) {
    tare_catalog *c = &m->catalog;
    TARE_TRY(tare_name_index_init(&m->tensor_index, &m->arena, c->n_tensors, err));
    for (size_t i = 0; i < c->n_tensors; i++) {
        const int64_t first =
            tare_name_index_add(&m->tensor_index, c->tensors, sizeof *c->tensors, i, NULL);
        if (first >= 0) return fail_twice(m, (size_t)first, i, err);
    }
    return TARE_OK;
}

static bool same_space(const void *a, const void *b) {
    return ((const tare_metadata *)a)->space == ((const tare_metadata *)b)->space;
}

static tare_status key_fault(const tare_metadata *e, tare_error *err, const char *what, size_t i) {
    tare_fail_at(err, TARE_ERR_CORRUPT, e->offset, what);
    tare_error_item(err, TARE_ITEM_KEY, (int64_t)i, e->key);
    return TARE_ERR_CORRUPT;
}

/* A key may occur once in each space. MODEL keys are entered first, so lookups find them first. An
 * empty key is a fault among MODEL keys only: in the other spaces it is a string like any. */
tare_status tare_model_index_keys(tare_model *m, tare_arena *arena, tare_error *err) {
    tare_catalog *c = &m->catalog;
    TARE_TRY(tare_name_index_init(&m->key_index, arena, c->n_metadata, err));
    for (int others = 0; others < 2; others++) {
        for (size_t i = 0; i < c->n_metadata; i++) {
            const tare_metadata *e = &c->metadata[i];
            if ((e->space != TARE_KEYS_MODEL) != others) continue;
            if (e->key.len == 0 && !others) return key_fault(e, err, "empty key", i);
            if (tare_name_index_add(&m->key_index, c->metadata, sizeof *e, i, same_space) >= 0)
                return key_fault(e, err, "duplicate key", i);
        }
    }
    return TARE_OK;
}

static tare_status index_resources(tare_model *m, tare_error *err) {
    tare_catalog *c = &m->catalog;
    tare_status s =
        tare_name_index_build(&m->resource_index, &m->arena, c->resources, c->n_resources,
                              sizeof *c->resources, "duplicate resource name", err);
    if (s == TARE_ERR_CORRUPT && err)
        tare_error_item(err, TARE_ITEM_RESOURCE, err->item,
                        c->resources[(size_t)err->item].info.name);
    return s;
}

tare_status tare_model_finish(tare_model *m, tare_report *report, tare_error *err) {
    /* The record of stand-ins changes names, so it is read before they are indexed. */
    TARE_TRY(tare_stand_in_restore(m, report, err));
    TARE_TRY(index_tensors(m, err));
    TARE_TRY(tare_model_index_keys(m, &m->arena, err));
    TARE_TRY(index_resources(m, err));
    TARE_TRY(tare_model_expect_records(m, err));
    tare_model_note_summary(m);
    return tare_model_read_config(m, report, err);
}
