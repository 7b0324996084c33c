/* SPDX-License-Identifier: MIT
 *
 * What a model says beside its tensors, and the library's tables of encodings, formats and mixes,
 * as tuples that the package gives names to. */
#include "py_core.h"

static PyObject *text_or_none(const char *text) {
    if (!text) Py_RETURN_NONE;
    return PyUnicode_FromString(text);
}

/* ---- of a model ------------------------------------------------------------------------------ */

static PyObject *offset_or_none(uint64_t offset) {
    if (offset == TARE_NO_OFFSET) Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(offset);
}

/* metadata(model): (key, space, type, value, offset) for each key, in the file's order. */
static PyObject *model_metadata(PyObject *module, PyObject *model) {
    py_handle *handle = py_handle_of(py_state_of(module), model);
    PyObject *out = handle ? PyList_New(0) : NULL;
    const tare_metadata *m;
    for (size_t i = 0; out && (m = tare_model_metadata(handle->model, i)) != NULL; i++)
        if (!py_append(out,
                       Py_BuildValue("NiiNN", py_text(m->key), (int)m->space, (int)m->value.type,
                                     py_value(handle, &m->value), offset_or_none(m->offset))))
            Py_CLEAR(out);
    return out;
}

static PyObject *model_resources(PyObject *module, PyObject *model) {
    py_handle *handle = py_handle_of(py_state_of(module), model);
    PyObject *out = handle ? PyList_New(0) : NULL;
    const tare_resource *r;
    for (size_t i = 0; out && (r = tare_model_resource(handle->model, i)) != NULL; i++)
        if (!py_append(out, Py_BuildValue("NK", py_text(r->name), (unsigned long long)r->size)))
            Py_CLEAR(out);
    return out;
}

/* resource(model, index): the bytes. */
static PyObject *model_resource(PyObject *module, PyObject *args) {
    PyObject *model;
    Py_ssize_t index;
    tare_error err;
    tare_status status;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "On:resource", &model, &index)) return NULL;
    py_handle *handle = py_handle_of(state, model);
    if (!handle) return NULL;
    const tare_resource *r = index < 0 ? NULL : tare_model_resource(handle->model, (size_t)index);
    if (!r) return PyErr_Format(PyExc_IndexError, "there is no such resource");
    PyObject *out = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)r->size);
    if (!out) return NULL;
    char *bytes = PyBytes_AsString(out);
    py_handle_ref(handle);
    Py_BEGIN_ALLOW_THREADS status =
        tare_resource_read(bytes, handle->model, (size_t)index, 0, (size_t)r->size, &err);
    Py_END_ALLOW_THREADS if (status != TARE_OK) {
        Py_CLEAR(out);
        if (py_source_raise(&handle->source)) py_fail(state, &err, handle->name);
    }
    py_handle_unref(handle);
    return out;
}

static PyObject *model_info(PyObject *module, PyObject *model) {
    py_handle *handle = py_handle_of(py_state_of(module), model);
    if (!handle) return NULL;
    const tare_model_summary *s = tare_model_summarize(handle->model);
    return Py_BuildValue(
        "sINNInnnnKKKKNN", s->format, (unsigned)s->version, PyBool_FromLong(s->is_big_endian),
        PyBool_FromLong(s->is_truncated), (unsigned)s->alignment, (Py_ssize_t)s->n_tensors,
        (Py_ssize_t)s->n_metadata, (Py_ssize_t)s->n_resources, (Py_ssize_t)s->n_files,
        (unsigned long long)s->n_parameters, (unsigned long long)s->file_bytes,
        (unsigned long long)s->tensor_bytes, (unsigned long long)s->directory_bytes,
        py_text(tare_model_architecture(handle->model)), PyBool_FromLong(s->has_pairs));
}

static PyObject *model_files(PyObject *module, PyObject *model) {
    py_handle *handle = py_handle_of(py_state_of(module), model);
    PyObject *out = handle ? PyList_New(0) : NULL;
    const tare_file_info *f;
    for (size_t i = 0; out && (f = tare_model_file(handle->model, i)) != NULL; i++) {
        PyObject *name = f->name ? PyUnicode_DecodeFSDefault(f->name) : Py_NewRef(Py_None);
        if (!py_append(out, Py_BuildValue("NK", name, (unsigned long long)f->size))) Py_CLEAR(out);
    }
    return out;
}

static PyObject *model_findings(PyObject *module, PyObject *model) {
    py_handle *handle = py_handle_of(py_state_of(module), model);
    return handle ? Py_NewRef(handle->findings ? handle->findings : Py_None) : NULL;
}

/* The handle of the factors, which live as long as their model. */
static py_handle *factors_handle(py_handle *whole, const tare_model *factors) {
    py_handle *part = py_handle_through(whole, (tare_model *)(uintptr_t)factors);
    if (part) part->is_part = true;
    return part;
}

static PyObject *adapter_row(py_handle *whole, const tare_adapter_set *set, size_t i) {
    const tare_adapter *x = tare_adapters_at(set, i);
    size_t a, b;
    py_handle *part = factors_handle(whole, tare_adapter_factors(&a, &b, set, i));
    PyObject *row = part ? Py_BuildValue("NKKKdNNN", py_text(x->name), (unsigned long long)x->rows,
                                         (unsigned long long)x->cols, (unsigned long long)x->rank,
                                         x->scale, PyBool_FromLong(x->is_transposed),
                                         py_tensor_new(part, a), py_tensor_new(part, b))
                         : NULL;
    py_handle_unref(part);
    return row;
}

/* adapters(model): (name, rows, columns, rank, scale, is_transposed, a, b) of each. */
static PyObject *model_adapters(PyObject *module, PyObject *model) {
    py_handle *handle = py_handle_of(py_state_of(module), model);
    PyObject *out = handle ? PyList_New(0) : NULL;
    const tare_adapter_set *set = handle ? tare_model_adapters(handle->model) : NULL;
    for (size_t i = 0; out && i < tare_adapters_count(set); i++)
        if (!py_append(out, adapter_row(handle, set, i))) Py_CLEAR(out);
    return out;
}

/* parameters(model): the hyperparameters that are known, by number. */
static PyObject *model_parameters(PyObject *module, PyObject *model) {
    py_handle *handle = py_handle_of(py_state_of(module), model);
    PyObject *out = handle ? PyList_New(0) : NULL;
    for (int p = 0; out && p < TARE_PARAM_COUNT; p++) {
        uint64_t n;
        bool is_known = tare_model_param(&n, handle->model, (tare_param)p);
        if (!py_append(out, is_known ? PyLong_FromUnsignedLongLong(n) : Py_NewRef(Py_None)))
            Py_CLEAR(out);
    }
    return out;
}

/* container(model): of a .wcodec; else None. */
static PyObject *model_container(PyObject *module, PyObject *model) {
    tare_container_info info = tare_container_info_default();
    py_handle *handle = py_handle_of(py_state_of(module), model);
    if (!handle) return NULL;
    if (!tare_model_container(&info, handle->model)) Py_RETURN_NONE;
    PyObject *bases = PyList_New(0);
    tare_container_base base = tare_container_base_default();
    for (size_t i = 0; bases && tare_model_container_base(&base, handle->model, i); i++)
        if (!py_append(bases,
                       Py_BuildValue("Ny#n", py_text(base.name), (const char *)base.digest,
                                     (Py_ssize_t)sizeof base.digest, (Py_ssize_t)base.n_tensors)))
            Py_CLEAR(bases);
    if (!bases) return NULL;
    return Py_BuildValue("IINIKKNnNN", (unsigned)info.major_version, (unsigned)info.minor_version,
                         text_or_none(info.format), (unsigned)info.format_version,
                         (unsigned long long)info.packed_bytes,
                         (unsigned long long)info.unpacked_bytes,
                         PyBool_FromLong(info.is_directory), (Py_ssize_t)info.n_files,
                         PyBool_FromLong(info.is_for_gpu), bases);
}

/* ---- of the library -------------------------------------------------------------------------- */

static PyObject *encoding_info(PyObject *module, PyObject *number) {
    (void)module;
    long id = PyLong_AsLong(number);
    if (id == -1 && PyErr_Occurred()) return NULL;
    const tare_encoding *e = tare_encoding_get((tare_encoding_id)id);
    if (!e) Py_RETURN_NONE;
    PyObject *planes = PyList_New(0);
    for (uint32_t p = 0; planes && p < e->n_planes; p++) {
        tare_number n = tare_plane_number(e, p);
        if (!py_append(planes,
                       Py_BuildValue("siIIiiN", e->planes[p].name, (int)e->planes[p].scope,
                                     (unsigned)e->planes[p].unit, (unsigned)e->planes[p].unit_bytes,
                                     (int)n.kind, (int)n.bits, PyBool_FromLong(n.is_signed))))
            Py_CLEAR(planes);
    }
    if (!planes) return NULL;
    return Py_BuildValue("siidINNNN", e->name, (int)e->id, (int)e->kind, tare_encoding_bits(e),
                         (unsigned)e->block, planes, PyBool_FromLong(tare_encoding_can_decode(e)),
                         PyBool_FromLong(tare_encoding_can_encode(e)),
                         PyBool_FromLong(tare_encoding_needs_importance(e)));
}

/* find_encoding(name): its number; -1: there is none. */
static PyObject *find_encoding(PyObject *module, PyObject *text) {
    tare_str name;
    PyObject *keep;
    (void)module;
    if (!py_parse_text(text, &name, &keep)) return NULL;
    const tare_encoding *e = tare_encoding_find(name);
    Py_XDECREF(keep);
    return PyLong_FromLong(e ? (long)e->id : -1);
}

static PyObject *formats(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    tare_format_info f = tare_format_info_default();
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && tare_format_at(&f, i); i++)
        if (!py_append(out, Py_BuildValue("sssNN", f.name, f.description, f.suffix,
                                          PyBool_FromLong(f.can_write),
                                          PyBool_FromLong(f.is_directory))))
            Py_CLEAR(out);
    return out;
}

static PyObject *mixes(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    const tare_mix *m;
    PyObject *out = PyList_New(0);
    for (size_t i = 0; out && (m = tare_mix_at(i)) != NULL; i++)
        if (!py_append(out, Py_BuildValue("siNNs", m->name, (int)m->file_type,
                                          text_or_none(m->type ? m->type->name : NULL),
                                          PyBool_FromLong(m->needs_importance), m->description)))
            Py_CLEAR(out);
    return out;
}

/* options(verb): rows of (name, kind, choices, default, help) of the library's table. */
static PyObject *options(PyObject *module, PyObject *verb) {
    static const char *const verbs[] = {"convert", "quantize", "pack", "unpack"};
    tare_option_info info = tare_option_info_default();
    (void)module;
    PyObject *out = PyList_New(0);
    for (int v = 0; out && v <= TARE_VERB_UNPACK; v++) {
        if (PyUnicode_CompareWithASCIIString(verb, verbs[v]) != 0) continue;
        for (size_t i = 0; out && tare_option_at(&info, (tare_verb)v, i); i++)
            if (!py_append(out, Py_BuildValue("sizss", info.name, (int)info.kind, info.choices,
                                              info.default_value, info.help)))
                Py_CLEAR(out);
    }
    return out;
}

/* cpu(): the level of instruction sets in force. */
static PyObject *cpu(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return PyUnicode_FromString(tare_cpu_active());
}

/* is_scheme(text): whether it names a scheme of packed weights */
static PyObject *is_scheme(PyObject *module, PyObject *text) {
    (void)module;
    const char *name = PyUnicode_AsUTF8AndSize(text, NULL);
    return name ? PyBool_FromLong(tare_scheme_is_named(name)) : NULL;
}

PyMethodDef py_table_methods[] = {
    {"metadata", model_metadata, METH_O, NULL},
    {"resources", model_resources, METH_O, NULL},
    {"resource", model_resource, METH_VARARGS, NULL},
    {"info", model_info, METH_O, NULL},
    {"files", model_files, METH_O, NULL},
    {"findings", model_findings, METH_O, NULL},
    {"adapters", model_adapters, METH_O, NULL},
    {"parameters", model_parameters, METH_O, NULL},
    {"container", model_container, METH_O, NULL},
    {"encoding_info", encoding_info, METH_O, NULL},
    {"find_encoding", find_encoding, METH_O, NULL},
    {"formats", formats, METH_NOARGS, NULL},
    {"mixes", mixes, METH_NOARGS, NULL},
    {"options", options, METH_O, NULL},
    {"is_scheme", is_scheme, METH_O, NULL},
    {"cpu", cpu, METH_NOARGS, NULL},
    {0},
};
