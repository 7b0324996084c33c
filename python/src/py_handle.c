/* SPDX-License-Identifier: MIT
 *
 * The handle that keeps the library's model and what it was opened from, and models among the
 * arguments of a call. */
#include <stdlib.h>
#include <string.h>

#include "py_core.h"
#include "py_system.h"

static void handle_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    py_handle *handle = (py_handle *)self;
    if (!handle->is_part) tare_model_free(handle->model);
    py_handle_unref(handle->whole);
    py_source_clear(&handle->source);
    Py_CLEAR(handle->keep);
    Py_CLEAR(handle->findings);
    Py_CLEAR(handle->name);
    Py_CLEAR(handle->found);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyType_Slot handle_slots[] = {
    {Py_tp_dealloc, (void *)handle_dealloc},
    {0, NULL},
};

PyType_Spec py_handle_spec = {
    .name = "tare._core.Handle",
    .basicsize = sizeof(py_handle),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = handle_slots,
};

py_handle *py_handle_new(py_state *state) {
    py_handle *handle = (py_handle *)PyType_GenericAlloc(state->handle_type, 0);
    if (!handle) return NULL;
    handle->state = state;
    handle->source.source.fd = -1;
    handle->found = PyDict_New();
    if (!handle->found) {
        py_handle_unref(handle);
        return NULL;
    }
    return handle;
}

py_handle *py_handle_through(py_handle *whole, tare_model *model) {
    py_handle *handle = py_handle_new(whole->state);
    if (!handle) return NULL;
    handle->model = model;
    handle->whole = py_handle_ref(whole);
    handle->map = whole->map;
    handle->name = Py_XNewRef(whole->name);
    return handle;
}

bool py_handle_check_open(const py_handle *handle) {
    if (!py_handle_is_closed(handle)) return true;
    PyErr_SetString(PyExc_ValueError, "the model is closed");
    return false;
}

py_handle *py_handle_of(py_state *state, PyObject *model) {
    if (!PyObject_TypeCheck(model, state->model_type)) {
        PyErr_Format(PyExc_TypeError, "a Model expected, not %R", Py_TYPE(model));
        return NULL;
    }
    py_handle *handle = ((py_model *)model)->handle;
    if (!handle) {
        PyErr_SetString(PyExc_ValueError, "the model is closed");
        return NULL;
    }
    return py_handle_check_open(handle) ? handle : NULL;
}

PyObject *py_model_new(py_handle *handle) {
    py_model *model = (py_model *)PyType_GenericAlloc(handle->state->model_class, 0);
    if (!model) {
        py_handle_unref(handle);
        return NULL;
    }
    model->handle = handle;
    return (PyObject *)model;
}

/* ---- arguments ------------------------------------------------------------------------------- */

bool py_scratch_directory(py_scratch *scratch, const py_handle *handle, const char **out) {
    const tare_source *source = &handle->source.source;
    bool is_named = source->kind == TARE_SOURCE_PATH || source->kind == TARE_SOURCE_URL;
    if (!is_named || !source->name) return true; /* a computed model has neither */
    char *whole = py_path_whole(source->name);
    const char *from = whole ? whole : source->name, *slash = strrchr(from, '/');
    PyObject *name = PyBytes_FromString(slash ? slash + 1 : from);
    free(whole);
    if (!py_scratch_keep(scratch, name)) return false;
    *out = PyBytes_AsString(name);
    return true;
}

bool py_scratch_models(py_scratch *scratch, py_state *state, PyObject *models,
                       const tare_model *const **out, size_t *n) {
    Py_ssize_t count = PySequence_Size(models);
    const tare_model **array =
        count < 0 ? NULL : py_scratch_array(scratch, (size_t)count, sizeof *array);
    if (!array) return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *model = PySequence_GetItem(models, i);
        py_handle *handle = model ? py_handle_of(state, model) : NULL;
        if (handle) array[i] = handle->model;
        /* The handle, not the model: another thread may close that one. */
        bool ok = handle && py_scratch_keep(scratch, Py_NewRef((PyObject *)handle));
        Py_XDECREF(model);
        if (!ok) return false;
    }
    *out = array, *n = (size_t)count;
    return true;
}

bool py_scratch_bases(py_scratch *scratch, py_state *state, PyObject *models,
                      const tare_model *const **out, const char *const **hints, size_t *n) {
    if (!py_scratch_models(scratch, state, models, out, n)) return false;
    const char **names = py_scratch_array(scratch, *n, sizeof *names);
    bool ok = names != NULL;
    for (size_t i = 0; ok && i < *n; i++) {
        PyObject *model = PySequence_GetItem(models, (Py_ssize_t)i);
        py_handle *handle = model ? py_handle_of(state, model) : NULL;
        ok = handle && py_scratch_directory(scratch, handle, &names[i]);
        Py_XDECREF(model);
    }
    *hints = names;
    return ok;
}
