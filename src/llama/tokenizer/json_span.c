/* SPDX-License-Identifier: MIT
 *
 * Spans of checked JSON. A walk over one cannot fail, since the document was read to its end
 * before. */
#include "llama/tokenizer/json_span.h"

#include "base/str.h"

/* Puts a reader into a container of this type; one of another type is taken for an empty one. */
static void open_span(tare_json *j, const tare_json_value *v, tare_json_type type) {
    const tare_json_value empty = {type, {type == TARE_JSON_OBJECT ? "{}" : "[]", 2}, v->offset};
    tare_json_value opened;
    if (v->type != type) v = &empty;
    tare_json_init_python(j, v->raw, v->offset, TARE_JSON_MAX_DEPTH);
    tare_json_begin(j, &opened);
}

void tare_json_span_array(tare_json *j, const tare_json_value *array) {
    open_span(j, array, TARE_JSON_ARRAY);
}

void tare_json_span_object(tare_json *j, const tare_json_value *object) {
    open_span(j, object, TARE_JSON_OBJECT);
}

tare_json_type tare_json_span_next(tare_json *j, tare_json_value *v) {
    *v = (tare_json_value){.type = TARE_JSON_END, .raw = {j->pos, 0}};
    if (j->depth == 0) return TARE_JSON_END; /* the container is over */
    if (tare_json_next(j, v) != TARE_JSON_END) tare_json_skip(j, v, &v->raw);
    return v->type;
}

void tare_json_span_members(const tare_json_value *object, const char *const *names,
                            tare_json_value *out, size_t n) {
    tare_json j;
    tare_json_value key, value;
    for (size_t i = 0; i < n; i++) out[i] = (tare_json_value){.type = TARE_JSON_END};
    tare_json_span_object(&j, object);
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        tare_json_span_next(&j, &value);
        for (size_t i = 0; i < n; i++)
            if (tare_json_is(&key, names[i])) out[i] = value;
    }
}

tare_json_value tare_json_span_member(const tare_json_value *object, const char *name) {
    tare_json_value value;
    tare_json_span_members(object, &name, &value, 1);
    return value;
}

bool tare_json_span_bool(const tare_json_value *v, bool otherwise) {
    return v->type == TARE_JSON_TRUE || (v->type != TARE_JSON_FALSE && otherwise);
}

tare_json_value tare_json_span_content(const tare_json_value *v) {
    tare_json_value content = *v;
    if (v->type == TARE_JSON_OBJECT) content = tare_json_span_member(v, "content");
    if (content.type != TARE_JSON_STRING) content.type = TARE_JSON_END;
    return content;
}
