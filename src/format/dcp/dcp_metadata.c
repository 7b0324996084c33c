/* SPDX-License-Identifier: MIT
 *
 * The pickle .metadata: an object of the class Metadata, whose state_dict_metadata has a description of
 * each value and whose storage_data says where each part of it is. */
#include "base/str.h"
#include "format/dcp/dcp.h"
#include "model/names.h"

#define CLASSES "torch.distributed.checkpoint.metadata"

static tare_status wrong(const tare_pickle_value *v, const char *what, tare_error *err) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, v->offset, what);
}

static bool is_text(const tare_pickle_value *v) {
    return v && (v->kind == TARE_PICKLE_TEXT || v->kind == TARE_PICKLE_BYTES);
}

/* What an object has set in itself; NULL: nothing of the name. */
static const tare_pickle_value *attribute(const tare_pickle_value *v, const char *name) {
    const bool has_state =
        v && v->kind == TARE_PICKLE_CALL && v->as.object->more && v->as.object->more->has_state;
    return has_state ? tare_pickle_find(&v->as.object->more->state, name) : NULL;
}

/* Whether v is an object of this class. */
static bool is_a(const tare_pickle_value *v, const char *class) {
    const tare_pickle_object *callee = tare_pickle_callee(v);
    return callee && tare_str_is(tare_pickle_module(callee), CLASSES) &&
           tare_str_is(tare_pickle_name(callee), class);
}

static bool whole(const tare_pickle_value *v, uint64_t *out) {
    if (!v || v->kind != TARE_PICKLE_INT || v->as.i < 0) return false;
    *out = (uint64_t)v->as.i;
    return true;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* (dtype, layout, requires_grad, memory format, pinned, strides), or, of earlier versions, by names. */
static const tare_pickle_value *dtype_of(const tare_pickle_value *properties) {
    const bool has_state = properties && properties->kind == TARE_PICKLE_CALL &&
                           properties->as.object->more && properties->as.object->more->has_state;
    if (!has_state) return NULL;
    const tare_pickle_value *state = &properties->as.object->more->state;
    return state->kind == TARE_PICKLE_TUPLE ? tare_pickle_item(state, 0)
                                            : tare_pickle_find(state, "dtype");
}

void tare_dcp_add_box(tare_dcp_boxes *to, const tare_dcp *d, const uint64_t *at,
                      const uint64_t *dims, size_t n_dims) {
    uint64_t box[2 * TARE_MAX_DIMS];
    memcpy(box, at, n_dims * sizeof *box);
    memcpy(box + n_dims, dims, n_dims * sizeof *box);
    to->n++;
    to->sum += tare_str_hash((tare_str){(const char *)box, 2 * n_dims * sizeof *box}, &d->key);
}

static tare_status read_boxes(tare_dcp_boxes *out, const tare_dcp *d, const tare_pickle_list *list,
                              size_t n_dims, tare_error *err) {
    for (size_t i = 0; i < list->n; i++) {
        uint64_t at[TARE_MAX_DIMS], dims[TARE_MAX_DIMS];
        size_t n_at, n;
        if (!tare_torch_read_dims(at, &n_at, attribute(&list->items[i], "offsets")) ||
            !tare_torch_read_dims(dims, &n, attribute(&list->items[i], "sizes")) ||
            n_at != n_dims || n != n_dims)
            return wrong(&list->items[i],
                         "a chunk: offsets and sizes: not as many whole numbers as the tensor has "
                         "dimensions",
                         err);
        tare_dcp_add_box(out, d, at, dims, n);
    }
    return TARE_OK;
}

static tare_status read_tensor(tare_dcp *d, tare_str name, const tare_pickle_value *v,
                               tare_error *err) {
    tare_joined_tensor *t = &d->tensors[d->n_tensors];
    const tare_pickle_value *chunks = attribute(v, "chunks");
    const tare_torch_dtype *type = tare_torch_dtype_of(dtype_of(attribute(v, "properties")));
    size_t n_dims;
    if (!type) return wrong(v, "tensor: its type is not known", err);
    if (type->encoding == TARE_ENCODING_UNKNOWN)
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, v->offset,
                            "tensor: its numbers are of a type that tare does not have");
    if (!tare_torch_read_dims(t->dims, &n_dims, attribute(v, "size")))
        return wrong(v, "tensor: its size is not of whole numbers", err);
    if (n_dims > TARE_MAX_DIMS)
        return tare_fail_at(err, TARE_ERR_LIMIT, v->offset, "number of dimensions");
    if (!chunks || chunks->kind != TARE_PICKLE_LIST)
        return wrong(v, "tensor: no list of chunks", err);
    t->name = tare_arena_str(&d->m->arena, name);
    if (!t->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor names");
    t->encoding = tare_encoding_get(type->encoding);
    t->n_dims = (uint32_t)n_dims;
    t->record = v->offset;
    return read_boxes(&d->listed[d->n_tensors++], d, &chunks->as.object->items, n_dims, err);
}

static tare_status read_values(tare_dcp *d, const tare_pickle_value *values, tare_error *err) {
    const tare_pickle_list *pairs = &values->as.object->items;
    if (pairs->n / 2 > d->m->limits.tensors)
        return tare_fail_at(err, TARE_ERR_LIMIT, values->offset, "number of tensors");
    d->tensors = TARE_NEW_ARRAY(&d->m->arena, tare_joined_tensor, pairs->n / 2);
    d->listed = TARE_NEW_ARRAY(&d->scratch, tare_dcp_boxes, pairs->n / 2);
    d->stored = TARE_NEW_ARRAY(&d->scratch, tare_dcp_boxes, pairs->n / 2);
    d->values = TARE_NEW_ARRAY(&d->scratch, tare_str, pairs->n / 2);
    d->key = tare_hash_key_new();
    if (!d->tensors || !d->listed || !d->stored || !d->values)
        return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i + 1 < pairs->n; i += 2) {
        const tare_pickle_value *key = &pairs->items[i], *v = &pairs->items[i + 1];
        if (!is_text(key)) return wrong(key, "state_dict_metadata: a name expected", err);
        tare_status status = TARE_OK;
        if (is_a(v, "TensorStorageMetadata"))
            status = read_tensor(d, key->as.s, v, err);
        else if (is_a(v, "BytesStorageMetadata"))
            d->values[d->n_values++] = key->as.s;
        else
            status = tare_fail_at(err, TARE_ERR_UNSUPPORTED, v->offset,
                                  "state_dict_metadata: neither a tensor nor bytes");
        if (status != TARE_OK) tare_error_item(err, TARE_ITEM_TENSOR, -1, key->as.s);
        TARE_TRY(status);
    }
    return TARE_OK;
}

/* ---- where they are -------------------------------------------------------------------------- */

static tare_status read_place(tare_dcp_entry *e, const tare_dcp *d, const tare_pickle_value *v,
                              tare_error *err) {
    const tare_pickle_value *path = attribute(v, "relative_path"),
                            *through = attribute(v, "transform_descriptors");
    if (!is_text(path) || !tare_is_inner_path(path->as.s))
        return wrong(v, "storage_data: relative_path: a file of the folder expected", err);
    if (!whole(attribute(v, "offset"), &e->offset) || !whole(attribute(v, "length"), &e->length))
        return wrong(v, "storage_data: offset and length: whole numbers expected", err);
    if (through && through->kind != TARE_PICKLE_NONE &&
        (through->kind != TARE_PICKLE_LIST || through->as.object->items.n))
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, v->offset,
                            "storage_data: a chunk that an extension has transformed, such as by "
                            "compression: save it without extensions");
    e->file = tare_arena_str(&d->m->arena, path->as.s);
    return e->file.ptr ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "names of files");
}

/* MetadataIndex(fqn, offset, index). */
static tare_status read_key(tare_dcp_entry *e, const tare_dcp *d, const tare_name_index *names,
                            const tare_pickle_value *key, tare_error *err) {
    const tare_pickle_value *name = attribute(key, "fqn"), *at = attribute(key, "offset");
    size_t n_dims = 0;
    if (!is_a(key, "MetadataIndex") || !is_text(name))
        return wrong(key, "storage_data: a MetadataIndex with a name expected", err);
    const int64_t of = tare_name_index_find(names, d->tensors, sizeof *d->tensors, name->as.s);
    *e = (tare_dcp_entry){.name = tare_arena_str(&d->m->arena, name->as.s),
                          .of = of < 0 ? TARE_NOT_A_CHUNK : (size_t)of,
                          .record = key->offset};
    if (!e->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor names");
    if (of < 0) return TARE_OK;
    if (!tare_torch_read_dims(e->at, &n_dims, at) || n_dims != d->tensors[of].n_dims)
        return wrong(key,
                     "storage_data: the offset of a chunk: not as many whole numbers as its "
                     "tensor has dimensions",
                     err);
    return TARE_OK;
}

/* What no name of state_dict_metadata leads to, which torch never loads; said once of chunks that follow
 * each other. */
static tare_status leave_unlisted(const tare_dcp *d, tare_torch_file *f, const tare_dcp_entry *e,
                                  tare_str *last, tare_error *err) {
    const bool is_said = last->ptr && tare_str_equal(*last, e->name);
    *last = e->name;
    if (is_said) return TARE_OK;
    return tare_dcp_leave_out(d, f, e, TARE_LEVEL_ERROR, "dcp.unlisted",
                              "storage_data has it, and state_dict_metadata does not", err);
}

static tare_status read_storage(tare_dcp *d, tare_torch_file *f, const tare_pickle_value *storage,
                                tare_error *err) {
    const tare_pickle_list *pairs = &storage->as.object->items;
    tare_name_index names, values;
    tare_str last = {NULL, 0};
    d->entries = TARE_NEW_ARRAY(&d->scratch, tare_dcp_entry, pairs->n / 2);
    if (!d->entries) return tare_fail(err, TARE_ERR_NOMEM, "chunks");
    TARE_TRY(tare_name_index_build(&names, &d->scratch, d->tensors, d->n_tensors,
                                   sizeof *d->tensors, "state_dict_metadata: a name twice", err));
    TARE_TRY(tare_name_index_build(&values, &d->scratch, d->values, d->n_values, sizeof *d->values,
                                   "state_dict_metadata: a name twice", err));
    for (size_t i = 0; i + 1 < pairs->n; i += 2) {
        tare_dcp_entry *e = &d->entries[d->n_entries];
        TARE_TRY(read_key(e, d, &names, &pairs->items[i], err));
        TARE_TRY(read_place(e, d, &pairs->items[i + 1], err));
        if (e->of == TARE_NOT_A_CHUNK &&
            tare_name_index_find(&values, d->values, sizeof *d->values, e->name) < 0)
            TARE_TRY(leave_unlisted(d, f, e, &last, err));
        else
            d->n_entries++;
    }
    return TARE_OK;
}

tare_status tare_dcp_read_metadata(tare_dcp *d, tare_torch_file *f, tare_error *err) {
    const tare_pickle_value *root = &f->pickle.root,
                            *values = attribute(root, "state_dict_metadata"),
                            *storage = attribute(root, "storage_data");
    if (!is_a(root, "Metadata"))
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, root->offset,
                            "a pickle that is not a Metadata of torch.distributed.checkpoint");
    if (!values || values->kind != TARE_PICKLE_DICT)
        return wrong(root, "state_dict_metadata: a dict expected", err);
    if (!storage || storage->kind != TARE_PICKLE_DICT)
        return wrong(root, "storage_data: a dict expected", err);
    TARE_TRY(read_values(d, values, err));
    TARE_TRY(read_storage(d, f, storage, err));
    return tare_torch_report_names(f, err);
}
