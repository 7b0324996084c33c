/* SPDX-License-Identifier: MIT
 *
 * A pre_tokenizer of tokenizer.json as a row of patterns. Stages that are no pattern of their own
 * (Digits, Punctuation, ByteLevel) become the pattern that does the same; others keep their name,
 * which no row of the table has. */
#include <stdio.h>

#include "base/str.h"
#include "llama/tokenizer/pre.h"

/* ByteLevel's own splitting, which is GPT-2's. */
#define GPT2_PATTERN                                                                               \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

typedef struct reader {
    tare_llama_stages *out;
    tare_arena *arena;
} reader;

static tare_status add_stage(reader *r, tare_str pattern, tare_error *err) {
    pattern = tare_llama_normal_pattern(pattern, r->arena);
    if (!pattern.ptr) return tare_fail(err, TARE_ERR_NOMEM, "pre_tokenizer");
    if (r->out->n < TARE_LLAMA_MOST_STAGES)
        r->out->patterns[r->out->n++] = pattern;
    else
        r->out->is_too_long = true;
    return TARE_OK;
}

/* A stage given by a name instead of a pattern: "<Metaspace>". */
static tare_status add_named(reader *r, const tare_json_value *type, const char *detail,
                             tare_str pattern, tare_error *err) {
    tare_str name = type->type == TARE_JSON_STRING ? tare_json_text(type, r->arena) : TARE_STR("?");
    size_t size = name.len + strlen(detail) + pattern.len + 8;
    char *text = tare_arena_take(r->arena, size);
    if (!text || !name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "pre_tokenizer");
    int n = snprintf(text, size, "<%.*s%s%s>%.*s", (int)name.len, name.ptr, *detail ? " " : "",
                     detail, (int)pattern.len, pattern.ptr);
    return add_stage(r, (tare_str){text, (size_t)n}, err);
}

/* The characters of a plain text as a pattern that matches it. */
static tare_str quoted(tare_str text, tare_arena *arena) {
    char *out = tare_arena_take(arena, 2 * text.len);
    size_t n = 0;
    for (size_t i = 0; out && i < text.len; i++) {
        if (text.ptr[i] && strchr("\\^$.|?*+()[]{}", text.ptr[i])) out[n++] = '\\';
        out[n++] = text.ptr[i];
    }
    return (tare_str){out, n};
}

/* {"type": "Split", "pattern": {"Regex": ...} or {"String": ...}, "behavior", "invert"} */
static tare_status read_split(reader *r, const tare_json_value *stage, tare_error *err) {
    static const char *const names[] = {"pattern", "behavior", "invert", "type"};
    static const char *const kinds[] = {"Regex", "String"};
    tare_json_value v[4], kind[2];
    tare_str pattern = {"", 0};
    tare_json_span_members(stage, names, v, 4);
    tare_json_span_members(&v[0], kinds, kind, 2);
    if (kind[0].type == TARE_JSON_STRING) pattern = tare_json_text(&kind[0], r->arena);
    if (kind[1].type == TARE_JSON_STRING) {
        pattern = tare_json_text(&kind[1], r->arena);
        if (pattern.ptr) pattern = quoted(pattern, r->arena);
    }
    if (!pattern.ptr) return tare_fail(err, TARE_ERR_NOMEM, "pre_tokenizer");
    bool is_inverted = tare_json_span_bool(&v[2], false);
    /* What is between the matches of an inverted pattern goes, and nothing is between them. */
    if (tare_json_is(&v[1], "Isolated") || (tare_json_is(&v[1], "Removed") && is_inverted))
        return add_stage(r, pattern, err);
    tare_str behavior =
        v[1].type == TARE_JSON_STRING ? tare_json_text(&v[1], r->arena) : TARE_STR("?");
    char detail[64];
    snprintf(detail, sizeof detail, "%.*s%s", behavior.ptr ? (int)behavior.len : 0,
             behavior.ptr ? behavior.ptr : "", is_inverted ? " inverted" : "");
    return add_named(r, &v[3], detail, pattern, err);
}

static tare_status read_byte_level(reader *r, const tare_json_value *stage, tare_error *err) {
    static const char *const names[] = {"use_regex", "add_prefix_space"};
    tare_json_value v[2];
    tare_json_span_members(stage, names, v, 2);
    r->out->has_byte_alphabet = true;
    if (tare_json_span_bool(&v[1], true)) r->out->adds_blank = true;
    return tare_json_span_bool(&v[0], true) ? add_stage(r, TARE_STR(GPT2_PATTERN), err) : TARE_OK;
}

static tare_status read_stage(reader *r, const tare_json_value *stage, unsigned depth,
                              tare_error *err);

static tare_status read_sequence(reader *r, const tare_json_value *stage, unsigned depth,
                                 tare_error *err) {
    tare_json_value list = tare_json_span_member(stage, "pretokenizers"), v;
    tare_json j;
    if (depth == 0)
        return tare_fail_at(err, TARE_ERR_LIMIT, stage->offset,
                            "pre_tokenizer: sequences are nested too deeply");
    tare_json_span_array(&j, &list);
    while (tare_json_span_next(&j, &v) != TARE_JSON_END)
        TARE_TRY(read_stage(r, &v, depth - 1, err));
    return TARE_OK;
}

static tare_status read_stage(reader *r, const tare_json_value *stage, unsigned depth,
                              tare_error *err) {
    static const char *const names[] = {"type", "individual_digits", "behavior"};
    tare_json_value v[3];
    tare_json_span_members(stage, names, v, 3);
    if (tare_json_is(&v[0], "Sequence")) return read_sequence(r, stage, depth, err);
    if (tare_json_is(&v[0], "Split")) return read_split(r, stage, err);
    if (tare_json_is(&v[0], "ByteLevel")) return read_byte_level(r, stage, err);
    if (tare_json_is(&v[0], "Digits"))
        return add_stage(
            r, tare_json_span_bool(&v[1], false) ? TARE_STR("\\p{N}") : TARE_STR("\\p{N}+"), err);
    if (tare_json_is(&v[0], "Punctuation") && tare_json_is(&v[2], "Contiguous"))
        return add_stage(r, TARE_STR("[\\p{P}\\$\\+<=>\\^~\\|`]+"), err);
    if (tare_json_is(&v[0], "Punctuation") &&
        (tare_json_is(&v[2], "Isolated") || v[2].type == TARE_JSON_END))
        return add_stage(r, TARE_STR("[\\p{P}!-/:-@\\[-`{-~]"), err);
    return add_named(r, &v[0], "", (tare_str){"", 0}, err);
}

tare_status tare_llama_read_stages(tare_llama_stages *out, const tare_json_value *pre_tokenizer,
                                   tare_arena *arena, tare_error *err) {
    reader r = {out, arena};
    *out = (tare_llama_stages){.n = 0};
    if (pre_tokenizer->type == TARE_JSON_END) return TARE_OK;
    return read_stage(&r, pre_tokenizer, 8, err);
}
