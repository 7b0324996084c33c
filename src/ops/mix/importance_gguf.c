/* SPDX-License-Identifier: MIT
 *
 * The GGUF form of llama.cpp's importance matrices: for each tensor NAME.in_sum2, sums of squares,
 * one row a slice, and NAME.counts, one number a slice, both F32. Sums without squares, NAME.in_sum
 * of newer versions, are left alone. */
#include <math.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/report.h"
#include "base/str.h"
#include "model/names.h"
#include "ops/mix/importance_matrix.h"

#define SUMS   ".in_sum2"
#define COUNTS ".counts"

static tare_status corrupt(const tare_model *model, size_t i, const char *what, tare_error *err) {
    const tare_tensor *t = &model->catalog.tensors[i];
    tare_fail_tensor(err, TARE_ERR_CORRUPT, t, i, what);
    if (err) err->offset = t->offset;
    return TARE_ERR_CORRUPT;
}

/* The name with another ending; false: too long to be a tensor's name. */
static bool with_ending(char *buf, size_t size, tare_str *out, tare_str stem, const char *ending) {
    size_t n = strlen(ending);
    if (stem.len + n > size) return false;
    memcpy(buf, stem.ptr, stem.len);
    memcpy(buf + stem.len, ending, n);
    *out = (tare_str){buf, stem.len + n};
    return true;
}

static int64_t find_partner(const tare_model *model, tare_str stem, const char *ending, char *buf,
                            size_t size) {
    tare_str name;
    return with_ending(buf, size, &name, stem, ending) ? tare_model_find_tensor(model, name) : -1;
}

/* A tensor's floats, all in memory; *out lives as long as the arena. */
static tare_status read_floats(float **out, const tare_model *model, size_t i, tare_arena *arena,
                               tare_error *err) {
    const tare_tensor *t = &model->catalog.tensors[i];
    if (t->encoding->id != TARE_ENCODING_F32 || t->n_elements == 0)
        return corrupt(model, i, "importance matrix: expected F32 and at least one value", err);
    TARE_TRY(tare_tensor_check_data(model, i, err));
    float *values = TARE_NEW_ARRAY(arena, float, t->n_elements);
    if (!values) return tare_fail(err, TARE_ERR_NOMEM, "importance matrix");
    TARE_TRY(tare_tensor_read(values, model, i, 0, 0, (size_t)t->size_bytes, err));
    for (uint64_t k = 0; k < t->n_elements; k++) {
        uint32_t bits = tare_load_le32(&values[k]);
        memcpy(&values[k], &bits, sizeof bits);
    }
    *out = values;
    return TARE_OK;
}

static void note_unmeasured(const tare_importance *m, const tare_importance_entry *entry,
                            uint64_t n) {
    tare_finding f = TARE_FINDING(WARNING, TARE_OK, "importance.unmeasured");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item_name = entry->name;
    tare_report_addf(m->report, &f,
                     "importance matrix: nothing was measured for %llu of %llu matrices: they are "
                     "encoded as without importance",
                     (unsigned long long)n, (unsigned long long)entry->n_slices);
}

/* Sums to means, slice by slice. llama.cpp rounds the counts, which are whole numbers. */
static tare_status divide(const tare_importance *m, const tare_importance_entry *entry, float *sums,
                          float *counts, const tare_model *model, size_t counts_tensor,
                          tare_error *err) {
    uint64_t cols = entry->n_values / entry->n_slices, n_unmeasured = 0;
    for (uint64_t s = 0; s < entry->n_slices; s++) {
        if (!isfinite(counts[s]))
            return corrupt(model, counts_tensor, "importance matrix: count is not finite", err);
        counts[s] = fmaxf(roundf(counts[s]), 0);
        n_unmeasured += counts[s] == 0;
        for (uint64_t i = s * cols; i < (s + 1) * cols; i++)
            sums[i] = counts[s] > 0 ? sums[i] / counts[s] : 1;
    }
    if (n_unmeasured) note_unmeasured(m, entry, n_unmeasured);
    return TARE_OK;
}

static tare_status read_entry(tare_importance *m, const tare_model *model, size_t sums,
                              size_t counts, tare_str name, tare_error *err) {
    const tare_tensor *s = &model->catalog.tensors[sums], *c = &model->catalog.tensors[counts];
    tare_importance_entry *entry = &m->entries[m->n_entries];
    float *values, *numbers;
    uint64_t bad;
    *entry = (tare_importance_entry){.name = tare_arena_str(&m->arena, name),
                                     .n_values = s->n_elements,
                                     .n_slices = c->n_elements};
    if (!entry->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "importance matrix");
    TARE_TRY(read_floats(&values, model, sums, &m->arena, err));
    TARE_TRY(read_floats(&numbers, model, counts, &m->arena, err));
    if (s->n_elements % c->n_elements != 0)
        return corrupt(model, counts,
                       "importance matrix: the sums are not a whole number of slices", err);
    entry->values = values;
    if (!tare_importance_check(m, entry, &bad))
        return corrupt(model, sums, "importance matrix: value is not finite, or beyond 1e30", err);
    TARE_TRY(divide(m, entry, values, numbers, model, counts, err));
    const bool is_there = !tare_model_is_big_endian(model) && s->planes[0].file == 0;
    m->origins[m->n_entries] = (tare_importance_origin){
        values, is_there ? entry->n_values : 0, s->planes[0].offset, numbers, entry->n_slices};
    tare_name_index_add(&m->index, m->entries, sizeof *m->entries, m->n_entries++, NULL);
    return TARE_OK;
}

/* ---- metadata -------------------------------------------------------------------------------- */

static bool find_value(const tare_value **out, const tare_model *model, const char *key) {
    int64_t i = tare_model_find_key(model, tare_str_of(key));
    if (i >= 0) *out = &tare_model_metadata(model, (size_t)i)->value;
    return i >= 0;
}

static tare_status read_datasets(tare_importance *m, const tare_array *names, tare_error *err) {
    tare_array_walk walk;
    tare_value value;
    m->datasets = TARE_NEW_ARRAY(&m->arena, tare_str, names->count);
    if (!m->datasets) return tare_fail(err, TARE_ERR_NOMEM, "importance matrix");
    tare_array_begin(&walk, names);
    while (tare_array_next(&value, &walk)) {
        tare_str copy = tare_arena_str(&m->arena, value.as.s);
        if (!copy.ptr) return tare_fail(err, TARE_ERR_NOMEM, "importance matrix");
        m->datasets[m->n_datasets++] = copy;
    }
    return TARE_OK;
}

static tare_status read_metadata(tare_importance *m, const tare_model *model, tare_error *err) {
    const tare_value *v;
    bool has_chunks =
        find_value(&v, model, "imatrix.chunk_count") && tare_value_u64(&m->n_chunks, v);
    bool has_size =
        find_value(&v, model, "imatrix.chunk_size") && tare_value_u64(&m->chunk_size, v);
    bool has_datasets = find_value(&v, model, "imatrix.datasets") && v->type == TARE_VALUE_ARRAY &&
                        v->as.a.type == TARE_VALUE_STRING;
    if (has_datasets) TARE_TRY(read_datasets(m, &v->as.a, err));
    if (has_chunks && has_size && has_datasets) return TARE_OK;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "importance.metadata");
    tare_report_addf(m->report, &f,
                     "the importance matrix does not say what it was measured on (imatrix.%s)",
                     !has_chunks ? "chunk_count"
                     : !has_size ? "chunk_size"
                                 : "datasets");
    return TARE_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static tare_status read_tensor(tare_importance *m, const tare_model *model, size_t i, char *buf,
                               size_t size, tare_error *err) {
    tare_str name = model->catalog.tensors[i].name;
    if (tare_str_ends(name, TARE_STR(SUMS))) {
        name.len -= strlen(SUMS);
        int64_t counts = find_partner(model, name, COUNTS, buf, size);
        if (counts < 0) return corrupt(model, i, "importance matrix: the sums have no counts", err);
        return read_entry(m, model, i, (size_t)counts, name, err);
    }
    if (!tare_str_ends(name, TARE_STR(COUNTS))) return TARE_OK;
    name.len -= strlen(COUNTS);
    if (find_partner(model, name, SUMS, buf, size) >= 0) return TARE_OK;
    return corrupt(model, i, "importance matrix: the counts have no sums", err);
}

tare_status tare_importance_read_gguf(tare_importance *m, const tare_model *model,
                                      tare_error *err) {
    size_t n = model->catalog.n_tensors, size = 0;
    for (size_t i = 0; i < n; i++)
        size = (size_t)tare_max_u64(size, model->catalog.tensors[i].name.len);
    size += sizeof SUMS + sizeof COUNTS;
    char *buf = tare_arena_take(&m->arena, size);
    m->entries = TARE_NEW_ARRAY(&m->arena, tare_importance_entry, n);
    m->origins = TARE_NEW_ARRAY(&m->arena, tare_importance_origin, n);
    if (!buf || !m->entries || !m->origins)
        return tare_fail(err, TARE_ERR_NOMEM, "importance matrix");
    TARE_TRY(tare_name_index_init(&m->index, &m->arena, n, err));
    for (size_t i = 0; i < n; i++) TARE_TRY(read_tensor(m, model, i, buf, size, err));
    if (m->n_entries == 0)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "not an importance matrix: it has no tensors NAME.in_sum2");
    return read_metadata(m, model, err);
}
