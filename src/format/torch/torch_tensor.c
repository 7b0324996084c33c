/* SPDX-License-Identifier: MIT
 *
 * Values of a pickle that are tensors: calls of the functions by which PyTorch rebuilds them, with a
 * storage, an offset, a size and strides; arrays of NumPy. */
#include "base/arith.h"
#include "base/str.h"
#include "format/torch/torch.h"

#define UTILS "torch._utils"

/* A parameter of a class of its own is three calls. */
enum { WRAPPERS_MOST = 8 };

static tare_torch_kind broken(const tare_pickle_value *v, tare_status status, const char *what,
                              tare_error *err) {
    tare_fail_at(err, status, v->offset, what);
    return TARE_TORCH_BROKEN;
}

static tare_torch_kind unread(const char **why, const char *what) {
    *why = what;
    return TARE_TORCH_UNREAD;
}

static bool is_text(const tare_pickle_value *v) {
    return v && (v->kind == TARE_PICKLE_TEXT || v->kind == TARE_PICKLE_BYTES);
}

static bool whole(const tare_pickle_value *v, uint64_t *out) {
    if (!v || v->kind != TARE_PICKLE_INT || v->as.i < 0) return false;
    *out = (uint64_t)v->as.i;
    return true;
}

/* ---- storages -------------------------------------------------------------------------------- */

/* An element's type, and where the storage lies in the file. */
static tare_torch_kind find_storage(tare_torch_storage *out, const tare_torch_dtype **type,
                                    tare_torch_file *f, const tare_pickle_value *v,
                                    tare_error *err) {
    const tare_pickle_value *id = tare_torch_storage_id(v), *key = tare_pickle_item(id, 2),
                            *view = tare_pickle_item(id, 5);
    uint64_t n, size, from = 0;
    const size_t label = v->kind == TARE_PICKLE_CALL ? v->as.object->label : 0;
    if (label) {
        *out = f->embedded[label - 1].storage;
        *type = f->embedded[label - 1].type;
        return TARE_TORCH_TENSOR;
    }
    if (!id) return broken(v, TARE_ERR_CORRUPT, "tensor: no storage", err);
    *type = tare_torch_dtype_of(tare_pickle_item(id, 1));
    if (!*type) return broken(v, TARE_ERR_UNSUPPORTED, "storage: its type is not known", err);
    if (!is_text(key)) return broken(v, TARE_ERR_CORRUPT, "storage: its key is not a text", err);
    if (!whole(tare_pickle_item(id, 4), &n))
        return broken(v, TARE_ERR_CORRUPT, "storage: its number of elements", err);
    const int64_t at =
        tare_name_index_find(&f->storage_index, f->storages, sizeof *f->storages, key->as.s);
    if (at < 0) return broken(v, TARE_ERR_CORRUPT, "storage: the file has no such data", err);
    if (view && view->kind != TARE_PICKLE_NONE &&
        (!whole(tare_pickle_item(view, 1), &from) || !whole(tare_pickle_item(view, 2), &n)))
        return broken(v, TARE_ERR_CORRUPT, "storage: a view of another", err);
    if (!tare_add_u64(from, n, &size) || !tare_mul_u64(size, (*type)->bytes, &size) ||
        size > f->storages[at].size)
        return broken(v, TARE_ERR_CORRUPT, "storage: more elements than the file has data for",
                      err);
    *out = (tare_torch_storage){key->as.s, f->storages[at].offset + from * (*type)->bytes,
                                n * (*type)->bytes, NULL};
    return TARE_TORCH_TENSOR;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

bool tare_torch_read_dims(uint64_t *dims, size_t *n, const tare_pickle_value *v) {
    const tare_pickle_object *callee = tare_pickle_callee(v);
    if (callee && tare_str_is(tare_pickle_name(callee), "Size")) v = tare_pickle_argument(v, 0);
    if (!v || (v->kind != TARE_PICKLE_TUPLE && v->kind != TARE_PICKLE_LIST)) return false;
    *n = v->as.object->items.n;
    for (size_t i = 0; i < *n && i < TARE_MAX_DIMS; i++)
        if (!whole(tare_pickle_item(v, i), &dims[i])) return false;
    return true;
}

/* v: offset (in elements), size and strides are its arguments 1, 2 and 3. */
static tare_torch_kind read_shape(tare_strided_tensor *t, const tare_torch_storage *storage,
                                  const tare_pickle_value *v, tare_error *err) {
    uint64_t offset, end;
    size_t n_dims, n_strides;
    if (!whole(tare_pickle_argument(v, 1), &offset))
        return broken(v, TARE_ERR_CORRUPT, "tensor: its offset is not a whole number", err);
    if (!tare_torch_read_dims(t->dims, &n_dims, tare_pickle_argument(v, 2)))
        return broken(v, TARE_ERR_CORRUPT, "tensor: its size is not of whole numbers", err);
    if (!tare_torch_read_dims(t->strides, &n_strides, tare_pickle_argument(v, 3)) ||
        n_strides != n_dims)
        return broken(v, TARE_ERR_CORRUPT, "tensor: its strides are not as many whole numbers",
                      err);
    if (n_dims > TARE_MAX_DIMS) return broken(v, TARE_ERR_LIMIT, "number of dimensions", err);
    t->n_dims = (uint32_t)n_dims;
    t->made = storage->made;
    if (!tare_strided_measure(t) || !tare_mul_u64(offset, t->bytes, &offset) ||
        !tare_add_u64(offset, t->span, &end))
        return broken(v, TARE_ERR_LIMIT, "tensor: size and strides overflow", err);
    if (t->span && end > storage->size)
        return broken(v, TARE_ERR_CORRUPT, "tensor: size and strides lead beyond its storage", err);
    if (!t->span) offset = 0;
    if (t->made)
        t->made += offset;
    else
        t->offset = storage->offset + offset;
    return TARE_TORCH_TENSOR;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Bits that make the values others than those that are stored: {"conj": True, "neg": True}. */
static bool has_bits(const tare_pickle_value *metadata) {
    static const char *const bits[] = {"conj", "neg"};
    for (size_t i = 0; i < 2; i++) {
        const tare_pickle_value *bit = tare_pickle_find(metadata, bits[i]);
        if (bit && (bit->kind != TARE_PICKLE_BOOL || bit->as.i)) return true;
    }
    return false;
}

static tare_torch_kind read_plain(tare_strided_tensor *t, const char **why, tare_torch_file *f,
                                  const tare_pickle_value *v, const tare_torch_dtype *type,
                                  const tare_pickle_value *metadata, tare_error *err) {
    const tare_pickle_value *storage_value = tare_pickle_argument(v, 0);
    const tare_torch_dtype *of_storage;
    tare_torch_storage storage;
    if (!storage_value) return broken(v, TARE_ERR_CORRUPT, "tensor: no storage", err);
    const tare_torch_kind kind = find_storage(&storage, &of_storage, f, storage_value, err);
    if (kind != TARE_TORCH_TENSOR) return kind;
    if (!type) type = of_storage;
    if (type->encoding == TARE_ENCODING_UNKNOWN)
        return unread(why, "a tensor of numbers of a type that tare does not have (complex128, "
                           "complex32, float4_e2m1fn_x2)");
    if (has_bits(metadata))
        return unread(why, "a tensor that is the conjugate or the negative of "
                           "what is stored");
    t->encoding = tare_encoding_get(type->encoding);
    t->bytes = type->bytes;
    return read_shape(t, &storage, v, err);
}

/* A bare storage, as a list of numbers. */
static tare_torch_kind read_storage(tare_strided_tensor *t, const char **why, tare_torch_file *f,
                                    const tare_pickle_value *v, tare_error *err) {
    const tare_torch_dtype *type;
    tare_torch_storage storage;
    const tare_torch_kind kind = find_storage(&storage, &type, f, v, err);
    if (kind != TARE_TORCH_TENSOR) return kind;
    if (type->encoding == TARE_ENCODING_UNKNOWN)
        return unread(why, "a storage of numbers of a type that tare does not have (complex128)");
    t->encoding = tare_encoding_get(type->encoding);
    t->bytes = type->bytes;
    t->n_dims = 1;
    t->strides[0] = 1;
    t->dims[0] = storage.size / type->bytes;
    t->offset = storage.made ? 0 : storage.offset;
    t->made = storage.made;
    t->span = storage.size;
    return TARE_TORCH_TENSOR;
}

/* (function, type, arguments, state): the tensor that the function makes, as another class. */
static tare_torch_kind read_typed(tare_strided_tensor *t, const char **why, tare_torch_file *f,
                                  const tare_pickle_value *v, tare_error *err) {
    const tare_pickle_value *function = tare_pickle_argument(v, 0),
                            *args = tare_pickle_argument(v, 2);
    if (!function || !args || function->kind != TARE_PICKLE_GLOBAL) return TARE_TORCH_OTHER;
    if (tare_str_is(tare_pickle_name(function->as.object), "_rebuild_from_type_v2"))
        return TARE_TORCH_OTHER; /* one level is all that PyTorch writes */
    tare_pickle_value items[2] = {*function, *args};
    tare_pickle_object made = {.items = {items, 2, 2}};
    const tare_pickle_value call = {
        .kind = TARE_PICKLE_CALL, .offset = v->offset, .as.object = &made};
    return tare_torch_classify(t, why, f, &call, err);
}

static const char *const not_read[][2] = {
    {"_rebuild_qtensor", "a quantized tensor: only its codes are read"},
    {"_rebuild_sparse_tensor", "a sparse tensor: only its parts are read"},
    {"_rebuild_sparse_csr_tensor", "a sparse tensor: only its parts are read"},
    {"_rebuild_nested_tensor", "a nested tensor: only its parts are read"},
    {"_rebuild_wrapper_subclass", "a tensor of a class of its own: only its parts are read"},
    {"_rebuild_meta_tensor_no_storage", "a tensor without data (on the device \"meta\")"},
    {"_rebuild_device_tensor_from_cpu_tensor", "a tensor of another device: only its parts are "
                                               "read"},
    {"_rebuild_device_tensor_from_numpy", "a tensor of another device: only its parts are read"},
};

static tare_torch_kind read_call(tare_strided_tensor *t, const char **why, tare_torch_file *f,
                                 const tare_pickle_value *v, const tare_pickle_object *callee,
                                 tare_error *err) {
    const tare_str module = tare_pickle_module(callee), name = tare_pickle_name(callee);
    if (tare_str_is(module, "torch._tensor") &&
        tare_str_starts(name, TARE_STR("_rebuild_from_type")))
        return read_typed(t, why, f, v, err);
    if (!tare_str_is(module, UTILS)) return tare_torch_classify_numpy(t, why, f, v, callee, err);
    if (tare_str_is(name, "_rebuild_tensor")) return read_plain(t, why, f, v, NULL, NULL, err);
    if (tare_str_is(name, "_rebuild_tensor_v2"))
        return read_plain(t, why, f, v, NULL, tare_pickle_argument(v, 6), err);
    if (tare_str_is(name, "_rebuild_tensor_v3")) {
        const tare_torch_dtype *type = tare_torch_dtype_of(tare_pickle_argument(v, 6));
        if (!type) return unread(why, "a tensor of an unknown type of numbers");
        return read_plain(t, why, f, v, type, tare_pickle_argument(v, 7), err);
    }
    if (tare_str_is(name, "_rebuild_parameter") ||
        tare_str_is(name, "_rebuild_parameter_with_state")) {
        const tare_pickle_value *data = tare_pickle_argument(v, 0);
        return data ? tare_torch_classify(t, why, f, data, err) : TARE_TORCH_OTHER;
    }
    for (size_t i = 0; i < sizeof not_read / sizeof *not_read; i++)
        if (tare_str_is(name, not_read[i][0])) return unread(why, not_read[i][1]);
    return TARE_TORCH_OTHER;
}

tare_torch_kind tare_torch_classify(tare_strided_tensor *out, const char **why, tare_torch_file *f,
                                    const tare_pickle_value *v, tare_error *err) {
    const tare_pickle_object *callee = tare_pickle_callee(v);
    tare_torch_kind kind = TARE_TORCH_OTHER;
    *out = (tare_strided_tensor){.record = v->offset};
    if (f->depth == WRAPPERS_MOST) return TARE_TORCH_OTHER;
    f->depth++;
    if (tare_torch_storage_id(v) || (callee && v->as.object->label))
        kind = read_storage(out, why, f, v, err);
    else if (callee)
        kind = read_call(out, why, f, v, callee, err);
    f->depth--;
    return kind;
}
