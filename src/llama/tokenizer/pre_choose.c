/* SPDX-License-Identifier: MIT
 *
 * From the stages of a pre_tokenizer to a name of tokenizer.ggml.pre. A row of the table says how a
 * text is split; of the names that split so, the flags of the model and, where llama.cpp's
 * converter prefers one by the model's class, a second table choose. There is no default: a text
 * that is split otherwise than the model learned gives another model. */
#include <stdio.h>

#include "base/str.h"
#include "llama/tokenizer/pre.h"

/* ---- looking up ------------------------------------------------------------------------------ */

typedef struct normal_row {
    tare_str patterns[TARE_LLAMA_MOST_STAGES];
    size_t n;
} normal_row;

static tare_status normal_of(normal_row *out, const tare_llama_splitting *row, tare_arena *arena,
                             tare_error *err) {
    out->n = 0;
    while (out->n < TARE_LLAMA_MOST_STAGES && row->patterns[out->n]) {
        tare_str p = tare_llama_normal_pattern(tare_str_of(row->patterns[out->n]), arena);
        if (!p.ptr) return tare_fail(err, TARE_ERR_NOMEM, "pre_tokenizer");
        out->patterns[out->n++] = p;
    }
    return TARE_OK;
}

/* Characters that two patterns share at their beginnings and ends, in thousandths of the longer. */
static unsigned likeness(tare_str a, tare_str b) {
    size_t shorter = a.len < b.len ? a.len : b.len, longer = a.len < b.len ? b.len : a.len;
    size_t front = 0, back = 0;
    while (front < shorter && a.ptr[front] == b.ptr[front]) front++;
    while (back < shorter - front && a.ptr[a.len - 1 - back] == b.ptr[b.len - 1 - back]) back++;
    return longer ? (unsigned)((front + back) * 1000 / longer) : 1000;
}

/* How like a row is: each of its patterns beside the stage that is likest to it. */
static unsigned row_likeness(const normal_row *row, const tare_llama_stages *stages) {
    unsigned sum = 0;
    for (size_t i = 0; i < row->n; i++) {
        unsigned best = 0;
        for (size_t k = 0; k < stages->n; k++) {
            unsigned like = likeness(row->patterns[i], stages->patterns[k]);
            if (like > best) best = like;
        }
        sum += best;
    }
    size_t longer = row->n > stages->n ? row->n : stages->n;
    return longer ? (unsigned)(sum / longer) : 0;
}

static bool is_same(const normal_row *row, const tare_llama_stages *stages) {
    if (row->n != stages->n || stages->is_too_long) return false;
    for (size_t i = 0; i < row->n; i++)
        if (!tare_str_equal(row->patterns[i], stages->patterns[i])) return false;
    return true;
}

/* The row of a splitting; NULL: none is like it. *nearest is what comes closest. */
static tare_status find_splitting(const tare_llama_splitting **out,
                                  const tare_llama_splitting **nearest,
                                  const tare_llama_stages *stages, tare_arena *arena,
                                  tare_error *err) {
    unsigned best = 0;
    const tare_llama_splitting *row;
    *out = *nearest = NULL;
    for (size_t i = 0; (row = tare_llama_splitting_row(i)); i++) {
        normal_row normal;
        TARE_TRY(normal_of(&normal, row, arena, err));
        unsigned like = row_likeness(&normal, stages);
        if (!*nearest || like > best) {
            *nearest = row;
            best = like;
        }
        if (is_same(&normal, stages)) {
            *out = row;
            return TARE_OK;
        }
    }
    return TARE_OK;
}

/* ---- among names of one splitting ------------------------------------------------------------ */

static const char *name_by_class(const tare_llama_tokenizer *t, const char *splitting,
                                 tare_str tokenizer_class) {
    const tare_llama_tie *tie;
    for (size_t i = 0; (tie = tare_llama_tie_row(i)); i++)
        if (strcmp(tie->splitting, splitting) == 0 &&
            tare_str_starts(t->options->hf_class, tare_str_of(tie->hf_class)) &&
            (!tie->tokenizer_class ||
             tare_str_starts(tokenizer_class, tare_str_of(tie->tokenizer_class))) &&
            (tie->vocab_size == 0 || tie->vocab_size == t->options->vocab_size))
            return tie->pre;
    return NULL;
}

/* The first name that ignores merges as the model does and, if there is one, keeps blanks as it
 * does; else the first of the splitting. */
static const tare_llama_pre *name_by_flags(const char *splitting, bool ignores_merges,
                                           bool keeps_blanks) {
    const tare_llama_pre *row, *first = NULL, *best = NULL;
    for (size_t i = 0; (row = tare_llama_pre_row(i)); i++) {
        if (strcmp(row->splitting, splitting) != 0) continue;
        if (!first) first = row;
        if (row->ignores_merges != ignores_merges) continue;
        if (row->keeps_blanks == keeps_blanks) return row;
        if (!best) best = row;
    }
    return best ? best : first;
}

/* What a name is looked for by, and where it stands. */
typedef struct searched {
    const tare_llama_file *file;
    uint64_t offset;
    tare_llama_stages stages;
    tare_str tokenizer_class; /* empty: none is told */
    bool ignores_merges, keeps_blanks;
} searched;

/* ---- telling --------------------------------------------------------------------------------- */

static tare_status fail_unknown(const tare_llama_tokenizer *t, const searched *s,
                                const tare_llama_splitting *nearest, tare_error *err) {
    const tare_llama_file *file = s->file;
    const tare_llama_stages *stages = &s->stages;
    const tare_llama_pre *near =
        nearest ? name_by_flags(nearest->name, s->ignores_merges, true) : NULL;
    for (size_t i = 0; i < stages->n; i++)
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.pre-stage", file->name, "stage %zu: %.*s",
                        i + 1, (int)(stages->patterns[i].len < 400 ? stages->patterns[i].len : 400),
                        stages->patterns[i].ptr);
    if (near)
        tare_llama_note(t, TARE_LEVEL_INFO, "tokenizer.pre-nearest", file->name,
                        "the nearest splitting that llama.cpp has is %s", near->name);
    tare_llama_fail_file(err, TARE_ERR_UNSUPPORTED, file, s->offset,
                         stages->n ? "llama.cpp has no splitting like this: choose one with `pre`"
                                   : "the tokenizer has no pre-tokenizer, but llama.cpp needs one "
                                     "for byte-level BPE: choose it with `pre`");
    if (near) tare_error_detail(err, "pre_tokenizer (nearest: %s)", near->name);
    tare_error_code(err, TARE_CODE_UNKNOWN_PRE);
    return TARE_ERR_UNSUPPORTED;
}

static void note_differences(const tare_llama_tokenizer *t, const tare_llama_stages *stages) {
    if (stages->adds_blank)
        tare_llama_note(
            t, TARE_LEVEL_WARNING, "tokenizer.prefix-space", t->json.file.name,
            "pre_tokenizer.add_prefix_space: llama.cpp adds no leading space for a byte-level BPE");
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* BOS is added by default under some names: where the model's files do not ask for it, the key
 * says so. */
static void state_bos(tare_llama_tokenizer *t) {
    const tare_llama_pre *row = tare_llama_pre_find(t->pre);
    t->needs_add_bos = row && row->adds_bos;
}

tare_status tare_llama_set_pre(tare_llama_tokenizer *t, const char *name, tare_error *err) {
    t->pre = tare_str_of(name);
    if (!tare_llama_pre_find(t->pre)) {
        tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_UNKNOWN_PRE,
                       "llama.cpp knows no pre-tokenizer of this name");
        tare_error_detail(err, "\"%s\"", name);
        return TARE_ERR_ARG;
    }
    state_bos(t);
    return TARE_OK;
}

/* Without tokenizer.json the class of the tokenizer tells. */
static tare_status choose_by_class(tare_llama_tokenizer *t, tare_str tokenizer_class,
                                   tare_error *err) {
    const tare_llama_slow_class *row = tare_llama_slow_class_find(tokenizer_class);
    if (row) return tare_llama_set_pre(t, row->pre, err);
    tare_llama_fail_file(err, TARE_ERR_UNSUPPORTED, &t->tokenizer_config, TARE_NO_OFFSET,
                         "tokenizer_class: how it splits a text is not known without "
                         "tokenizer.json");
    tare_error_code(err, TARE_CODE_UNKNOWN_PRE);
    return TARE_ERR_UNSUPPORTED;
}

static tare_status choose(tare_llama_tokenizer *t, const searched *s, tare_error *err) {
    const tare_llama_splitting *row, *nearest;
    TARE_TRY(find_splitting(&row, &nearest, &s->stages, &t->scratch, err));
    if (!row) return fail_unknown(t, s, nearest, err);
    note_differences(t, &s->stages);
    const char *name = name_by_class(t, row->name, s->tokenizer_class);
    if (!name) name = name_by_flags(row->name, s->ignores_merges, s->keeps_blanks)->name;
    return tare_llama_set_pre(t, name, err);
}

tare_status tare_llama_choose_pre_by_pattern(tare_llama_tokenizer *t, const tare_llama_file *file,
                                             const tare_json_value *pattern, tare_error *err) {
    searched s = {.file = file,
                  .offset = pattern->offset,
                  .stages = {.n = 1, .has_byte_alphabet = true},
                  .tokenizer_class = {"", 0},
                  .ignores_merges = true,
                  .keeps_blanks = true};
    tare_str text;
    if (t->options->pre) return tare_llama_set_pre(t, t->options->pre, err);
    TARE_TRY(tare_llama_text(&text, t, pattern, err));
    s.stages.patterns[0] = tare_llama_normal_pattern(text, &t->scratch);
    if (!s.stages.patterns[0].ptr) return tare_fail(err, TARE_ERR_NOMEM, "pattern");
    return choose(t, &s, err);
}

tare_status tare_llama_choose_pre(tare_llama_tokenizer *t, tare_error *err) {
    static const char *const names[] = {"tokenizer_class", "clean_up_tokenization_spaces"};
    const tare_json_value *pre = &t->json.pre_tokenizer;
    tare_json_value config[2];
    searched s = {.file = &t->json.file,
                  .offset = pre->type == TARE_JSON_END ? TARE_NO_OFFSET : pre->offset,
                  .tokenizer_class = {"", 0},
                  .ignores_merges = t->json.ignore_merges};
    if (t->options->pre) return tare_llama_set_pre(t, t->options->pre, err);
    tare_json_span_members(&t->tokenizer_config.root, names, config, 2);
    s.keeps_blanks = config[1].type == TARE_JSON_FALSE;
    if (config[0].type == TARE_JSON_STRING)
        TARE_TRY(tare_llama_text(&s.tokenizer_class, t, &config[0], err));
    if (!t->json.file.text.ptr) return choose_by_class(t, s.tokenizer_class, err);
    TARE_TRY(
        tare_llama_in_file(err, tare_llama_read_stages(&s.stages, pre, &t->scratch, err), s.file));
    return choose(t, &s, err);
}
