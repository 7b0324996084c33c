/* SPDX-License-Identifier: MIT
 *
 * Spans of checked JSON. A walk over one cannot fail, since the document was read to its end
 * before. */
#include "llama/tokenizer/json_span.h"

#include "base/str.h"

tare_status tare_json_span_document(tare_json_value *out, tare_str text, tare_error *err) {
    tare_json j;
    tare_json_init(&j, text, 0, TARE_JSON_MAX_DEPTH);
    tare_json_begin(&j, out);
    tare_json_skip(&j, out, &out->raw);
    tare_json_finish(&j);
    return tare_json_status(&j, err);
}

static bool is_container(const tare_json_value *v) {
    return v->type == TARE_JSON_OBJECT || v->type == TARE_JSON_ARRAY;
}

void tare_json_span_open(tare_json *j, const tare_json_value *container) {
    static const tare_json_value nothing = {.type = TARE_JSON_ARRAY, .raw = {"[]", 2}};
    tare_json_value opened;
    if (!is_container(container)) container = &nothing;
    tare_json_init(j, container->raw, container->offset, TARE_JSON_MAX_DEPTH);
    tare_json_begin(j, &opened);
}

tare_json_type tare_json_span_next(tare_json *j, tare_json_value *v) {
    if (tare_json_next(j, v) != TARE_JSON_END) tare_json_skip(j, v, &v->raw);
    return v->type;
}

void tare_json_span_members(const tare_json_value *object, const char *const *names,
                            tare_json_value *out, size_t n) {
    tare_json j;
    tare_json_value key, value;
    for (size_t i = 0; i < n; i++) out[i] = (tare_json_value){.type = TARE_JSON_END};
    if (object->type != TARE_JSON_OBJECT) return;
    tare_json_span_open(&j, object);
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
