/* SPDX-License-Identifier: MIT
 *
 * Layers of the weight codec in memory: the object, and the parts that it is described by. */
#ifndef PY_CODED_H
#define PY_CODED_H

#include "py_core.h"

typedef struct py_coded {
    PyObject_HEAD py_state *state;
    tare_coded *coded;
    PyObject *keep; /* the handle of a model, or a list of buffers: what the layer refers to */
} py_coded;

py_coded *py_coded_new(py_state *state);

/* The bytes of an object, held by the list (py_hold), as the base of a region of so many bytes,
 * which it must have. */
const void *py_coded_base(PyObject *list, PyObject *object, Py_ssize_t region, uint64_t bytes);
/* Fields from a list of dicts, in memory of the scratch. */
tare_coded_field *py_coded_fields(py_scratch *scratch, PyObject *from, size_t *n);
/* (region, value_bits, stride, offset, width, bytes, segment_bytes, head_bytes, sizes, is_big_endian,
 * log2_segment, join) of each stream; join: (high_offset, high_bits, log2_values, place) or None. */
PyObject *py_coded_streams(const tare_coded_layer *layer);
/* coded_open(data, region_bytes, crc, [(field, sizes, head_bytes), ...], bases) */
PyObject *py_coded_open(PyObject *module, PyObject *args);

#endif
