/* SPDX-License-Identifier: MIT
 *
 * A pull reader for untrusted JSON: byte positions, raw spans, bounded depth, no allocation. RFC
 * 8259 to the letter, or what Python writes and its users' editors make of it; duplicate keys are
 * the caller's to judge. */
#ifndef TARE_BASE_JSON_H
#define TARE_BASE_JSON_H

#include <tare/private/json_document.h>

#include "base/alloc.h"

#define TARE_JSON_MAX_DEPTH 64 /* one bit of tare_json.objects a level */

typedef struct tare_json {
    const char *base, *pos, *end;
    uint64_t base_offset; /* of base[0] in its file */
    uint32_t depth, max_depth;
    uint64_t objects; /* bit d: the container open at depth d + 1 is an object */
    uint8_t state;
    bool is_python;
    tare_error err;
} tare_json;

/* One value. raw: its text, from the first to the last character (containers: only the opening
 * bracket). offset: of raw in the file. */
typedef struct tare_json_value {
    tare_json_type type;
    tare_str raw;
    uint64_t offset;
} tare_json_value;

/* max_depth: how many containers may be open at once, at most TARE_JSON_MAX_DEPTH; a deeper one is
 * a LIMIT failure. All other faults are CORRUPT. */
void tare_json_init(tare_json *j, tare_str text, uint64_t base_offset, uint32_t max_depth);
/* The same for files beside weights, which Python's json.dump writes: Infinity, -Infinity and NaN
 * are NUMBERs too, which none of the functions below takes for one, and a byte order mark may stand
 * before the document. */
void tare_json_init_python(tare_json *j, tare_str text, uint64_t base_offset, uint32_t max_depth);
/* The document's value; call once, first. */
tare_json_type tare_json_begin(tare_json *j, tare_json_value *v);
/* The next key (a STRING value) of the object that is open; END after its brace is consumed. */
tare_json_type tare_json_key(tare_json *j, tare_json_value *key);
/* The value of the key just read, or the next element of the array that is open (END: its bracket
 * is consumed). OBJECT and ARRAY are open afterwards: walk them or tare_json_skip. */
tare_json_type tare_json_next(tare_json *j, tare_json_value *v);
/* Skips the rest of the container that `v` opened, which must be the innermost open one; *raw (may
 * be NULL) is its whole text. Other values are already complete: only *raw is set. */
bool tare_json_skip(tare_json *j, const tare_json_value *v, tare_str *raw);
/* After the document's value: only white space follows, else CORRUPT. */
bool tare_json_finish(tare_json *j);
/* Latches a failure at byte `offset` of the file (unless one is latched already); returns false. */
bool tare_json_fail(tare_json *j, tare_status status, uint64_t offset, const char *what);
tare_status tare_json_status(const tare_json *j, tare_error *err);
/* A document as Python writes it, read to its end: *out, which may be NULL, is its value with its
 * whole text. */
tare_status tare_json_whole(tare_json_value *out, tare_str text, tare_error *err);

/* The text of a STRING value without quotes and escapes: borrowed from raw where it has no escape,
 * else in the arena. ptr NULL: memory is out. (Lone surrogates are refused while scanning.) */
tare_str tare_json_text(const tare_json_value *v, tare_arena *arena);
/* Whether a value is a STRING of this text, however it is escaped. */
bool tare_json_is(const tare_json_value *v, const char *text);
/* A NUMBER that is a whole number 0..2^64-1, written without sign, fraction or exponent. */
bool tare_json_u64(const tare_json_value *v, uint64_t *out);
bool tare_json_i64(const tare_json_value *v, int64_t *out);
/* Any NUMBER of at most 1,024 digits that is finite as a double, rounded correctly. */
bool tare_json_f64(const tare_json_value *v, double *out);

#endif
