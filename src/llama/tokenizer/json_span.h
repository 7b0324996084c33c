/* SPDX-License-Identifier: MIT
 *
 * JSON files as spans: a document is checked once as a whole (tare_json_document); after that its
 * values are pieces of its text, whose members are found by walking them. No tree is built. */
#ifndef TARE_LLAMA_JSON_SPAN_H
#define TARE_LLAMA_JSON_SPAN_H

#include "base/json.h"

/* Put a reader into a span that is an array, or an object; any other is over at once. */
void tare_json_span_array(tare_json *j, const tare_json_value *array);
void tare_json_span_object(tare_json *j, const tare_json_value *object);
/* The next element, or the value of the key just read, with the whole of its text. END, however
 * often it is asked for, where the container is over. */
tare_json_type tare_json_span_next(tare_json *j, tare_json_value *v);
/* The members of these names, each the last of its name; type END: there is none, or the value is
 * no object. One walk for all of them. */
void tare_json_span_members(const tare_json_value *object, const char *const *names,
                            tare_json_value *out, size_t n);
tare_json_value tare_json_span_member(const tare_json_value *object, const char *name);
/* TRUE or FALSE; else `otherwise`. */
bool tare_json_span_bool(const tare_json_value *v, bool otherwise);
/* A STRING, or the STRING "content" of an object, which is how configurations give tokens; END:
 * neither. */
tare_json_value tare_json_span_content(const tare_json_value *v);

#endif
