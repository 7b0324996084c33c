/* SPDX-License-Identifier: MIT
 *
 * Opened models: the Model type over a handle (py_handle.c), and the function that opens. */
#include "py_core.h"

#include <tare/private/synth.h>

/* ---- open ------------------------------------------------------------------------------------ */

static const py_option limit_options[] = {
    {"tensors", PY_OPTION_U64, offsetof(tare_limits, tensors), NULL},
    {"keys", PY_OPTION_U64, offsetof(tare_limits, keys), NULL},
    {"array_elements", PY_OPTION_U64, offsetof(tare_limits, array_elements), NULL},
    {"name_bytes", PY_OPTION_U64, offsetof(tare_limits, name_bytes), NULL},
    {"metadata_bytes", PY_OPTION_U64, offsetof(tare_limits, metadata_bytes), NULL},
    {"safetensors_header", PY_OPTION_U64, offsetof(tare_limits, safetensors_header), NULL},
    {"resource_bytes", PY_OPTION_U64, offsetof(tare_limits, resource_bytes), NULL},
    {"dims", PY_OPTION_U32, offsetof(tare_limits, dims), NULL},
    {"nesting", PY_OPTION_U32, offsetof(tare_limits, nesting), NULL},
    {"shards", PY_OPTION_U32, offsetof(tare_limits, shards), NULL},
    {0},
};

static const py_option open_options[] = {
    {"format", PY_OPTION_TEXT, offsetof(tare_open_options, format), NULL},
    {"one_shard", PY_OPTION_BOOL, offsetof(tare_open_options, one_shard), NULL},
    {"stored", PY_OPTION_BOOL, offsetof(tare_open_options, stored), NULL},
    {"needs_bases", PY_OPTION_BOOL, offsetof(tare_open_options, needs_bases), NULL},
    {0},
};

static const py_option context_options[] = {
    {"threads", PY_OPTION_UNSIGNED, offsetof(tare_context, threads), NULL},
    {0},
};

/* Without the GIL: opens handle->source, or the computed model that `spec` describes. */
static bool open_handle(py_handle *handle, const char *spec, const tare_open_options *options,
                        tare_context *context, PyObject *progress) {
    tare_error err;
    py_run run;
    context->report = tare_report_new();
    if (!context->report) PyErr_NoMemory();
    if (!context->report || !py_run_init(&run, handle->state, progress)) {
        tare_report_free(context->report);
        return false;
    }
    py_run_join(context, &run);
    py_run_begin(&run);
    tare_status status =
        spec ? tare_synth_open(&handle->model, spec, options, &err)
             : tare_model_open(&handle->model, &handle->source.source, options, &err);
    bool ok = py_run_end(&run, status, &err, handle);
    if (ok) ok = (handle->findings = py_findings(context->report)) != NULL;
    tare_report_free(context->report);
    return ok;
}

static bool fill_options(tare_open_options *options, tare_context *context, tare_limits *limits,
                         py_scratch *scratch, py_handle *handle, PyObject *given) {
    PyObject *limited = py_options_get(given, "limits"), *bases = py_options_get(given, "bases");
    tare_open_options_init(options, sizeof *options);
    options->map = handle->map;
    tare_context_init(context, sizeof *context);
    options->context = context;
    if (!py_options_set(options, open_options, given) ||
        !py_options_set(context, context_options, given))
        return false;
    if (limited) {
        tare_limits_init(limits, sizeof *limits);
        if (!py_options_only(limit_options, "limits", limited) ||
            !py_options_set(limits, limit_options, limited))
            return false;
        context->limits = limits;
    }
    if (!bases) return true;
    bool ok = py_scratch_models(scratch, handle->state, bases, &options->bases, &options->n_bases);
    handle->keep = Py_XNewRef(scratch->objects); /* the library refers to the bases' models */
    return ok;
}

/* open(source, name, map, options, progress): source None opens what options["synth"] describes. */
static PyObject *core_open(PyObject *module, PyObject *args) {
    py_state *state = py_state_of(module);
    PyObject *source, *name, *given, *progress;
    int map;
    if (!PyArg_ParseTuple(args, "OOiO!O:open", &source, &name, &map, &PyDict_Type, &given,
                          &progress))
        return NULL;
    PyObject *synth = py_options_get(given, "synth"), *remote = py_options_get(given, "remote");
    const char *spec = synth ? PyUnicode_AsUTF8AndSize(synth, NULL) : NULL;
    if (synth && !spec) return NULL;
    py_handle *handle = py_handle_new(state);
    if (!handle) return NULL;
    handle->map = (tare_map_mode)map;
    if (name != Py_None) handle->name = Py_NewRef(name);
    tare_open_options options;
    tare_context context;
    tare_limits limits;
    py_scratch scratch = {0};
    bool ok = (spec || py_source_init(&handle->source, state, source, remote)) &&
              fill_options(&options, &context, &limits, &scratch, handle, given) &&
              open_handle(handle, spec, &options, &context, progress);
    py_scratch_clear(&scratch);
    if (!ok) {
        py_handle_unref(handle);
        return NULL;
    }
    return py_model_new(handle);
}

PyMethodDef py_open_methods[] = {
    {"open", core_open, METH_VARARGS, NULL},
    {0},
};

/* ---- Model ----------------------------------------------------------------------------------- */

static void model_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    py_handle_unref(((py_model *)self)->handle);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static py_handle *own_handle(PyObject *self) {
    py_handle *handle = ((py_model *)self)->handle;
    if (handle && !py_handle_is_closed(handle)) return handle;
    PyErr_SetString(PyExc_ValueError, "the model is closed");
    return NULL;
}

/* The index of a name, which is remembered: Python's texts know their hash. NULL without an
 * exception: there is none. A new reference. */
static PyObject *find(PyObject *self, PyObject *key) {
    tare_str name;
    PyObject *keep;
    py_handle *handle = own_handle(self);
    if (!handle || !PyUnicode_Check(key)) return NULL;
    bool is_exact = PyUnicode_CheckExact(key); /* a subclass may compare as it likes */
    PyObject *known = is_exact ? py_dict_get(handle->found, key) : NULL;
    if (known || PyErr_Occurred()) return known;
    if (!py_parse_text(key, &name, &keep)) return NULL;
    int64_t index = tare_model_find_tensor(handle->model, name);
    Py_XDECREF(keep);
    if (index < 0) return NULL;
    PyObject *number = PyLong_FromLongLong(index);
    if (number && is_exact && PyDict_SetItem(handle->found, key, number) != 0) Py_CLEAR(number);
    return number;
}

static PyObject *model_find(PyObject *self, PyObject *key) {
    PyObject *index = find(self, key);
    return index || PyErr_Occurred() ? index : PyLong_FromLong(-1);
}

static PyObject *model_subscript(PyObject *self, PyObject *key) {
    PyObject *index = find(self, key);
    if (!index) {
        return PyErr_Occurred() ? NULL : PyObject_CallMethod(self, "__missing__", "(O)", key);
    }
    size_t i = PyLong_AsSize_t(index);
    Py_DECREF(index);
    return py_tensor_new(((py_model *)self)->handle, i);
}

static int model_contains(PyObject *self, PyObject *key) {
    PyObject *index = find(self, key);
    if (!index) return PyErr_Occurred() ? -1 : 0;
    Py_DECREF(index);
    return 1;
}

static Py_ssize_t model_length(PyObject *self) {
    py_handle *handle = own_handle(self);
    return handle ? (Py_ssize_t)tare_model_summarize(handle->model)->n_tensors : -1;
}

static PyObject *model_tensor(PyObject *self, PyObject *number) {
    Py_ssize_t n = model_length(self), i = PyLong_AsSsize_t(number);
    if (n < 0 || (i == -1 && PyErr_Occurred())) return NULL;
    if (i < 0) i += n;
    if (i < 0 || i >= n) {
        PyErr_SetString(PyExc_IndexError, "there is no such tensor");
        return NULL;
    }
    return py_tensor_new(((py_model *)self)->handle, (size_t)i);
}

static PyObject *model_names(PyObject *self, PyObject *unused) {
    (void)unused;
    Py_ssize_t n = model_length(self);
    PyObject *out = n < 0 ? NULL : PyTuple_New(n);
    for (Py_ssize_t i = 0; out && i < n; i++) {
        PyObject *name =
            py_text(tare_model_tensor(((py_model *)self)->handle->model, (size_t)i)->name);
        if (!name)
            Py_CLEAR(out);
        else
            PyTuple_SetItem(out, i, name);
    }
    return out;
}

/* What is borrowed from the model stays valid; what has to be read raises ValueError. Where there is
 * no GIL, another thread may be about to use the handle, which then goes with the Model. */
static PyObject *model_close(PyObject *self, PyObject *unused) {
    (void)unused;
    py_model *model = (py_model *)self;
    if (model->handle) __atomic_store_n(&model->handle->is_closed, true, __ATOMIC_RELAXED);
#ifndef Py_GIL_DISABLED
    Py_CLEAR(model->handle);
#endif
    Py_RETURN_NONE;
}

static PyObject *model_get_closed(PyObject *self, void *unused) {
    (void)unused;
    const py_handle *handle = ((py_model *)self)->handle;
    return PyBool_FromLong(!handle || py_handle_is_closed(handle));
}

static PyMethodDef model_methods[] = {
    {"find", model_find, METH_O, NULL},
    {"tensor", model_tensor, METH_O,
     "tensor($self, index, /)\n--\n\nThe tensor at this place of the file's directory."},
    {"names", model_names, METH_NOARGS, NULL},
    {"close", model_close, METH_NOARGS,
     "close($self, /)\n--\n\nLets go of the files. Arrays that were handed out stay valid."},
    {0},
};

static PyGetSetDef model_getters[] = {
    {"closed", model_get_closed, NULL, "Whether close() was called.", NULL},
    {0},
};

static PyType_Slot model_slots[] = {
    {Py_tp_dealloc, (void *)model_dealloc},
    {Py_tp_methods, model_methods},
    {Py_tp_getset, model_getters},
    {Py_mp_subscript, (void *)model_subscript},
    {Py_mp_length, (void *)model_length},
    {Py_sq_contains, (void *)model_contains},
    {0, NULL},
};

PyType_Spec py_model_spec = {
    .name = "tare._core.Model",
    .basicsize = sizeof(py_model),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = model_slots,
};
