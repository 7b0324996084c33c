/* SPDX-License-Identifier: MIT
 *
 * Verbs that read models and report: digests, checks, verify, manifests, diff, extract; and the names
 * of GGUF files. */
#include "py_core.h"

static const py_option run_option_table[] = {
    {"threads", PY_OPTION_UNSIGNED, offsetof(tare_context, threads), NULL},
    {0},
};

static const py_option output_option_table[] = {
    {"force", PY_OPTION_BOOL, offsetof(tare_output_options, force), NULL},
    {"no_sync", PY_OPTION_BOOL, offsetof(tare_output_options, no_sync), NULL},
    {"dry_run", PY_OPTION_BOOL, offsetof(tare_output_options, dry_run), NULL},
    {0},
};

/* A verb on one model, from its arguments to its end. */
typedef struct verb {
    py_handle *handle; /* a reference, so that another thread may close the model meanwhile */
    py_run run;
    tare_context context;
    tare_error err;
} verb;

static bool set_output(tare_output_options *output, PyObject *given) {
    tare_output_options_init(output, sizeof *output);
    return py_options_set(output, output_option_table, given);
}

static bool verb_begin(verb *v, py_state *state, PyObject *model, PyObject *given,
                       PyObject *progress) {
    *v = (verb){0};
    tare_context_init(&v->context, sizeof v->context);
    if (!py_options_set(&v->context, run_option_table, given)) return false;
    py_handle *handle = PyObject_TypeCheck(model, state->tensor_type) ? ((py_tensor *)model)->handle
                                                                      : py_handle_of(state, model);
    if (!handle || !py_handle_check_open(handle) || !py_run_init(&v->run, state, progress))
        return false;
    v->handle = py_handle_ref(handle);
    py_run_join(&v->context, &v->run);
    py_run_begin(&v->run);
    return true;
}

static bool verb_end(verb *v, tare_status status) {
    bool ok = py_run_end(&v->run, status, &v->err, v->handle);
    py_handle_unref(v->handle);
    return ok;
}

static PyObject *digest_bytes(const tare_digest *digest) {
    return PyBytes_FromStringAndSize((const char *)digest->bytes, (Py_ssize_t)sizeof digest->bytes);
}

/* ---- digests --------------------------------------------------------------------------------- */

/* Begins a verb on a tensor, of the arguments (tensor, options, progress). */
static bool tensor_begin(verb *v, size_t *index, PyObject *module, PyObject *args) {
    PyObject *tensor, *given, *progress;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "O!O!O", state->tensor_type, &tensor, &PyDict_Type, &given,
                          &progress))
        return false;
    *index = ((py_tensor *)tensor)->index;
    return verb_begin(v, state, tensor, given, progress);
}

static PyObject *tensor_digest(PyObject *module, PyObject *args) {
    tare_digest digest;
    size_t index;
    verb v;
    if (!tensor_begin(&v, &index, module, args)) return NULL;
    tare_status status = tare_tensor_digest(&digest, v.handle->model, index, &v.context, &v.err);
    return verb_end(&v, status) ? digest_bytes(&digest) : NULL;
}

static PyObject *tensor_check(PyObject *module, PyObject *args) {
    size_t index;
    verb v;
    if (!tensor_begin(&v, &index, module, args)) return NULL;
    if (!verb_end(&v, tare_tensor_check(v.handle->model, index, &v.context, &v.err))) return NULL;
    Py_RETURN_NONE;
}

/* digest(model, options, progress): (whole, [(name, one) for each tensor that is stored]) */
static PyObject *model_digest(PyObject *module, PyObject *args) {
    PyObject *model, *given, *progress, *out = NULL;
    tare_digest whole;
    verb v;
    py_scratch scratch = {0};
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "OO!O", &model, &PyDict_Type, &given, &progress)) return NULL;
    py_handle *handle = py_handle_of(state, model);
    const tare_model *stored = handle ? tare_model_as_stored(handle->model) : NULL;
    size_t n = stored ? tare_model_summarize(stored)->n_tensors : 0;
    tare_digest *each = handle ? py_scratch_array(&scratch, n, sizeof *each) : NULL;
    if (each && verb_begin(&v, state, model, given, progress) &&
        verb_end(&v, tare_model_digest(each, &whole, tare_model_as_stored(v.handle->model),
                                       &v.context, &v.err))) {
        PyObject *list = PyList_New((Py_ssize_t)n);
        for (size_t i = 0; list && i < n; i++) {
            PyObject *pair = Py_BuildValue("NN", py_text(tare_model_tensor(stored, i)->name),
                                           digest_bytes(&each[i]));
            if (!pair)
                Py_CLEAR(list);
            else
                PyList_SetItem(list, (Py_ssize_t)i, pair);
        }
        if (list) out = Py_BuildValue("NN", digest_bytes(&whole), list);
    }
    py_scratch_clear(&scratch);
    return out;
}

/* manifest_write(model, path, options, progress) */
static PyObject *manifest_write(PyObject *module, PyObject *args) {
    PyObject *model, *path = NULL, *given, *progress;
    verb v;
    if (!PyArg_ParseTuple(args, "OO&O!O", &model, PyUnicode_FSConverter, &path, &PyDict_Type,
                          &given, &progress))
        return NULL;
    tare_output_options output;
    bool ok =
        set_output(&output, given) && verb_begin(&v, py_state_of(module), model, given, progress);
    if (ok)
        ok = verb_end(&v, tare_manifest_write(PyBytes_AsString(path),
                                              tare_model_as_stored(v.handle->model), &output,
                                              &v.context, &v.err));
    Py_DECREF(path);
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

/* ---- verify ---------------------------------------------------------------------------------- */

/* The beginning and the end of a verb whose report is its result. */
static bool report_begin(verb *v, py_state *state, PyObject *model, PyObject *given,
                         PyObject *progress) {
    tare_report *report = tare_report_new();
    if (!report) PyErr_NoMemory();
    if (report && verb_begin(v, state, model, given, progress)) {
        v->context.report = report;
        return true;
    }
    tare_report_free(report);
    return false;
}

static PyObject *report_end(verb *v, tare_status status) {
    PyObject *out = verb_end(v, status) ? py_findings(v->context.report) : NULL;
    tare_report_free(v->context.report);
    return out;
}

/* With all there is to check, in this order; a manifest that differs is a finding, not an error. */
static tare_status verify(verb *v, bool is_deep, const char *manifest, uint32_t index,
                          uint32_t count) {
    const tare_model *model = tare_model_as_stored(v->handle->model);
    tare_status status = tare_verify_resources(model, &v->context, &v->err);
    if (status == TARE_OK && is_deep)
        status = count ? tare_part_of_verify(model, index, count, &v->context, &v->err)
                       : tare_verify_data(model, &v->context, &v->err);
    if (status == TARE_OK && manifest) {
        status = tare_manifest_check(manifest, model, &v->context, &v->err);
        if (status == TARE_ERR_CHECKSUM) status = TARE_OK;
    }
    return status;
}

/* verify(model, is_deep, manifest or None, index, count of a part or 0, options, progress): findings */
static PyObject *model_verify(PyObject *module, PyObject *args) {
    PyObject *model, *manifest, *given, *progress, *out = NULL, *path = NULL;
    int is_deep;
    unsigned index, count;
    verb v;
    if (!PyArg_ParseTuple(args, "OpOIIO!O", &model, &is_deep, &manifest, &index, &count,
                          &PyDict_Type, &given, &progress) ||
        (count && !py_part_check(index, count)))
        return NULL;
    if (manifest != Py_None && !PyUnicode_FSConverter(manifest, &path)) return NULL;
    if (report_begin(&v, py_state_of(module), model, given, progress))
        out =
            report_end(&v, verify(&v, is_deep, path ? PyBytes_AsString(path) : NULL, index, count));
    Py_XDECREF(path);
    return out;
}

/* verify_against(model, source model, options, progress): findings */
static PyObject *model_verify_against(PyObject *module, PyObject *args) {
    PyObject *model, *source, *given, *progress, *out = NULL;
    verb v;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "OOO!O", &model, &source, &PyDict_Type, &given, &progress))
        return NULL;
    py_handle *original = py_handle_of(state, source);
    if (!original) return NULL;
    py_handle_ref(original);
    if (report_begin(&v, state, model, given, progress))
        out = report_end(&v,
                         tare_verify_against(v.handle->model, original->model, &v.context, &v.err));
    py_handle_unref(original);
    return out;
}

/* ---- diff ------------------------------------------------------------------------------------ */

static const py_option diff_option_table[] = {
    {"tolerance", PY_OPTION_DOUBLE, offsetof(tare_diff_options, tolerance), NULL},
    {"brief", PY_OPTION_BOOL, offsetof(tare_diff_options, brief), NULL},
    {"directory", PY_OPTION_BOOL, offsetof(tare_diff_options, directory), NULL},
    {0},
};

/* (same, [(kind, name, a, b, is_decoded, is_tolerated, relative_rmse, max_abs, n_different, norm)]) */
static PyObject *diff_items(const tare_diff *diff) {
    PyObject *list = PyList_New(0);
    const tare_diff_item *d;
    for (size_t i = 0; list && (d = tare_diff_at(diff, i)) != NULL; i++) {
        PyObject *row = Py_BuildValue("iNLLNNddKd", (int)d->kind, py_text(d->name), (long long)d->a,
                                      (long long)d->b, PyBool_FromLong(d->is_decoded),
                                      PyBool_FromLong(d->is_tolerated), d->relative_rmse,
                                      d->max_abs, (unsigned long long)d->n_different, d->norm_a);
        if (!py_append(list, row)) Py_CLEAR(list);
    }
    return list ? Py_BuildValue("NN", PyBool_FromLong(tare_diff_is_same(diff)), list) : NULL;
}

/* What the reader of the second model raised takes the place of the error that it led to. */
static void raise_instead(py_source *source) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (py_source_raise(source))
        PyErr_Restore(type, value, trace);
    else
        Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
}

/* diff(a, b, options, progress) */
static PyObject *model_diff(PyObject *module, PyObject *args) {
    PyObject *first, *second, *given, *progress, *out = NULL;
    tare_diff_options options;
    tare_diff *diff = NULL;
    tare_error err;
    py_run run;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "OOO!O", &first, &second, &PyDict_Type, &given, &progress))
        return NULL;
    py_handle *a = py_handle_of(state, first), *b = a ? py_handle_of(state, second) : NULL;
    tare_context context = tare_context_default();
    tare_diff_options_init(&options, sizeof options);
    options.context = &context;
    if (!b || !py_options_set(&options, diff_option_table, given) ||
        !py_options_set(&context, run_option_table, given) || !py_run_init(&run, state, progress))
        return NULL;
    py_run_join(&context, &run);
    py_handle_ref(a), py_handle_ref(b);
    py_run_begin(&run);
    tare_status status = tare_diff_new(&diff, a->model, b->model, &options, &err);
    /* Which of the two failed is not known: the line names neither. */
    bool ok = py_run_end_source(&run, status, &err, &py_handle_root(a)->source, NULL);
    if (ok)
        out = diff_items(diff);
    else
        raise_instead(&py_handle_root(b)->source);
    tare_diff_free(diff);
    py_handle_unref(a), py_handle_unref(b);
    return out;
}

/* ---- extract --------------------------------------------------------------------------------- */

/* adapter_write(model, name, path, options, progress) */
static PyObject *adapter_write(PyObject *module, PyObject *args) {
    PyObject *model, *name, *path = NULL, *given, *progress;
    tare_output_options output;
    verb v;
    py_scratch scratch = {0};
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "OOO&O!O", &model, &name, PyUnicode_FSConverter, &path,
                          &PyDict_Type, &given, &progress))
        return NULL;
    py_handle *handle = py_handle_of(state, model);
    tare_adapter_use use = {.set = handle ? tare_model_adapters(handle->model) : NULL, .scale = 1};
    if (handle && !use.set) PyErr_SetString(PyExc_ValueError, "the model has no adapters");
    bool ok = use.set && py_scratch_text(&scratch, name, &use.name) && set_output(&output, given) &&
              verb_begin(&v, state, model, given, progress);
    if (ok)
        ok = verb_end(
            &v, tare_adapters_write(PyBytes_AsString(path), &use, &output, &v.context, &v.err));
    py_scratch_clear(&scratch);
    Py_DECREF(path);
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

static const py_option extract_option_table[] = {
    {"first_row", PY_OPTION_U64, offsetof(tare_extract_options, first_row), NULL},
    {"n_rows", PY_OPTION_U64, offsetof(tare_extract_options, n_rows), NULL},
    {0},
};

/* extract(tensor, path, is_npy, options, progress) */
static PyObject *tensor_extract(PyObject *module, PyObject *args) {
    PyObject *object, *path = NULL, *given, *progress;
    int is_npy;
    tare_extract_options options;
    tare_error err;
    py_run run;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "O!O&pO!O", state->tensor_type, &object, PyUnicode_FSConverter,
                          &path, &is_npy, &PyDict_Type, &given, &progress))
        return NULL;
    py_tensor *tensor = (py_tensor *)object;
    tare_context context = tare_context_default();
    tare_output_options output;
    tare_extract_options_init(&options, sizeof options);
    options.context = &context;
    options.output = &output;
    bool ok = py_handle_check_open(tensor->handle) &&
              py_options_set(&options, extract_option_table, given) &&
              py_options_set(&context, run_option_table, given) && set_output(&output, given) &&
              py_run_init(&run, state, progress);
    if (ok) {
        py_run_join(&context, &run);
        py_run_begin(&run);
        tare_status status =
            tare_extract(PyBytes_AsString(path), tensor->handle->model, tensor->index,
                         is_npy ? TARE_EXTRACT_NPY : TARE_EXTRACT_BIN, &options, &err);
        ok = py_run_end(&run, status, &err, tensor->handle);
    }
    Py_DECREF(path);
    if (!ok) return NULL;
    Py_RETURN_NONE;
}

/* ---- names ----------------------------------------------------------------------------------- */

static PyObject *name_tuple(const tare_gguf_name *n) {
    return Py_BuildValue("NNNNNNNIIN", py_text(n->sidecar), py_text(n->base_name),
                         py_text(n->size_label), py_text(n->fine_tune), py_text(n->version),
                         py_text(n->encoding), py_text(n->type), (unsigned)n->shard,
                         (unsigned)n->n_shards, PyBool_FromLong(n->is_version_assumed));
}

/* parse_name(text): a tuple, or None. */
static PyObject *parse_name(PyObject *module, PyObject *text) {
    tare_gguf_name name = tare_gguf_name_default();
    tare_str bytes;
    PyObject *keep, *out;
    (void)module;
    if (!py_parse_text(text, &bytes, &keep)) return NULL;
    out = tare_gguf_name_parse(&name, bytes) ? name_tuple(&name) : Py_NewRef(Py_None);
    Py_XDECREF(keep);
    return out;
}

PyMethodDef py_verb_methods[] = {
    {"tensor_digest", tensor_digest, METH_VARARGS, NULL},
    {"tensor_check", tensor_check, METH_VARARGS, NULL},
    {"digest", model_digest, METH_VARARGS, NULL},
    {"manifest_write", manifest_write, METH_VARARGS, NULL},
    {"verify", model_verify, METH_VARARGS, NULL},
    {"verify_against", model_verify_against, METH_VARARGS, NULL},
    {"diff", model_diff, METH_VARARGS, NULL},
    {"adapter_write", adapter_write, METH_VARARGS, NULL},
    {"extract", tensor_extract, METH_VARARGS, NULL},
    {"parse_name", parse_name, METH_O, NULL},
    {0},
};
