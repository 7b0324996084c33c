/* SPDX-License-Identifier: MIT */
#include "model/own_record.h"

enum { MAX_DEPTH = 8 };

tare_status tare_own_record_read(tare_str text, tare_own_record_member member, void *ctx,
                                 tare_error *err) {
    tare_json j;
    tare_json_value v, key;
    tare_json_init(&j, text, 0, MAX_DEPTH);
    bool ok = tare_json_begin(&j, &v) == TARE_JSON_OBJECT ||
              tare_json_fail(&j, TARE_ERR_CORRUPT, v.offset, "record: expected an object");
    while (ok && tare_json_key(&j, &key) == TARE_JSON_STRING) ok = member(ctx, &j, &key);
    if (ok)
        tare_json_finish(&j);
    else /* unless a failure is latched already */
        tare_json_fail(&j, TARE_ERR_CORRUPT, v.offset, "record: a member has another type");
    return tare_json_status(&j, err);
}

bool tare_own_record_list(tare_json *j,
                          bool (*entry)(void *ctx, tare_json *j, const tare_json_value *at),
                          void *ctx, const char *what) {
    tare_json_value v;
    if (tare_json_next(j, &v) != TARE_JSON_ARRAY)
        return tare_json_fail(j, TARE_ERR_CORRUPT, v.offset, what);
    while (tare_json_next(j, &v) == TARE_JSON_OBJECT)
        if (!entry(ctx, j, &v)) return false;
    return v.type == TARE_JSON_END || tare_json_fail(j, TARE_ERR_CORRUPT, v.offset, what);
}

bool tare_own_record_pass(tare_json *j) {
    tare_json_value v;
    tare_json_next(j, &v);
    return tare_json_skip(j, &v, NULL);
}
