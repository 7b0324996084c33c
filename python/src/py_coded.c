/* SPDX-License-Identifier: MIT
 *
 * Layers of the weight codec in memory (tare/experimental/wcodec.h): arrays encoded without a file, layers of an
 * open .wcodec, and what both are made of. */
#include "py_coded.h"

static void coded_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    tare_coded_free(((py_coded *)self)->coded);
    Py_XDECREF(((py_coded *)self)->keep);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* The regions of a call, and their buffers; those of the bases outlive it. */
typedef struct region_list {
    tare_coded_region regions[TARE_CODED_MAX_REGIONS];
    Py_buffer views[TARE_CODED_MAX_REGIONS];
    size_t n;
    PyObject *bases;
} region_list;

static void regions_clear(region_list *list) {
    for (size_t i = 0; i < list->n; i++) PyBuffer_Release(&list->views[i]);
    Py_CLEAR(list->bases);
}

/* [(buffer, base or None), ...] */
static bool parse_regions(region_list *list, PyObject *from) {
    Py_ssize_t n = PyList_Size(from);
    *list = (region_list){.bases = PyList_New(0)};
    if (n < 0 || !list->bases) return false;
    if (n == 0 || n > TARE_CODED_MAX_REGIONS) {
        PyErr_Format(PyExc_ValueError, "%zd regions; 1 to %d expected", n, TARE_CODED_MAX_REGIONS);
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *bytes, *base;
        tare_coded_region *region = &list->regions[i];
        if (!PyArg_ParseTuple(PyList_GetItem(from, i), "OO", &bytes, &base) ||
            PyObject_GetBuffer(bytes, &list->views[i], PyBUF_SIMPLE) != 0)
            return false;
        list->n++;
        region->bytes = list->views[i].buf, region->size = (size_t)list->views[i].len;
        if (base == Py_None) continue;
        region->base = py_coded_base(list->bases, base, i, region->size);
        if (!region->base) return false;
    }
    return true;
}

static bool run_encode(py_coded *self, const region_list *regions, const tare_coded_field *fields,
                       size_t n_fields, const tare_coded_options *options, tare_context *context,
                       PyObject *progress) {
    tare_error err;
    py_run run;
    py_source none = {0};
    if (!py_run_init(&run, self->state, progress)) return false;
    py_run_join(context, &run);
    py_run_begin(&run);
    tare_status status = tare_coded_encode(&self->coded, regions->regions, regions->n, fields,
                                           n_fields, options, &err);
    return py_run_end_source(&run, status, &err, &none, NULL);
}

/* coded_encode(regions, fields, is_full, (shapes, predictors, transforms), threads, progress) */
static PyObject *coded_encode(PyObject *module, PyObject *args) {
    PyObject *from, *fields_from, *progress;
    tare_coded_options options = tare_coded_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    int is_full;
    region_list regions;
    py_scratch scratch = {0};
    size_t n_fields;
    if (!PyArg_ParseTuple(args, "O!O!p(III)IO:coded_encode", &PyList_Type, &from, &PyList_Type,
                          &fields_from, &is_full, &options.tiles.shapes, &options.tiles.predictors,
                          &options.tiles.transforms, &context.threads, &progress))
        return NULL;
    options.is_full = is_full != 0;
    py_coded *self = NULL;
    const tare_coded_field *fields = NULL;
    if (parse_regions(&regions, from)) fields = py_coded_fields(&scratch, fields_from, &n_fields);
    if (fields) self = py_coded_new(py_state_of(module));
    if (self) self->keep = Py_NewRef(regions.bases);
    if (self && !run_encode(self, &regions, fields, n_fields, &options, &context, progress))
        Py_CLEAR(self);
    regions_clear(&regions);
    py_scratch_clear(&scratch);
    return (PyObject *)self;
}

/* ---- layers of a model ----------------------------------------------------------------------- */

/* container_layers(model): (kind, name, encoding or -1, shape, bytes, packed bytes) of each layer. */
static PyObject *container_layers(PyObject *module, PyObject *model) {
    py_handle *handle = py_handle_of(py_state_of(module), model);
    PyObject *out = handle ? PyList_New(0) : NULL;
    tare_container_layer l = tare_container_layer_default();
    for (size_t i = 0; out && tare_model_container_layer(&l, handle->model, i); i++) {
        PyObject *row =
            Py_BuildValue("iNiNKK", (int)l.kind, py_text(l.name),
                          l.encoding ? (int)l.encoding->id : -1, py_dims(l.dims, l.n_dims),
                          (unsigned long long)l.from_bytes, (unsigned long long)l.to_bytes);
        if (!py_append(out, row)) Py_CLEAR(out);
    }
    return out;
}

/* layer_coded(model, i): the layer as it is stored. */
static PyObject *layer_coded(PyObject *module, PyObject *args) {
    PyObject *model;
    Py_ssize_t i;
    tare_error err;
    py_run run;
    py_state *state = py_state_of(module);
    if (!PyArg_ParseTuple(args, "On:layer_coded", &model, &i)) return NULL;
    py_handle *handle = py_handle_of(state, model);
    py_coded *self = handle && py_run_init(&run, state, NULL) ? py_coded_new(state) : NULL;
    if (!self) return NULL;
    self->keep = Py_NewRef((PyObject *)handle);
    py_run_begin(&run);
    tare_status status = tare_model_layer_coded(&self->coded, handle->model, (size_t)i, NULL, &err);
    if (!py_run_end(&run, status, &err, handle)) Py_CLEAR(self);
    return (PyObject *)self;
}

/* ---- what it consists of --------------------------------------------------------------------- */

static const tare_coded_layer *layer_of(PyObject *self) {
    return tare_coded_describe(((py_coded *)self)->coded);
}

static PyObject *get_size(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(layer_of(self)->size);
}

static PyObject *get_crc(PyObject *self, void *unused) {
    (void)unused;
    return PyLong_FromUnsignedLong(layer_of(self)->crc);
}

static PyObject *get_region_bytes(PyObject *self, void *unused) {
    (void)unused;
    return py_dims(layer_of(self)->region_bytes, layer_of(self)->n_regions);
}

static PyObject *get_streams(PyObject *self, void *unused) {
    (void)unused;
    return py_coded_streams(layer_of(self));
}

/* A call without the GIL has ended: raises what went wrong, in a reader perhaps. */
static bool ended(py_coded *self, tare_status status, const tare_error *err) {
    bool is_of_model = self->keep && Py_TYPE(self->keep) == self->state->handle_type;
    py_handle *handle = is_of_model ? (py_handle *)self->keep : NULL;
    if (status == TARE_OK) return true;
    if (!handle || py_source_raise(&py_handle_root(handle)->source))
        py_fail(self->state, err, handle ? handle->name : NULL);
    return false;
}

/* segment(stream, i): (mode, predictor, bytes, stored bytes, crc) */
static PyObject *coded_segment(PyObject *object, PyObject *args) {
    py_coded *self = (py_coded *)object;
    tare_coded_segment s = tare_coded_segment_default();
    unsigned stream;
    unsigned long long i;
    tare_error err;
    tare_status status;
    if (!PyArg_ParseTuple(args, "IK:segment", &stream, &i)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    status = tare_coded_parse_segment(&s, self->coded, stream, i, &err);
    Py_END_ALLOW_THREADS;
    if (!ended(self, status, &err)) return NULL;
    return Py_BuildValue("iiIIk", (int)s.mode, (int)s.predictor, (unsigned)s.n_bytes,
                         (unsigned)s.stored_bytes, (unsigned long)s.crc);
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* Fills a buffer without the GIL. */
typedef struct fill {
    py_coded *self;
    Py_buffer view;
    tare_coded_options options;
    tare_context context;
    tare_error err;
    tare_status status;
} fill;

static PyObject *fill_end(fill *f) {
    PyBuffer_Release(&f->view);
    if (!ended(f->self, f->status, &f->err)) return NULL;
    Py_RETURN_NONE;
}

/* region(buffer, i, offset, threads): its bytes from `offset` on, as many as the buffer takes. */
static PyObject *coded_region(PyObject *self, PyObject *args) {
    fill f = {.self = (py_coded *)self,
              .options = tare_coded_options_default(),
              .context = tare_context_default()};
    f.options.context = &f.context;
    unsigned region;
    unsigned long long offset;
    if (!PyArg_ParseTuple(args, "w*IKI:region", &f.view, &region, &offset, &f.context.threads))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    f.status = tare_coded_decode_region(f.view.buf, f.self->coded, region, offset,
                                        (size_t)f.view.len, &f.options, &f.err);
    Py_END_ALLOW_THREADS;
    return fill_end(&f);
}

/* stored(buffer, position): stored bytes, as many as the buffer takes. */
static PyObject *coded_stored(PyObject *self, PyObject *args) {
    fill f = {.self = (py_coded *)self};
    unsigned long long position;
    if (!PyArg_ParseTuple(args, "w*K:stored", &f.view, &position)) return NULL;
    Py_BEGIN_ALLOW_THREADS;
    f.status = tare_coded_read(f.view.buf, f.self->coded, position, (size_t)f.view.len, &f.err);
    Py_END_ALLOW_THREADS;
    return fill_end(&f);
}

/* Decoded bytes of n segments; false, with an exception: there are no such segments. */
static bool segments_size(PyObject *self, unsigned stream, uint64_t first, uint64_t n,
                          uint64_t *out) {
    const tare_coded_layer *layer = layer_of(self);
    const tare_coded_stream *s = stream < layer->n_streams ? &layer->streams[stream] : NULL;
    if (!s || first > s->n_segments || n > s->n_segments - first) {
        PyErr_SetString(PyExc_IndexError, "there are no such segments");
        return false;
    }
    uint64_t end = (first + n) * s->segment_bytes, begin = first * s->segment_bytes;
    *out = n ? (end < s->n_bytes ? end : s->n_bytes) - begin : 0;
    return true;
}

/* segments_size(stream, first, n) */
static PyObject *coded_segments_size(PyObject *self, PyObject *args) {
    unsigned stream;
    unsigned long long first, n;
    uint64_t size;
    if (!PyArg_ParseTuple(args, "IKK:segments_size", &stream, &first, &n)) return NULL;
    if (!segments_size(self, stream, first, n, &size)) return NULL;
    return PyLong_FromUnsignedLongLong(size);
}

/* segments(buffer, stream, first, n, threads): the buffer has segments_size() bytes. */
static PyObject *coded_segments(PyObject *self, PyObject *args) {
    fill f = {.self = (py_coded *)self,
              .options = tare_coded_options_default(),
              .context = tare_context_default()};
    f.options.context = &f.context;
    unsigned stream;
    unsigned long long first, n;
    uint64_t size;
    if (!PyArg_ParseTuple(args, "w*IKKI:segments", &f.view, &stream, &first, &n,
                          &f.context.threads))
        return NULL;
    bool ok = segments_size(self, stream, first, n, &size);
    if (ok && size != (uint64_t)f.view.len)
        PyErr_Format(PyExc_ValueError, "a buffer of %zd bytes for %llu", f.view.len,
                     (unsigned long long)size);
    if (!ok || size != (uint64_t)f.view.len) {
        PyBuffer_Release(&f.view);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    f.status =
        tare_coded_decode_segments(f.view.buf, f.self->coded, stream, first, n, &f.options, &f.err);
    Py_END_ALLOW_THREADS;
    return fill_end(&f);
}

static PyMethodDef coded_methods[] = {
    {"segment", coded_segment, METH_VARARGS, NULL},
    {"region", coded_region, METH_VARARGS, NULL},
    {"stored", coded_stored, METH_VARARGS, NULL},
    {"segments_size", coded_segments_size, METH_VARARGS, NULL},
    {"segments", coded_segments, METH_VARARGS, NULL},
    {0},
};

static PyGetSetDef coded_getters[] = {
    {"size", get_size, NULL, NULL, NULL},
    {"crc", get_crc, NULL, NULL, NULL},
    {"region_bytes", get_region_bytes, NULL, NULL, NULL},
    {"streams", get_streams, NULL, NULL, NULL},
    {0},
};

static PyType_Slot coded_slots[] = {
    {Py_tp_dealloc, (void *)coded_dealloc},
    {Py_tp_methods, coded_methods},
    {Py_tp_getset, coded_getters},
    {0, NULL},
};

PyType_Spec py_coded_spec = {
    .name = "tare._core.Coded",
    .basicsize = sizeof(py_coded),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = coded_slots,
};

PyMethodDef py_coded_methods[] = {
    {"coded_encode", coded_encode, METH_VARARGS, NULL},
    {"coded_open", py_coded_open, METH_VARARGS, NULL},
    {"container_layers", container_layers, METH_O, NULL},
    {"layer_coded", layer_coded, METH_VARARGS, NULL},
    {0},
};
