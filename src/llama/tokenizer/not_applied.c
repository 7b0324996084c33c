/* SPDX-License-Identifier: MIT
 *
 * What a tokenizer.json does to a text that llama.cpp does not, whatever its keys say: each is told, as the
 * tokens of some texts differ. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "llama/tokenizer/context.h"

#define MARK "\xe2\x96\x81" /* U+2581, a blank */

typedef struct told {
    const char *what; /* NULL: llama.cpp does the same */
    bool is_slight;   /* in few texts: a note is enough */
} told;

static const told same = {NULL, false};
static const told other_stage = {"llama.cpp does nothing of the kind", false};
static const told leading_blank = {
    "llama.cpp adds a leading space to a text that begins with one, too", true};

static bool is_kind(const tare_llama_tokenizer *t, const char *kind) {
    return strcmp(t->model, kind) == 0;
}

/* ---- normalizer -------------------------------------------------------------------------------- */

static told of_bert(const tare_json_value *step) {
    static const char *const names[] = {"clean_text", "handle_chinese_chars"};
    tare_json_value v[2];
    tare_json_span_members(step, names, v, 2);
    if (!tare_json_span_bool(&v[0], true))
        return (told){"clean_text is false, and llama.cpp always cleans", false};
    if (!tare_json_span_bool(&v[1], true))
        return (told){"handle_chinese_chars is false, and llama.cpp always splits them", false};
    return same;
}

/* "Replace": which texts, by what. */
static told of_replace(const tare_llama_tokenizer *t, const tare_json_value *step) {
    static const char *const names[] = {"pattern", "content"};
    tare_json_value v[2], text, regex;
    tare_json_span_members(step, names, v, 2);
    text = tare_json_span_member(&v[0], "String");
    regex = tare_json_span_member(&v[0], "Regex");
    if (is_kind(t, "llama") && tare_json_is(&text, " ") && tare_json_is(&v[1], MARK)) return same;
    if (is_kind(t, "t5") && tare_json_is(&regex, " {2,}") &&
        t->remove_extra_whitespaces == TARE_LLAMA_FLAG_YES)
        return same;
    return other_stage;
}

static told of_normalizer(const tare_llama_tokenizer *t, const tare_json_value *step,
                          const tare_json_value *type) {
    const bool is_llama = is_kind(t, "llama"), is_bert = is_kind(t, "bert");
    if (tare_json_is(type, "NFC")) return (told){other_stage.what, true};
    if (tare_json_is(type, "Replace")) return of_replace(t, step);
    if (tare_json_is(type, "Prepend")) return is_llama ? same : other_stage;
    if (is_bert && tare_json_is(type, "BertNormalizer")) return of_bert(step);
    if (is_bert && (tare_json_is(type, "Lowercase") || tare_json_is(type, "StripAccents") ||
                    tare_json_is(type, "NFD")))
        return same;
    if (tare_json_is(type, "Strip") && t->remove_extra_whitespaces == TARE_LLAMA_FLAG_YES)
        return same;
    return tare_json_is(type, "Precompiled") && is_kind(t, "t5") ? same : other_stage;
}

/* ---- pre_tokenizer ----------------------------------------------------------------------------- */

static told of_pre_tokenizer(const tare_llama_tokenizer *t, const tare_json_value *step,
                             const tare_json_value *type) {
    static const char *const names[] = {"pattern", "prepend_scheme"};
    tare_json_value v[2], text;
    if (is_kind(t, "bert")) return tare_json_is(type, "BertPreTokenizer") ? same : other_stage;
    tare_json_span_members(step, names, v, 2);
    text = tare_json_span_member(&v[0], "String");
    if (tare_json_is(type, "Metaspace"))
        return tare_json_is(&v[1], "never") || t->remove_extra_whitespaces == TARE_LLAMA_FLAG_YES
                   ? same
                   : leading_blank;
    if (tare_json_is(type, "WhitespaceSplit") && t->charsmap.len &&
        t->remove_extra_whitespaces == TARE_LLAMA_FLAG_YES)
        return same; /* the map of characters makes blanks of other white space */
    return tare_json_is(type, "Split") && tare_json_is(&text, " ") ? same : other_stage;
}

/* ---- steps ------------------------------------------------------------------------------------- */

typedef told (*teller)(const tare_llama_tokenizer *t, const tare_json_value *step,
                       const tare_json_value *type);

static void tell(const tare_llama_tokenizer *t, const char *stage, const tare_json_value *type,
                 told what) {
    if (what.what)
        tare_llama_note(t, what.is_slight ? TARE_LEVEL_INFO : TARE_LEVEL_WARNING,
                        "tokenizer.not-applied", t->json.file.name,
                        "%s %.*s: %s: some texts are tokenized differently", stage,
                        (int)(type->raw.len < 60 ? type->raw.len : 60), type->raw.ptr, what.what);
}

static void walk(const tare_llama_tokenizer *t, const char *stage, const tare_json_value *step,
                 teller of, unsigned depth) {
    static const char *const names[] = {"type", "normalizers", "pretokenizers"};
    tare_json_value v[3], inner;
    tare_json j;
    tare_json_span_members(step, names, v, 3);
    if (v[0].type != TARE_JSON_STRING) return;
    if (!tare_json_is(&v[0], "Sequence")) {
        tell(t, stage, &v[0], of(t, step, &v[0]));
        return;
    }
    tare_json_span_array(&j, v[1].type == TARE_JSON_ARRAY ? &v[1] : &v[2]);
    while (depth && tare_json_span_next(&j, &inner) != TARE_JSON_END)
        walk(t, stage, &inner, of, depth - 1);
}

/* ---- words of BERT ----------------------------------------------------------------------------- */

static void tell_of_bert(const tare_llama_tokenizer *t) {
    static const char *const names[] = {"max_input_chars_per_word"};
    tare_json_value most;
    uint64_t n = 100;
    tare_json_span_members(&t->json.model, names, &most, 1);
    if (tare_json_u64(&most, &n) && n < 100)
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.not-applied", t->json.file.name,
                        "max_input_chars_per_word %llu: llama.cpp splits longer words, too: some "
                        "texts are tokenized differently",
                        (unsigned long long)n);
    if (!tare_llama_has_step(&t->json.normalizer, "BertNormalizer", 8))
        tare_llama_note(
            t, TARE_LEVEL_WARNING, "tokenizer.not-applied", t->json.file.name,
            "normalizer: it is no BertNormalizer, and llama.cpp always cleans texts and "
            "takes Chinese characters for words: some texts are tokenized differently");
    if (t->json.post_processor.type == TARE_JSON_END)
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.not-applied", t->json.file.name,
                        "there is no post_processor: llama.cpp puts its tokens around a text all "
                        "the same");
    if (t->strip_accents == TARE_LLAMA_FLAG_YES || t->lowercase != TARE_LLAMA_FLAG_NO)
        tare_llama_note(t, TARE_LEVEL_INFO, "tokenizer.not-applied", t->json.file.name,
                        "lowercase, strip_accents: llama.cpp leaves accents that are characters of "
                        "their own (marks of Indic scripts), and letters that become two: some "
                        "texts are tokenized differently");
}

/* ---- merges ------------------------------------------------------------------------------------ */

static void tell_of_dropout(const tare_llama_tokenizer *t) {
    const tare_json_value v = tare_json_span_member(&t->json.model, "dropout");
    double share;
    if (tare_json_f64(&v, &share) && share > 0)
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.not-applied", t->json.file.name,
                        "model.dropout %g: merges are left out at random, and llama.cpp leaves out "
                        "none",
                        share);
}

/* ---- bytes ------------------------------------------------------------------------------------- */

static void tell_of_bytes(const tare_llama_tokenizer *t) {
    if (t->loses_bytes)
        tare_llama_note(
            t, TARE_LEVEL_WARNING, "tokenizer.not-applied", NULL,
            "byte_fallback: llama.cpp takes the unknown token for a character that is none, "
            "and not its bytes, with unigrams");
}

/* ---- tokens around a text ---------------------------------------------------------------------- */

/* The token in front is BOS to llama.cpp, whatever a template calls it. */
static void tell_of_first(const tare_llama_tokenizer *t, const tare_json_value *special) {
    const tare_json_value name = tare_json_span_member(special, "id");
    char bos[128] = "";
    if (name.type != TARE_JSON_STRING || t->adds[TARE_LLAMA_ADD_BOS] != TARE_LLAMA_FLAG_YES ||
        strcmp(t->model, "bert") == 0)
        return;
    for (size_t i = 0; i < t->n_ids; i++)
        if (t->ids[i].special == TARE_LLAMA_BOS && t->ids[i].id < t->vocab.n_tokens) {
            const tare_str text = t->vocab.tokens[t->ids[i].id].text;
            snprintf(bos, sizeof bos, "%.*s", (int)(text.len < 120 ? text.len : 120), text.ptr);
        }
    if (bos[0] && !tare_json_is(&name, bos))
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.not-applied", t->json.file.name,
                        "post_processor: it puts %.*s in front of a text, and llama.cpp the "
                        "beginning that is named, \"%s\"",
                        (int)(name.raw.len < 80 ? name.raw.len : 80), name.raw.ptr, bos);
}

static void tell_of_template(const tare_llama_tokenizer *t, const tare_json_value *processor,
                             unsigned depth) {
    static const char *const names[] = {"single", "processors"};
    tare_json_value v[2], inner, special;
    size_t n_before = 0, n_after = 0;
    bool is_behind = false;
    tare_json j;
    tare_json_span_members(processor, names, v, 2);
    tare_json_span_array(&j, &v[1]);
    while (depth && tare_json_span_next(&j, &inner) != TARE_JSON_END)
        tell_of_template(t, &inner, depth - 1);
    tare_json_span_array(&j, &v[0]);
    while (tare_json_span_next(&j, &inner) != TARE_JSON_END) {
        special = tare_json_span_member(&inner, "SpecialToken");
        is_behind = is_behind || special.type != TARE_JSON_OBJECT;
        if (special.type == TARE_JSON_OBJECT && !is_behind && n_before++ == 0)
            tell_of_first(t, &special);
        n_after += special.type == TARE_JSON_OBJECT && is_behind;
    }
    if (n_before > 1 || n_after > 1)
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.not-applied", t->json.file.name,
                        "post_processor: it puts %zu tokens in front of a text and %zu behind it, "
                        "and llama.cpp one at most",
                        n_before, n_after);
}

/* ---- added tokens ------------------------------------------------------------------------------ */

typedef struct counted {
    size_t n;
    tare_json_value first; /* its text */
} counted;

static void count(counted *to, bool holds, const tare_json_value *text) {
    if (holds && to->n++ == 0) to->first = *text;
}

static void tell_counted(const tare_llama_tokenizer *t, const counted *c, tare_level level,
                         const char *what) {
    if (c->n)
        tare_llama_note(t, level, "tokenizer.not-applied", t->json.file.name,
                        "%zu added token%s, %.*s first, %s", c->n, c->n > 1 ? "s" : "",
                        (int)(c->first.raw.len < 60 ? c->first.raw.len : 60), c->first.raw.ptr,
                        what);
}

/* Tokens that take the spaces beside them count by what they stand for: a mask is in no prompt. */
static void tell_of_added(const tare_llama_tokenizer *t) {
    static const char *const names[] = {"content", "lstrip", "rstrip", "single_word", "normalized"};
    counted stripped = {0}, masks = {0}, words = {0}, normalized = {0};
    const bool prepends =
        is_kind(t, "llama") && tare_llama_has_step(&t->json.normalizer, "Prepend", 8);
    tare_json_value v[5], inner;
    tare_json j;
    tare_json_span_array(&j, &t->json.added_tokens);
    while (tare_json_span_next(&j, &inner) != TARE_JSON_END) {
        tare_json_span_members(&inner, names, v, 5);
        const bool strips = tare_json_span_bool(&v[1], false) || tare_json_span_bool(&v[2], false);
        const bool is_mask = tare_json_is(&v[0], "<mask>") || tare_json_is(&v[0], "[MASK]");
        count(is_mask ? &masks : &stripped, strips, &v[0]);
        count(&words, tare_json_span_bool(&v[3], false), &v[0]);
        count(&normalized, prepends && tare_json_span_bool(&v[4], false), &v[0]);
    }
    tell_counted(
        t, &stripped, TARE_LEVEL_WARNING,
        "take the spaces beside them (lstrip, rstrip): llama.cpp leaves these to the text");
    tell_counted(t, &masks, TARE_LEVEL_INFO,
                 "takes the spaces beside it (lstrip): llama.cpp leaves these to the text");
    tell_counted(t, &words, TARE_LEVEL_WARNING,
                 "stand for whole words only (single_word): llama.cpp finds them inside of words");
    tell_counted(t, &normalized, TARE_LEVEL_INFO,
                 "are found behind a space only (normalized): llama.cpp finds them everywhere");
}

/* llama.cpp's patterns of these names leave marks out of words. */
static void tell_of_marks(const tare_llama_tokenizer *t) {
    static const char *const names[] = {"gpt-4o", "kanana2",    "llama4",
                                        "talkie", "minimax-m2", "tekken"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tare_str_is(t->pre, names[i]))
            tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.not-applied", t->json.file.name,
                            "pre_tokenizer: llama.cpp splits words at the marks of Indic and "
                            "similar scripts here (pre %s): such texts are tokenized differently",
                            names[i]);
}

void tare_llama_note_not_applied(const tare_llama_tokenizer *t) {
    const bool is_bert = is_kind(t, "bert");
    if (t->options->like_reference) return;
    tell_of_bytes(t);
    if (!t->json.file.text.ptr) return;
    if (is_kind(t, "gpt2")) tell_of_marks(t);
    if (is_kind(t, "gpt2") || is_kind(t, "llama") || is_kind(t, "t5") || is_bert)
        walk(t, "normalizer", &t->json.normalizer, of_normalizer, 8);
    if (is_kind(t, "llama") || is_kind(t, "t5") || is_bert)
        walk(t, "pre_tokenizer", &t->json.pre_tokenizer, of_pre_tokenizer, 8);
    if (is_bert) tell_of_bert(t);
    tell_of_dropout(t);
    tell_of_template(t, &t->json.post_processor, 8);
    tell_of_added(t);
}
