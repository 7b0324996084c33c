/* SPDX-License-Identifier: MIT
 *
 * Packing models into .wcodec files, and back. */

#include "py_core.h"
#include "py_system.h"

/* What both verbs need until they return. */
typedef struct packing {
    tare_options *options;
    tare_report *report;
    py_scratch scratch;
    py_run run;
    tare_error err;
    PyObject *rows; /* of on_packed */
    tare_importance *importance;
} packing;

static bool packing_begin(packing *c, py_state *state, tare_verb verb, PyObject *texts,
                          PyObject *progress) {
    *c = (packing){0};
    c->report = tare_report_new();
    if (!c->report) PyErr_NoMemory();
    c->options = c->report ? py_texts_options(state, verb, texts) : NULL;
    return c->options && py_run_init(&c->run, state, progress);
}

static void packing_clear(packing *c) {
    tare_options_free(c->options);
    tare_importance_free(c->importance);
    tare_report_free(c->report);
    py_scratch_clear(&c->scratch);
    Py_CLEAR(c->rows);
}

/* By the calling thread, without the GIL. */
static void on_packed(void *ctx, const tare_packed_layer *layer) {
    packing *c = ctx;
    PyEval_RestoreThread(c->run.thread);
    PyObject *row =
        Py_BuildValue("NiKKN", py_text(layer->name), layer->encoding ? (int)layer->encoding->id : 0,
                      (unsigned long long)layer->from_bytes, (unsigned long long)layer->to_bytes,
                      PyBool_FromLong(layer->is_shared));
    if (!py_append(c->rows, row)) PyErr_Clear();
    c->run.thread = PyEval_SaveThread();
}

/* The lossy options are the handle's own, and so are not constant. */
static bool set_importance(packing *c, tare_pack_options *o, PyObject *path) {
    tare_lossy_options *lossy = (tare_lossy_options *)(uintptr_t)o->lossy;
    tare_str text;
    if (path == Py_None || !lossy) return true;
    if (!py_scratch_text(&c->scratch, path, &text)) return false;
    if (tare_importance_open_path(&c->importance, text.ptr, NULL, &c->err) != TARE_OK) {
        py_fail(c->run.state, &c->err, path);
        return false;
    }
    lossy->importance = c->importance;
    return true;
}

/* Layers and findings go where the caller gets them. */
static bool set_listeners(packing *c, tare_pack_options *o) {
    c->rows = PyList_New(0);
    if (!c->rows) return false;
    o->packed = on_packed, o->packed_ctx = c;
    tare_context *context = tare_options_context(c->options);
    py_run_join(context, &c->run);
    context->report = c->report;
    return true;
}

static bool run_pack(packing *c, py_handle *handle, const char *path, PyObject *bases,
                     PyObject *importance, const tare_tile_limits *tiles,
                     tare_pack_summary *summary) {
    tare_pack_options *o = tare_options_pack(c->options);
    o->tiles = *tiles;
    if (!set_importance(c, o, importance) || !set_listeners(c, o)) return false;
    if (bases != Py_None && !py_scratch_bases(&c->scratch, handle->state, bases, &o->bases,
                                              &o->base_hints, &o->n_bases))
        return false;
    py_run_begin(&c->run);
    tare_status status = tare_pack(summary, path, handle->model, o, &c->err);
    return py_run_end(&c->run, status, &c->err, handle);
}

static PyObject *summary_row(packing *c, const tare_pack_summary *s) {
    return Py_BuildValue("nnnnKKONndd", (Py_ssize_t)s->n_files, (Py_ssize_t)s->n_tensors,
                         (Py_ssize_t)s->n_shared, (Py_ssize_t)s->n_referring,
                         (unsigned long long)s->from_bytes, (unsigned long long)s->to_bytes,
                         c->rows, py_findings(c->report), (Py_ssize_t)s->n_lossy,
                         s->bits_per_weight, s->damage);
}

/* pack(model, path, texts, bases or None, importance or None, (shapes, predictors, transforms),
 * progress): (counts..., layers, findings, tensors with loss, bits per weight, damage) */
static PyObject *core_pack(PyObject *module, PyObject *args) {
    PyObject *model, *path = NULL, *texts, *bases, *importance, *progress, *out = NULL;
    tare_pack_summary s = tare_pack_summary_default();
    tare_tile_limits tiles;
    packing c;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "OO&O!OO(III)O:pack", &model, PyUnicode_FSConverter, &path,
                          &PyList_Type, &texts, &bases, &importance, &tiles.shapes,
                          &tiles.predictors, &tiles.transforms, &progress))
        return NULL;
    py_handle *handle = py_handle_of(state, model);
    Py_XINCREF((PyObject *)handle);
    if (handle) {
        if (packing_begin(&c, state, TARE_VERB_PACK, texts, progress) &&
            run_pack(&c, handle, PyBytes_AsString(path), bases, importance, &tiles, &s))
            out = summary_row(&c, &s);
        packing_clear(&c);
    }
    py_handle_unref(handle);
    Py_DECREF(path);
    return out;
}

/* pack_part(model, path, texts, index, count, paths that it depends on, progress): (bytes of the input
 * that are its share, whether it was there, findings) */
static PyObject *core_pack_part(PyObject *module, PyObject *args) {
    PyObject *model, *path = NULL, *texts, *paths, *progress, *out = NULL;
    tare_part_options o = tare_part_options_default();
    tare_part_result result = tare_part_result_default();
    packing c;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "OO&O!IIO!O:pack_part", &model, PyUnicode_FSConverter, &path,
                          &PyList_Type, &texts, &o.index, &o.count, &PyList_Type, &paths,
                          &progress))
        return NULL;
    py_handle *handle = py_handle_of(state, model);
    Py_XINCREF((PyObject *)handle);
    if (handle) {
        if (packing_begin(&c, state, TARE_VERB_PACK, texts, progress) &&
            py_part_options(&o, &c.scratch, paths)) {
            tare_pack_options *options = tare_options_pack(c.options);
            if (set_listeners(&c, options)) {
                o.context = options->context;
                o.output = options->output;
                py_run_begin(&c.run);
                const tare_status status = tare_part_of_pack(&result, PyBytes_AsString(path),
                                                             handle->model, options, &o, &c.err);
                if (py_run_end(&c.run, status, &c.err, handle))
                    out = Py_BuildValue("KNN", (unsigned long long)(result.end - result.begin),
                                        PyBool_FromLong(result.was_done), py_findings(c.report));
            }
        }
        packing_clear(&c);
    }
    py_handle_unref(handle);
    Py_DECREF(path);
    return out;
}

/* ---- ladders --------------------------------------------------------------------------------- */

static bool run_ladder(packing *c, PyObject *from, const char *path, bool is_added,
                       tare_pack_summary *summary) {
    tare_pack_options *o = tare_options_pack(c->options);
    py_source none = {0};
    tare_str in;
    if (!py_scratch_text(&c->scratch, from, &in) || !set_listeners(c, o)) return false;
    py_run_begin(&c->run);
    tare_status status = is_added ? tare_pack_add(summary, path, in.ptr, o, &c->err)
                                  : tare_pack_ladder(summary, path, in.ptr, o, &c->err);
    return py_run_end_source(&c->run, status, &c->err, &none, from);
}

/* pack_ladder(path of a folder, or of what is added, path, is added, texts, progress): as of pack. */
static PyObject *core_pack_ladder(PyObject *module, PyObject *args) {
    PyObject *from, *path = NULL, *texts, *progress, *out = NULL;
    tare_pack_summary s = tare_pack_summary_default();
    int is_added;
    packing c;
    if (!PyArg_ParseTuple(args, "UO&pO!O:pack_ladder", &from, PyUnicode_FSConverter, &path,
                          &is_added, &PyList_Type, &texts, &progress))
        return NULL;
    if (packing_begin(&c, py_state_of(module), TARE_VERB_PACK, texts, progress) &&
        run_ladder(&c, from, PyBytes_AsString(path), is_added, &s))
        out = summary_row(&c, &s);
    packing_clear(&c);
    Py_DECREF(path);
    return out;
}

/* count_models(folder): how many lie in it. */
static PyObject *core_count_models(PyObject *module, PyObject *folder) {
    PyObject *path = NULL;
    tare_error err;
    size_t n = 0;
    tare_status status;
    if (!PyUnicode_FSConverter(folder, &path)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = tare_count_models(&n, PyBytes_AsString(path), &err);
    Py_END_ALLOW_THREADS;
    Py_DECREF(path);
    if (status == TARE_OK) return PyLong_FromSize_t(n);
    return py_fail(py_state_of(module), &err, folder);
}

/* container_files(model): (name, bytes, packed bytes, tensors, of these made of others, weights, bytes
 * of tensors) of each file of a .wcodec. */
static PyObject *container_files(PyObject *module, PyObject *model) {
    py_handle *handle = py_handle_of(py_state_of(module), model);
    PyObject *out = handle ? PyList_New(0) : NULL;
    tare_container_file f = tare_container_file_default();
    for (size_t i = 0; out && tare_model_container_file(&f, handle->model, i); i++)
        if (!py_append(out,
                       Py_BuildValue("NKKnnKK", py_text(f.name), (unsigned long long)f.size_bytes,
                                     (unsigned long long)f.packed_bytes, (Py_ssize_t)f.n_tensors,
                                     (Py_ssize_t)f.n_derived, (unsigned long long)f.n_weights,
                                     (unsigned long long)f.tensor_bytes)))
            Py_CLEAR(out);
    return out;
}

/* Several threads write, each its own bytes. */
static tare_status write_fd(void *ctx, uint64_t offset, const void *bytes, size_t n) {
    const int *fd = ctx;
    return py_descriptor_write(*fd, offset, bytes, n);
}

/* From the source, not from a model: the files are wanted, whatever they hold. */
static bool run_unpack(packing *c, py_source *source, PyObject *name, PyObject *path, int fd,
                       PyObject *bases, tare_unpack_result *result) {
    tare_unpack_options *o = tare_options_unpack(c->options);
    if (bases != Py_None &&
        !py_scratch_models(&c->scratch, c->run.state, bases, &o->bases, &o->n_bases))
        return false;
    tare_context *context = tare_options_context(c->options);
    py_run_join(context, &c->run);
    context->report = c->report;
    const char *to = path ? PyBytes_AsString(path) : NULL;
    tare_output output = tare_output_default();
    output.write = write_fd, output.ctx = &fd;
    py_run_begin(&c->run);
    tare_status status = to ? tare_unpack(result, to, &source->source, o, &c->err)
                            : tare_unpack_to(result, &output, &source->source, o, &c->err);
    return py_run_end_source(&c->run, status, &c->err, source, name);
}

/* unpack(source, name, path or descriptor, texts, bases or None, progress): (counts..., findings).
 * Into a descriptor goes the one file of the container. */
static PyObject *core_unpack(PyObject *module, PyObject *args) {
    PyObject *from, *name, *to, *texts, *bases, *progress, *path = NULL, *out = NULL;
    tare_unpack_result r = tare_unpack_result_default();
    py_source own = {0};
    packing c;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "OOOO!OO:unpack", &from, &name, &to, &PyList_Type, &texts, &bases,
                          &progress))
        return NULL;
    bool is_model = PyObject_TypeCheck(from, state->model_type);
    py_handle *handle = is_model ? py_handle_of(state, from) : NULL;
    if (is_model && !handle) return NULL;
    int fd = PyLong_Check(to) ? (int)PyLong_AsLong(to) : -1;
    if ((fd < 0 && !PyUnicode_FSConverter(to, &path)) ||
        (!is_model && !py_source_init(&own, state, from, NULL))) {
        Py_XDECREF(path);
        return NULL;
    }
    Py_XINCREF((PyObject *)handle);
    py_source *source = handle ? &handle->source : &own;
    if (packing_begin(&c, state, TARE_VERB_UNPACK, texts, progress) &&
        run_unpack(&c, source, handle && handle->name ? handle->name : name, path, fd, bases, &r))
        out = Py_BuildValue("NnKKnnnnnNN", PyBool_FromLong(r.is_directory), (Py_ssize_t)r.n_files,
                            (unsigned long long)r.n_bytes, (unsigned long long)r.packed_bytes,
                            (Py_ssize_t)r.n_lost, (Py_ssize_t)r.n_coarse, (Py_ssize_t)r.n_whole,
                            (Py_ssize_t)r.n_tensors_damaged, (Py_ssize_t)r.n_files_lost,
                            PyBool_FromLong(r.is_unchecked), py_findings(c.report));
    packing_clear(&c);
    py_source_clear(&own);
    py_handle_unref(handle);
    Py_XDECREF(path);
    return out;
}

PyMethodDef py_packing_methods[] = {
    {"pack", core_pack, METH_VARARGS, NULL},
    {"pack_part", core_pack_part, METH_VARARGS, NULL},
    {"pack_ladder", core_pack_ladder, METH_VARARGS, NULL},
    {"count_models", core_count_models, METH_O, NULL},
    {"container_files", container_files, METH_O, NULL},
    {"unpack", core_unpack, METH_VARARGS, NULL},
    {0},
};
