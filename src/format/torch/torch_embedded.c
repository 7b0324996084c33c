/* SPDX-License-Identifier: MIT
 *
 * Tensors that were pickled by Python itself, not by torch.save: each storage is a call of
 * torch.storage._load_from_bytes, whose argument is a file of the legacy form with that storage alone.
 * What else such bytes may be is a pickle that Python would load, too. */
#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "format/torch/torch.h"

static bool is_text(const tare_pickle_value *v) {
    return v && (v->kind == TARE_PICKLE_TEXT || v->kind == TARE_PICKLE_BYTES);
}

static bool whole(const tare_pickle_value *v, uint64_t *out) {
    if (!v || v->kind != TARE_PICKLE_INT || v->as.i < 0) return false;
    *out = (uint64_t)v->as.i;
    return true;
}

const tare_pickle_value *tare_torch_storage_id(const tare_pickle_value *v) {
    if (!v || v->kind != TARE_PICKLE_PERSISTENT) return NULL;
    const tare_pickle_value *id = &v->as.object->items.items[0];
    const tare_pickle_value *word = tare_pickle_item(id, 0);
    return is_text(word) && tare_str_is(word->as.s, "storage") ? id : NULL;
}

/* 0x1950a86a20f9469cfc6c, least byte first. */
static const uint8_t legacy_magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};

bool tare_torch_is_legacy(const tare_pickle *first) {
    return first->root.kind == TARE_PICKLE_LONG &&
           (tare_str_equal(first->root.as.s,
                           (tare_str){(const char *)legacy_magic, sizeof legacy_magic}) ||
            tare_str_is(first->root.as.s, TARE_TORCH_LEGACY_TEXT));
}

/* Magic, version, facts of the system, the storage, its key, the number of its elements, these. */
enum { MAGIC, VERSION, SYSTEM, OBJECT, KEYS, N_PICKLES };

/* Moves *at behind the pickles. False: they are not these, or would import something. */
static bool read_pickles(tare_pickle part[N_PICKLES], tare_torch_file *f, tare_str bytes,
                         uint64_t *at) {
    for (int k = 0; k < N_PICKLES; k++) {
        const tare_status status =
            tare_pickle_read(&part[k], tare_str_cut(bytes, (size_t)*at), *at, &f->scratch, NULL);
        f->lacks_memory |= status == TARE_ERR_NOMEM;
        if (status != TARE_OK || !tare_torch_is_harmless(&part[k])) return false;
        *at = part[k].end;
    }
    return tare_torch_is_legacy(&part[MAGIC]) && part[VERSION].root.kind == TARE_PICKLE_INT &&
           part[VERSION].root.as.i == 1001;
}

/* `offset` of *out is in the bytes. False: they are no storage. */
static bool read_storage(tare_torch_embedded *out, tare_torch_file *f, tare_str bytes) {
    tare_pickle part[N_PICKLES];
    uint64_t at = 0, n, from = 0, size, end;
    if (!read_pickles(part, f, bytes, &at)) return false;
    const tare_pickle_value *id = tare_torch_storage_id(&part[OBJECT].root),
                            *key = tare_pickle_item(id, 2), *view = tare_pickle_item(id, 5),
                            *listed = tare_pickle_item(&part[KEYS].root, 0);
    out->type = tare_torch_dtype_of(tare_pickle_item(id, 1));
    if (!out->type || !is_text(key) || !is_text(listed) ||
        !tare_str_equal(key->as.s, listed->as.s) || tare_pickle_item(&part[KEYS].root, 1) ||
        !whole(tare_pickle_item(id, 4), &n) || bytes.len - at < 8)
        return false;
    if (view && view->kind != TARE_PICKLE_NONE &&
        (!whole(tare_pickle_item(view, 1), &from) || !whole(tare_pickle_item(view, 2), &n)))
        return false;
    const uint64_t there = tare_load_le64((const uint8_t *)bytes.ptr + at);
    at += 8;
    if (!tare_mul_u64(there, out->type->bytes, &size) || size > bytes.len - at ||
        !tare_add_u64(from, n, &end) || end > there)
        return false;
    out->storage =
        (tare_torch_storage){.offset = at + from * out->type->bytes, .size = n * out->type->bytes};
    return true;
}

static bool read_call(tare_torch_embedded *out, tare_torch_file *f, const tare_pickle_value *v) {
    tare_str bytes;
    uint64_t offset;
    if (!tare_torch_bytes(&bytes, f, tare_pickle_argument(v, 0)) || f->is_big_endian ||
        !read_storage(out, f, bytes))
        return false;
    if (tare_torch_is_in_file(&offset, f, bytes)) {
        out->storage.offset += offset;
    } else {
        out->storage.made = (const uint8_t *)bytes.ptr + out->storage.offset;
        out->storage.offset = 0;
    }
    return true;
}

/* The bytes that a call gives, as the pickle has them: itself, or in a call that makes them of a text. */
static size_t given_bytes(const tare_pickle_value *v) {
    const tare_pickle_value *bytes = tare_pickle_argument(v, 0);
    if (bytes && bytes->kind == TARE_PICKLE_CALL) bytes = tare_pickle_argument(bytes, 0);
    return is_text(bytes) ? bytes->as.s.len : 0;
}

/* Python writes each storage's bytes once; a text of protocol 0 is up to twice as long as in the file. */
static tare_status take_bytes(size_t *left, const tare_pickle_value *v, tare_error *err) {
    const size_t n = given_bytes(v);
    if (n > *left)
        return tare_fail_at(err, TARE_ERR_LIMIT, v->offset,
                            "storages: the same bytes are loaded too often");
    *left -= n;
    return TARE_OK;
}

tare_status tare_torch_read_embedded(tare_torch_file *f, tare_error *err) {
    const tare_pickle *p = &f->pickle;
    size_t n = 0, left = p->text.len < SIZE_MAX / 2 ? 2 * p->text.len : SIZE_MAX;
    f->n_embedded = 0;
    f->has_other_loads = false;
    for (size_t i = 0; i < p->n_calls; i++)
        n += tare_torch_is_load(tare_pickle_callee(&p->calls[i]));
    f->embedded = TARE_NEW_ARRAY(&f->scratch, tare_torch_embedded, n);
    if (!f->embedded) return tare_fail(err, TARE_ERR_NOMEM, "storages");
    for (size_t i = 0; i < p->n_calls; i++) {
        const tare_pickle_value *v = &p->calls[i];
        if (!tare_torch_is_load(tare_pickle_callee(v))) continue;
        TARE_TRY(take_bytes(&left, v, err));
        if (read_call(&f->embedded[f->n_embedded], f, v))
            v->as.object->label = ++f->n_embedded;
        else
            f->has_other_loads = true;
        if (f->lacks_memory) return tare_fail(err, TARE_ERR_NOMEM, "storages");
    }
    return TARE_OK;
}
