/* SPDX-License-Identifier: MIT
 *
 * The parts of a layer: fields as Python programs state them, streams as they see them, and layers
 * that are opened again from these. */
#include <string.h>

#include "py_coded.h"

py_coded *py_coded_new(py_state *state) {
    py_coded *self = (py_coded *)PyType_GenericAlloc(state->coded_type, 0);
    if (self) self->state = state;
    return self;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static const py_option field_options[] = {
    {"region", PY_OPTION_U8, offsetof(tare_coded_field, region), NULL},
    {"value_bits", PY_OPTION_U8, offsetof(tare_coded_field, value_bits), NULL},
    {"log2_segment", PY_OPTION_U8, offsetof(tare_coded_field, log2_segment), NULL},
    {"is_big_endian", PY_OPTION_BOOL, offsetof(tare_coded_field, is_big_endian), NULL},
    {"stride", PY_OPTION_U32, offsetof(tare_coded_field, stride), NULL},
    {"offset", PY_OPTION_U32, offsetof(tare_coded_field, offset), NULL},
    {"width", PY_OPTION_U32, offsetof(tare_coded_field, width), NULL},
    {"is_signed", PY_OPTION_BOOL, offsetof(tare_coded_field, is_signed), NULL},
    {"is_repetitive", PY_OPTION_BOOL, offsetof(tare_coded_field, is_repetitive), NULL},
    {"trellis", PY_OPTION_U8, offsetof(tare_coded_field, trellis), NULL},
    {"mode", PY_OPTION_U8, offsetof(tare_coded_field, mode), NULL},
    {"row", PY_OPTION_U32, offsetof(tare_coded_field, row), NULL},
    {"scale_stream", PY_OPTION_U8, offsetof(tare_coded_field, scale_stream), NULL},
    {"scale_form", PY_OPTION_U8, offsetof(tare_coded_field, scale_form), NULL},
    {"values_per_scale", PY_OPTION_U32, offsetof(tare_coded_field, values_per_scale), NULL},
    {"is_packed_scales", PY_OPTION_BOOL, offsetof(tare_coded_field, is_packed_scales), NULL},
    {"join", PY_OPTION_STRUCT, offsetof(tare_coded_field, join), NULL},
    {0},
};

static const py_option join_options[] = {
    {"high_offset", PY_OPTION_U32, offsetof(tare_coded_join, high_offset), NULL},
    {"high_bits", PY_OPTION_U8, offsetof(tare_coded_join, high_bits), NULL},
    {"log2_values", PY_OPTION_U8, offsetof(tare_coded_join, log2_values), NULL},
    {"place", PY_OPTION_STRUCT, offsetof(tare_coded_join, place), NULL},
    {0},
};

static bool parse_join(tare_coded_join *join, PyObject *given) {
    PyObject *place =
        py_options_only(join_options, "join", given) && py_options_set(join, join_options, given)
            ? py_options_get(given, "place")
            : NULL;
    if (!place) return !PyErr_Occurred();
    PyObject *bytes = PyBytes_FromObject(place);
    Py_ssize_t n = bytes ? PyBytes_Size(bytes) : -1;
    if (n > (Py_ssize_t)sizeof join->place) PyErr_SetString(PyExc_ValueError, "place: too long");
    bool ok = n >= 0 && n <= (Py_ssize_t)sizeof join->place;
    if (ok) memcpy(join->place, PyBytes_AsString(bytes), (size_t)n);
    Py_XDECREF(bytes);
    return ok;
}

static bool parse_field(tare_coded_field *field, PyObject *given) {
    if (!py_options_only(field_options, "fields", given) ||
        !py_options_set(field, field_options, given))
        return false;
    PyObject *join = py_options_get(given, "join");
    return !join || parse_join(&field->join, join);
}

tare_coded_field *py_coded_fields(py_scratch *scratch, PyObject *from, size_t *n) {
    Py_ssize_t count = PyList_Size(from);
    if (count < 0) return NULL;
    tare_coded_field *fields = py_scratch_array(scratch, (size_t)count, sizeof *fields);
    for (Py_ssize_t i = 0; fields && i < count; i++)
        if (!parse_field(&fields[i], PyList_GetItem(from, i))) return NULL;
    *n = (size_t)count;
    return fields;
}

/* ---- streams --------------------------------------------------------------------------------- */

static PyObject *sizes_of(const tare_coded_stream *s) {
    PyObject *sizes = PyTuple_New((Py_ssize_t)s->n_segments);
    for (Py_ssize_t i = 0; sizes && i < (Py_ssize_t)s->n_segments; i++) {
        PyObject *n = PyLong_FromUnsignedLongLong((uint64_t)s->sizes[i] * TARE_CODED_UNIT);
        if (!n)
            Py_CLEAR(sizes);
        else
            PyTuple_SetItem(sizes, i, n);
    }
    return sizes;
}

static PyObject *join_of(const tare_coded_join *join) {
    if (!join->high_bits) Py_RETURN_NONE;
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)join->place, join->log2_values);
    PyObject *place = bytes ? PySequence_Tuple(bytes) : NULL;
    Py_XDECREF(bytes);
    return place ? Py_BuildValue("IiiN", (unsigned)join->high_offset, (int)join->high_bits,
                                 (int)join->log2_values, place)
                 : NULL;
}

static PyObject *stream_row(const tare_coded_stream *s) {
    const tare_coded_field *f = &s->field;
    return Py_BuildValue("iiIIIKKINNiN", (int)f->region, (int)f->value_bits, (unsigned)f->stride,
                         (unsigned)f->offset, (unsigned)f->width, (unsigned long long)s->n_bytes,
                         (unsigned long long)s->segment_bytes, (unsigned)s->head_bytes, sizes_of(s),
                         PyBool_FromLong(f->is_big_endian), (int)f->log2_segment,
                         join_of(&f->join));
}

PyObject *py_coded_streams(const tare_coded_layer *layer) {
    PyObject *out = PyList_New(0);
    for (unsigned i = 0; out && i < layer->n_streams; i++) {
        PyObject *row = stream_row(&layer->streams[i]);
        if (!py_append(out, row)) Py_CLEAR(out);
    }
    return out;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Stored bytes of segments, in units. */
static bool parse_sizes(py_scratch *scratch, tare_coded_stream *stream, PyObject *from) {
    Py_ssize_t n = PyTuple_Size(from);
    uint32_t *sizes = n < 0 ? NULL : py_scratch_array(scratch, (size_t)n, sizeof *sizes);
    for (Py_ssize_t i = 0; sizes && i < n; i++) {
        unsigned long long bytes = PyLong_AsUnsignedLongLong(PyTuple_GetItem(from, i));
        if (PyErr_Occurred()) return false;
        if (bytes % TARE_CODED_UNIT || bytes / TARE_CODED_UNIT > UINT32_MAX) {
            PyErr_Format(PyExc_ValueError, "sizes: %llu is not a multiple of %d, or too large",
                         bytes, TARE_CODED_UNIT);
            return false;
        }
        sizes[i] = (uint32_t)(bytes / TARE_CODED_UNIT);
    }
    stream->sizes = sizes, stream->n_segments = (uint64_t)n;
    return sizes != NULL;
}

static bool parse_streams(py_scratch *scratch, tare_coded_layer *layer, PyObject *from) {
    Py_ssize_t n = PyList_Size(from);
    if (n > TARE_CODED_MAX_STREAMS)
        PyErr_Format(PyExc_ValueError, "%zd streams; at most %d expected", n,
                     TARE_CODED_MAX_STREAMS);
    if (n < 0 || n > TARE_CODED_MAX_STREAMS) return false;
    tare_coded_stream *streams = py_scratch_array(scratch, (size_t)n, sizeof *streams);
    for (Py_ssize_t i = 0; streams && i < n; i++) {
        PyObject *field, *sizes;
        unsigned head_bytes;
        if (!PyArg_ParseTuple(PyList_GetItem(from, i), "O!O!I", &PyDict_Type, &field, &PyTuple_Type,
                              &sizes, &head_bytes) ||
            !parse_field(&streams[i].field, field) || !parse_sizes(scratch, &streams[i], sizes))
            return false;
        streams[i].head_bytes = head_bytes;
    }
    layer->streams = streams, layer->n_streams = (unsigned)n;
    return streams != NULL;
}

const void *py_coded_base(PyObject *list, PyObject *object, Py_ssize_t region, uint64_t bytes) {
    size_t size;
    const void *base = py_hold(list, object, &size);
    if (!base || size == bytes) return base;
    return PyErr_Format(PyExc_ValueError, "the base of region %zd has %zu bytes, not %llu", region,
                        size, (unsigned long long)bytes);
}

/* As many bases as regions, or none. */
static bool parse_bases(const void **bases, const tare_coded_layer *layer, PyObject *from,
                        PyObject *keep) {
    for (Py_ssize_t i = 0; i < PyList_Size(from); i++) {
        bases[i] = py_coded_base(keep, PyList_GetItem(from, i), i, layer->region_bytes[i]);
        if (!bases[i]) return false;
    }
    return true;
}

static bool parse_regions(tare_coded_layer *layer, PyObject *from, PyObject *bases) {
    Py_ssize_t n = PyTuple_Size(from), n_bases = PyList_Size(bases);
    if (n < 0 || n_bases < 0) return false;
    if (n < 1 || n > TARE_CODED_MAX_REGIONS || (n_bases != 0 && n_bases != n)) {
        PyErr_Format(
            PyExc_ValueError,
            "%zd regions and %zd bases; 1 to %d regions expected, and as many bases or none", n,
            n_bases, TARE_CODED_MAX_REGIONS);
        return false;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        layer->region_bytes[i] = PyLong_AsUnsignedLongLong(PyTuple_GetItem(from, i));
    layer->n_regions = (unsigned)n;
    return !PyErr_Occurred();
}

PyObject *py_coded_open(PyObject *module, PyObject *args) {
    PyObject *data, *regions, *streams, *bases_from;
    unsigned long crc;
    tare_coded_layer layer = {0};
    const void *bases[TARE_CODED_MAX_REGIONS] = {0};
    py_scratch scratch = {0};
    size_t size = 0;
    tare_error err;
    if (!PyArg_ParseTuple(args, "OO!kO!O!:coded_open", &data, &PyTuple_Type, &regions, &crc,
                          &PyList_Type, &streams, &PyList_Type, &bases_from))
        return NULL;
    py_coded *self = py_coded_new(py_state_of(module));
    bool ok = self && (self->keep = PyList_New(0)) &&
              (layer.data = py_hold(self->keep, data, &size)) &&
              parse_regions(&layer, regions, bases_from) &&
              parse_bases(bases, &layer, bases_from, self->keep) &&
              parse_streams(&scratch, &layer, streams);
    layer.size = size, layer.crc = (uint32_t)crc;
    if (ok && tare_coded_open(&self->coded, &layer, PyList_Size(bases_from) ? bases : NULL, NULL,
                              &err) != TARE_OK)
        ok = py_fail(self->state, &err, NULL) != NULL;
    py_scratch_clear(&scratch);
    if (!ok) Py_CLEAR(self);
    return (PyObject *)self;
}
