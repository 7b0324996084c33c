/* SPDX-License-Identifier: MIT
 *
 * Fields of an INFQ manifest: their names, and values taken out of it with all of their text. */
#include <string.h>

#include "format/infq/infq_read.h"

const char *const tare_infq_field_names[TARE_INFQ_FIELDS] = {
    [TARE_INFQ_NAME] = "name",
    [TARE_INFQ_DTYPE] = "dtype",
    [TARE_INFQ_ROWS] = "rows",
    [TARE_INFQ_COLS] = "cols",
    [TARE_INFQ_BLOCK_SIZE] = "block",
    [TARE_INFQ_SCALE_DTYPE] = "scale_dtype",
    [TARE_INFQ_LAYOUT] = "layout",
    [TARE_INFQ_DATA_FILE] = "data_file",
    [TARE_INFQ_OFFSET_DATA] = "offset_data",
    [TARE_INFQ_OFFSET_SCALES] = "offset_scales",
    [TARE_INFQ_SCALES_FILE] = "scales_file",
    [TARE_INFQ_SHAPE] = "shape",
    [TARE_INFQ_OUTLIERS] = "outliers",
    [TARE_INFQ_SHA256] = "sha256",
    [TARE_INFQ_INDEX] = "index",
};

tare_infq_field tare_infq_find_field(const tare_json_value *key) {
    int f = 0;
    while (f < TARE_INFQ_FIELDS && !tare_json_is(key, tare_infq_field_names[f])) f++;
    return (tare_infq_field)f;
}

const char *const tare_infq_outlier_field_names[TARE_INFQ_OUTLIER_FIELDS] = {
    [TARE_INFQ_OUTLIER_DTYPE] = "outliers.dtype",
    [TARE_INFQ_OUTLIER_FILE] = "outliers.data_file",
    [TARE_INFQ_OUTLIER_OFFSET] = "outliers.offset",
    [TARE_INFQ_OUTLIER_COUNT] = "outliers.count",
    [TARE_INFQ_OUTLIER_BYTES] = "outliers.record_bytes",
    [TARE_INFQ_OUTLIER_LAYOUT] = "outliers.layout",
    [TARE_INFQ_OUTLIER_ALIGN] = "outliers.align",
};

tare_infq_outlier_field tare_infq_find_outlier_field(const tare_json_value *key) {
    int f = 0;
    while (f < TARE_INFQ_OUTLIER_FIELDS &&
           !tare_json_is(key, tare_infq_outlier_field_names[f] + strlen("outliers.")))
        f++;
    return (tare_infq_outlier_field)f;
}

tare_infq_part tare_infq_find_part(const tare_json_value *key) {
    static const char *const names[TARE_INFQ_PARTS] = {"version", "endianness", "tensors",
                                                       "adapters", "tare"};
    int p = 0;
    while (p < TARE_INFQ_PARTS && !tare_json_is(key, names[p])) p++;
    return (tare_infq_part)p;
}

bool tare_infq_fail(tare_infq_reader *r, const tare_json_value *v, const char *what) {
    return tare_json_fail(&r->j, TARE_ERR_CORRUPT, v->offset, what);
}

bool tare_infq_take(tare_infq_reader *r, tare_infq_value *s, const tare_json_value *key) {
    if (s->v.type != TARE_JSON_END)
        return tare_infq_fail(r, key, "manifest: a field is given twice");
    tare_json_next(&r->j, &s->v);
    return tare_json_skip(&r->j, &s->v, &s->text);
}

void tare_infq_pass(tare_infq_reader *r) {
    tare_json_value value;
    tare_json_next(&r->j, &value);
    tare_json_skip(&r->j, &value, NULL);
}

void tare_infq_begin(tare_infq_reader *r, const tare_infq_value *s) {
    tare_json_value v;
    tare_json_init(&r->j, s->text, s->v.offset, r->m->limits.nesting);
    tare_json_begin(&r->j, &v);
}

void tare_infq_error_field(tare_error *err, const tare_infq_place *place, const char *field) {
    tare_error_field(err, place->list, place->index, place->part, field);
}
