/* SPDX-License-Identifier: MIT
 *
 * Models from what Python has: arrays, bytes, keys; and models that are computed. Nothing is copied
 * but keys and resources: the model keeps the buffers. */
#include <string.h>

#include "py_core.h"

/* A tensor of another model as the source of a new one's. */
static tare_status read_tensor(void *ctx, uint32_t plane, uint64_t offset, void *buf, size_t n) {
    const py_tensor *t = ctx;
    return tare_tensor_read(buf, t->handle->model, t->index, plane, offset, n, NULL);
}

static bool fill_planes(tare_build_tensor *t, PyObject *name, PyObject *keep, PyObject *planes) {
    uint64_t sizes[TARE_MAX_PLANES];
    tare_error err;
    Py_ssize_t n = PyTuple_Size(planes);
    size_t size;
    if (n != t->encoding->n_planes) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%S: %zd planes, not %u", name, n,
                         (unsigned)t->encoding->n_planes);
        return false;
    }
    if (tare_encoding_sizes(sizes, t->encoding, t->dims, t->n_dims, &err) != TARE_OK) {
        PyErr_Format(PyExc_ValueError, "%S: the shape does not suit the type: %s", name, err.what);
        return false;
    }
    for (Py_ssize_t p = 0; p < n; p++) {
        t->planes[p] = py_hold(keep, PyTuple_GetItem(planes, p), &size);
        if (!t->planes[p]) return false;
        if (t->encoding->planes[p].scope == TARE_PLANE_LIST) {
            t->list_bytes = size;
        } else if (size != sizes[p]) {
            PyErr_Format(PyExc_ValueError, "%S: a plane of %zu bytes, not %llu", name, size,
                         (unsigned long long)sizes[p]);
            return false;
        }
    }
    return true;
}

/* (name, encoding, shape, planes): planes is a tuple of buffers or a Tensor. */
static bool add_tensor(tare_builder *builder, py_state *state, PyObject *keep, PyObject *row) {
    PyObject *name, *shape, *planes, *text;
    uint64_t dims[TARE_MAX_DIMS];
    tare_build_tensor t;
    tare_error err;
    int id;
    if (!PyArg_ParseTuple(row, "OiO!O", &name, &id, &PyTuple_Type, &shape, &planes)) return false;
    tare_build_tensor_init(&t, sizeof t);
    t.encoding = tare_encoding_get((tare_encoding_id)id);
    Py_ssize_t n_dims = PyTuple_Size(shape);
    if (!t.encoding || n_dims > TARE_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "%S: no such type, or more than %d dimensions", name,
                     TARE_MAX_DIMS);
        return false;
    }
    for (Py_ssize_t d = 0; d < n_dims; d++) {
        dims[d] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(shape, d));
        if (dims[d] == UINT64_MAX && PyErr_Occurred()) return false;
    }
    t.dims = dims, t.n_dims = (uint32_t)n_dims;
    if (PyObject_TypeCheck(planes, state->tensor_type)) {
        py_tensor *from = (py_tensor *)planes;
        t.read = read_tensor, t.read_ctx = from;
        for (uint32_t p = 0; p < t.encoding->n_planes; p++)
            if (t.encoding->planes[p].scope == TARE_PLANE_LIST)
                t.list_bytes = from->tensor->planes[p].size;
        if (PyList_Append(keep, planes) != 0) return false;
    } else if (!fill_planes(&t, name, keep, planes)) {
        return false;
    }
    if (!py_parse_text(name, &t.name, &text)) return false;
    tare_status status = tare_builder_add_tensor(builder, &t, &err);
    Py_XDECREF(text);
    if (status != TARE_OK) py_fail(state, &err, NULL);
    return status == TARE_OK;
}

static bool add_strings(tare_builder *builder, py_state *state, tare_str key, PyObject *list) {
    py_scratch scratch = {0};
    tare_error err;
    Py_ssize_t n = PyList_Size(list);
    tare_str *strings = n < 0 ? NULL : py_scratch_array(&scratch, (size_t)n, sizeof *strings);
    bool ok = strings != NULL;
    for (Py_ssize_t i = 0; ok && i < n; i++)
        ok = py_scratch_text(&scratch, PyList_GetItem(list, i), &strings[i]);
    if (ok && tare_builder_add_strings(builder, key, strings, (size_t)n, &err) != TARE_OK)
        ok = py_fail(state, &err, NULL) != NULL;
    py_scratch_clear(&scratch);
    return ok;
}

/* (key, space, value type, value): of an array the value is (type of the elements, bytes), or a list
 * of texts. */
static bool add_key(tare_builder *builder, py_state *state, PyObject *row) {
    PyObject *name, *value;
    int space, type;
    tare_value v = {0};
    tare_str key;
    tare_error err;
    py_scratch scratch = {0};
    if (!PyArg_ParseTuple(row, "OiiO", &name, &space, &type, &value)) return false;
    bool ok = py_scratch_text(&scratch, name, &key);
    if (ok && type == TARE_VALUE_ARRAY && PyList_Check(value)) {
        ok = add_strings(builder, state, key, value);
    } else if (ok) {
        v.type = (tare_value_type)type;
        int item = 0;
        unsigned long long count = 0;
        const char *bytes = NULL;
        Py_ssize_t n = 0;
        if (type == TARE_VALUE_ARRAY) {
            ok = PyArg_ParseTuple(value, "iKy#", &item, &count, &bytes, &n);
            v.as.a = (tare_array){.type = (tare_value_type)item,
                                  .count = count,
                                  .bytes = (const uint8_t *)bytes,
                                  .size_bytes = (uint64_t)n};
        } else {
            ok = py_scalar_parse(&scratch, type, value, &v);
        }
        if (ok && tare_builder_add_key(builder, (tare_key_space)space, key, &v, &err) != TARE_OK)
            ok = py_fail(state, &err, NULL) != NULL;
    }
    py_scratch_clear(&scratch);
    return ok;
}

/* (name, bytes) */
static bool add_resource(tare_builder *builder, py_state *state, PyObject *row) {
    PyObject *name, *text;
    Py_buffer bytes;
    tare_str key;
    tare_error err;
    if (!PyArg_ParseTuple(row, "Oy*", &name, &bytes)) return false;
    bool ok = py_parse_text(name, &key, &text);
    if (ok) {
        if (tare_builder_add_resource(builder, key, bytes.buf, (size_t)bytes.len, &err) != TARE_OK)
            ok = py_fail(state, &err, NULL) != NULL;
        Py_XDECREF(text);
    }
    PyBuffer_Release(&bytes);
    return ok;
}

static bool add_all(tare_builder *builder, py_state *state, PyObject *keep, PyObject *tensors,
                    PyObject *keys, PyObject *resources) {
    for (Py_ssize_t i = 0; i < PyList_Size(tensors); i++)
        if (!add_tensor(builder, state, keep, PyList_GetItem(tensors, i))) return false;
    for (Py_ssize_t i = 0; i < PyList_Size(keys); i++)
        if (!add_key(builder, state, PyList_GetItem(keys, i))) return false;
    for (Py_ssize_t i = 0; i < PyList_Size(resources); i++)
        if (!add_resource(builder, state, PyList_GetItem(resources, i))) return false;
    return true;
}

/* build(tensors, keys, resources, has_pairs=False): a Model */
static PyObject *core_build(PyObject *module, PyObject *args) {
    PyObject *tensors, *keys, *resources;
    int has_pairs = 0;
    tare_build_options options = tare_build_options_default();
    tare_builder *builder = NULL;
    tare_error err;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "O!O!O!|p:build", &PyList_Type, &tensors, &PyList_Type, &keys,
                          &PyList_Type, &resources, &has_pairs))
        return NULL;
    options.has_pairs = has_pairs != 0;
    py_handle *handle = py_handle_new(state);
    if (!handle) return NULL;
    handle->keep = PyList_New(0);
    bool ok = handle->keep != NULL;
    if (ok && tare_builder_new(&builder, &options, &err) != TARE_OK)
        ok = py_fail(state, &err, NULL) != NULL;
    if (ok && !add_all(builder, state, handle->keep, tensors, keys, resources)) {
        tare_builder_free(builder);
        ok = false;
    }
    if (ok && tare_builder_finish(&handle->model, builder, &err) != TARE_OK)
        ok = py_fail(state, &err, NULL) != NULL;
    if (ok) return py_model_new(handle);
    py_handle_unref(handle);
    return NULL;
}

PyMethodDef py_build_methods[] = {
    {"build", core_build, METH_VARARGS, NULL},
    {0},
};
