/* SPDX-License-Identifier: MIT
 *
 * Adapters of an INFQ package: a name, a rank, a scale (ours; 1 where there is none) and two
 * entries A and B that each describe a tensor as those of the base do. The factors are the tensors
 * of a second model next to the package's own, over the same files. */
#include "format/infq/infq_adapters.h"

#include "base/arith.h"
#include "base/str.h"

typedef enum field { NAME, RANK, FACTOR_A, FACTOR_B, SCALE, FIELDS } field;

static const char *const names[FIELDS] = {"name", "rank", "A", "B", "scale"};

static field find_field(const tare_json_value *key) {
    int f = 0;
    while (f < FIELDS && !tare_json_is(key, names[f])) f++;
    return (field)f;
}

bool tare_infq_is_adapter_field(const tare_json_value *key) {
    return find_field(key) < FIELDS;
}

typedef struct entry {
    tare_infq_value fields[FIELDS];
    tare_infq_place place;
    tare_str text;
} entry;

static bool wrong(tare_infq_reader *r, const entry *e, field f, const char *what) {
    r->field = names[f];
    return tare_infq_fail(r, &e->fields[f].v, what);
}

static bool take_fields(tare_infq_reader *r, const tare_json_value *object, entry *e) {
    tare_json_value key;
    if (object->type != TARE_JSON_OBJECT) return tare_infq_fail(r, object, "expected an object");
    while (tare_json_key(&r->j, &key) != TARE_JSON_END) {
        field f = find_field(&key);
        if (f < FIELDS)
            tare_infq_take(r, &e->fields[f], &key);
        else
            tare_infq_pass(r);
    }
    if (r->j.err.status != TARE_OK) return false;
    e->text = (tare_str){object->raw.ptr, (size_t)(r->j.pos - object->raw.ptr)};
    for (int f = 0; f < SCALE; f++) {
        if (e->fields[f].v.type != TARE_JSON_END) continue;
        r->field = names[f];
        return tare_infq_fail(r, object, "missing");
    }
    return true;
}

static bool read_fields(tare_infq_reader *r, const entry *e, tare_adapter *a) {
    const tare_json_value *name = &e->fields[NAME].v, *scale = &e->fields[SCALE].v;
    if (name->type != TARE_JSON_STRING) return wrong(r, e, NAME, "expected a string");
    a->name = tare_json_text(name, &r->m->arena);
    if (!a->name.ptr) return tare_json_fail(&r->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "name");
    if (a->name.len == 0) return wrong(r, e, NAME, "expected a name with letters");
    if (a->name.len > r->m->limits.name_bytes) {
        r->field = names[NAME];
        return tare_json_fail(&r->j, TARE_ERR_LIMIT, name->offset, "length of an adapter's name");
    }
    if (!tare_json_u64(&e->fields[RANK].v, &a->rank) || a->rank == 0 || a->rank > TARE_INFQ_MOST)
        return wrong(r, e, RANK, "expected a whole number from 1 to 2^53");
    a->scale = 1;
    if (scale->type == TARE_JSON_END || tare_json_f64(scale, &a->scale)) return true;
    return wrong(r, e, SCALE, "expected a finite number");
}

/* One of the two factors; the field of its entry that must equal the rank. */
static tare_status read_factor(tare_infq_reader *r, const entry *e, field which,
                               const tare_adapter *a, tare_tensor *t, tare_str *text,
                               const tare_stated_digest **digest, tare_error *err) {
    const bool is_left = which == FACTOR_A;
    const tare_infq_field rank_field = is_left ? TARE_INFQ_COLS : TARE_INFQ_ROWS;
    const tare_infq_place place = {
        .list = e->place.list, .index = e->place.index, .part = names[which]};
    tare_infq_entry factor;
    tare_json outer = r->j;
    tare_infq_begin(r, &e->fields[which]);
    tare_status status =
        tare_infq_read_quantized(r, &e->fields[which].v, &place, false, t, &factor, err);
    r->j = outer;
    if (status != TARE_OK) return status;
    *text = factor.text;
    *digest = factor.sha256;
    if ((is_left ? t->cols : t->n_rows) != a->rank) {
        status = tare_fail_at(err, TARE_ERR_CORRUPT, factor.fields[rank_field].v.offset,
                              "expected the adapter's rank");
        tare_infq_error_field(err, &place, tare_infq_field_names[rank_field]);
    }
    if (status != TARE_OK || t->name.len > 0) return status;
    /* A factor may lack a name; it gets its adapter's. */
    char *name = tare_arena_take(&r->m->arena, a->name.len + 3);
    if (!name) return tare_fail(err, TARE_ERR_NOMEM, "name");
    memcpy(name, a->name.ptr, a->name.len);
    memcpy(name + a->name.len, is_left ? ".A" : ".B", 3);
    t->name = (tare_str){name, a->name.len + 2};
    return TARE_OK;
}

static tare_status read_adapter(tare_infq_reader *r, const tare_json_value *object, size_t i,
                                tare_adapter *a, tare_tensor *factors,
                                const tare_stated_digest **digests, tare_error *err) {
    entry e = {.place = {.list = "adapters", .index = i}};
    tare_infq_layout *l = r->layout;
    r->field = NULL;
    if (!take_fields(r, object, &e) || !read_fields(r, &e, a)) {
        tare_status status = tare_json_status(&r->j, err);
        tare_infq_error_field(err, &e.place, r->field);
        return status;
    }
    l->adapters[i] = e.text;
    const size_t left = 2 * i, right = left + 1;
    a->a = &factors[left];
    a->b = &factors[right];
    TARE_TRY(
        read_factor(r, &e, FACTOR_A, a, &factors[left], &l->factors[left], &digests[left], err));
    TARE_TRY(
        read_factor(r, &e, FACTOR_B, a, &factors[right], &l->factors[right], &digests[right], err));
    tare_status status = tare_adapter_measure(a, err);
    if (status != TARE_OK) {
        if (err) err->offset = object->offset;
        tare_infq_error_field(err, &e.place, NULL);
    }
    return status;
}

static tare_status check_names(tare_infq_reader *r, const tare_adapter_set *set, tare_error *err) {
    tare_name_index index;
    tare_error fault = TARE_ERROR_NONE;
    tare_status status = tare_name_index_build(&index, &r->m->arena, set->adapters, set->n,
                                               sizeof *set->adapters, "duplicate name", &fault);
    if (status == TARE_OK) return TARE_OK;
    if (err) *err = fault;
    if (err && status == TARE_ERR_CORRUPT) {
        const size_t i = (size_t)fault.item;
        const tare_infq_place place = {.list = "adapters", .index = i};
        err->item = -1;
        err->offset = (uint64_t)(r->layout->adapters[i].ptr - r->layout->manifest.ptr);
        tare_infq_error_field(err, &place, names[NAME]);
        tare_error_item(err, TARE_ITEM_ADAPTER, (int64_t)i, set->adapters[i].name);
    }
    return status;
}

tare_status tare_infq_read_adapters(tare_infq_reader *r, const tare_infq_value *array, size_t n,
                                    tare_error *err) {
    tare_json_value v;
    tare_arena *arena = &r->m->arena;
    if (n == 0) return TARE_OK;
    tare_adapter_set *set = TARE_NEW(arena, tare_adapter_set);
    tare_model *factors = TARE_NEW(arena, tare_model);
    tare_tensor *tensors = TARE_NEW_ARRAY(arena, tare_tensor, 2 * (uint64_t)n);
    tare_adapter *adapters = TARE_NEW_ARRAY(arena, tare_adapter, n);
    const tare_stated_digest **digests =
        TARE_NEW_ARRAY(arena, const tare_stated_digest *, 2 * (uint64_t)n);
    r->layout->adapters = TARE_NEW_ARRAY(arena, tare_str, n);
    r->layout->factors = TARE_NEW_ARRAY(arena, tare_str, 2 * (uint64_t)n);
    if (!set || !factors || !tensors || !adapters || !digests || !r->layout->adapters ||
        !r->layout->factors)
        return tare_fail(err, TARE_ERR_NOMEM, "adapters");
    factors->catalog = (tare_catalog){.tensors = tensors, .n_tensors = 2 * n, .digests = digests};
    *set = (tare_adapter_set){.factors = factors, .path = r->directory, .adapters = adapters};
    tare_infq_begin(r, array);
    for (; tare_json_next(&r->j, &v) != TARE_JSON_END; set->n++) {
        tare_status status = read_adapter(r, &v, set->n, &adapters[set->n], tensors, digests, err);
        if (status != TARE_OK) {
            tare_error_item(err, TARE_ITEM_ADAPTER, (int64_t)set->n, adapters[set->n].name);
            return status;
        }
    }
    TARE_TRY(tare_json_status(&r->j, err));
    r->m->adapters = set;
    return check_names(r, set, err);
}

void tare_infq_finish_adapters(tare_model *m) {
    if (!m->adapters) return;
    tare_model *factors = (tare_model *)(uintptr_t)m->adapters->factors;
    const tare_catalog catalog = factors->catalog;
    *factors = (tare_model){.format = m->format,
                            .allocator = m->allocator,
                            .limits = m->limits,
                            .catalog = catalog,
                            .files = m->files,
                            .n_files = m->n_files,
                            .directory_file = m->directory_file};
}
