/* SPDX-License-Identifier: MIT
 *
 * Touches everything an opened model has; see visit.h. Results are folded into a volatile sum, so
 * that no read can be left out by the compiler. */
#include "visit.h"

#include <stdlib.h>
#include <string.h>

#define DECODED     64 /* tensors of a model of which a row is decoded: each takes a scratch buffer */
#define HEAD        4096   /* bytes read from either end of a plane */
#define ROW_COLS    65536  /* longer rows are not decoded: memory stays small */
#define ARRAY_STEPS 100000 /* elements visited in one array */

static volatile uint64_t sink;

static void touch(const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum += p[i];
    sink += sum;
}

static void keep(tare_status *first, tare_status status) {
    if (*first == TARE_OK) *first = status;
}

static void visit_value(const tare_value *v, int depth) {
    uint64_t u;
    double f;
    sink += tare_value_u64(&u, v) + tare_value_f64(&f, v);
    if (v->type == TARE_VALUE_STRING) touch(v->as.s.ptr, v->as.s.len);
    if (v->type != TARE_VALUE_ARRAY || depth > 16) return;
    tare_array_walk walk;
    tare_value element;
    tare_array_begin(&walk, &v->as.a);
    for (int i = 0; i < ARRAY_STEPS && tare_array_next(&element, &walk); i++) {
        visit_value(&element, depth + 1);
    }
}

/* The plane's bytes at `offset`, at most HEAD of them, in whole units of the plane. */
static tare_status read_part(const tare_model *m, size_t tensor, uint32_t plane, bool at_end) {
    const tare_tensor *t = tare_model_tensor(m, tensor);
    uint32_t unit = t->encoding->planes[plane].unit_bytes;
    uint64_t size = t->planes[plane].size;
    if (unit == 0) unit = 1;
    uint64_t n = size < HEAD ? size : HEAD / unit * unit;
    uint8_t *buf = malloc(n ? (size_t)n : 1);
    if (buf == NULL) return TARE_ERR_NOMEM;
    tare_status s = tare_tensor_read(buf, m, tensor, plane, at_end ? size - n : 0, (size_t)n, NULL);
    if (s == TARE_OK) touch(buf, (size_t)n);
    free(buf);
    return s;
}

tare_status visit_tensor(const tare_model *m, size_t tensor) {
    const tare_tensor *t = tare_model_tensor(m, tensor);
    tare_status first = TARE_OK;
    if (t == NULL) return TARE_ERR_ARG;
    uint32_t n_planes = t->encoding->id == TARE_ENCODING_UNKNOWN ? 1 : t->encoding->n_planes;
    for (uint32_t p = 0; p < n_planes; p++) {
        keep(&first, read_part(m, tensor, p, false));
        keep(&first, read_part(m, tensor, p, true));
    }
    if (tensor < DECODED && t->n_rows > 0 && t->cols > 0 && t->cols <= ROW_COLS &&
        tare_tensor_can_decode(m, tensor)) {
        float *row = malloc((size_t)t->cols * sizeof *row);
        if (row == NULL) return TARE_ERR_NOMEM;
        tare_status s = tare_tensor_rows_f32(row, m, tensor, t->n_rows - 1, 1, NULL);
        if (s == TARE_OK) touch(row, (size_t)t->cols * sizeof *row);
        keep(&first, s);
        free(row);
    }
    return first;
}

static tare_status visit_resource(const tare_model *m, size_t i) {
    const tare_resource *r = tare_model_resource(m, i);
    size_t n = r->size < HEAD ? (size_t)r->size : HEAD;
    uint8_t buf[HEAD];
    tare_status s = tare_resource_read(buf, m, i, r->size - n, n, NULL);
    if (s == TARE_OK) touch(buf, n);
    return tare_model_find_resource(m, r->name) < 0 ? TARE_ERR_ARG : s;
}

tare_status visit_model(const tare_model *m) {
    tare_status first = TARE_OK;
    uint64_t number;
    const tare_metadata *k;
    for (size_t i = 0; (k = tare_model_metadata(m, i)) != NULL; i++) {
        touch(k->key.ptr, k->key.len);
        visit_value(&k->value, 0);
        if (tare_model_find_key(m, k->key) < 0) keep(&first, TARE_ERR_ARG);
    }
    for (int p = 0; p < TARE_PARAM_COUNT; p++) sink += tare_model_param(&number, m, (tare_param)p);
    tare_str architecture = tare_model_architecture(m);
    touch(architecture.ptr, architecture.len);
    const tare_tensor *t;
    for (size_t i = 0; (t = tare_model_tensor(m, i)) != NULL; i++) {
        if (tare_model_find_tensor(m, t->name) != (int64_t)i) keep(&first, TARE_ERR_ARG);
        touch(t->dims, t->n_dims * sizeof *t->dims);
        const char *scheme = tare_tensor_scheme(m, i);
        if (scheme != NULL) touch(scheme, strlen(scheme));
        keep(&first, visit_tensor(m, i));
    }
    for (size_t i = 0; tare_model_resource(m, i) != NULL; i++) keep(&first, visit_resource(m, i));
    const tare_file_info *file;
    for (size_t i = 0; (file = tare_model_file(m, i)) != NULL; i++)
        touch(file->name, strlen(file->name));
    return first;
}
