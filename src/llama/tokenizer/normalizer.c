/* SPDX-License-Identifier: MIT
 *
 * What llama.cpp knows of the normalizer of tokenizer.json: lower case, and accents taken off; and of
 * what stands in front of a text: a blank. */
#include "llama/tokenizer/context.h"

static void take(tare_llama_flag *flag, const tare_json_value *v) {
    if (v->type == TARE_JSON_TRUE) *flag = TARE_LLAMA_FLAG_YES;
    if (v->type == TARE_JSON_FALSE) *flag = TARE_LLAMA_FLAG_NO;
}

static void read_one(tare_llama_tokenizer *t, const tare_json_value *normalizer, unsigned depth) {
    static const char *const names[] = {"type", "lowercase", "strip_accents", "normalizers"};
    tare_json_value v[4], inner;
    tare_json j;
    tare_json_span_members(normalizer, names, v, 4);
    if (tare_json_is(&v[0], "Lowercase")) t->lowercase = TARE_LLAMA_FLAG_YES;
    if (tare_json_is(&v[0], "StripAccents")) t->strip_accents = TARE_LLAMA_FLAG_YES;
    if (tare_json_is(&v[0], "BertNormalizer")) {
        take(&t->lowercase, &v[1]);
        take(&t->strip_accents, &v[2]);
    }
    if (!tare_json_is(&v[0], "Sequence") || depth == 0) return;
    tare_json_span_array(&j, &v[3]);
    while (tare_json_span_next(&j, &inner) != TARE_JSON_END) read_one(t, &inner, depth - 1);
}

bool tare_llama_has_step(const tare_json_value *step, const char *type, unsigned depth) {
    static const char *const names[] = {"type", "normalizers", "pretokenizers"};
    tare_json_value v[3], inner;
    tare_json j;
    tare_json_span_members(step, names, v, 3);
    if (tare_json_is(&v[0], type)) return true;
    if (!tare_json_is(&v[0], "Sequence") || depth == 0) return false;
    tare_json_span_array(&j, v[1].type == TARE_JSON_ARRAY ? &v[1] : &v[2]);
    while (tare_json_span_next(&j, &inner) != TARE_JSON_END)
        if (tare_llama_has_step(&inner, type, depth - 1)) return true;
    return false;
}

/* Whether a step, or one of a sequence, puts a blank in front of a text. */
static bool prepends_blank(const tare_json_value *step, unsigned depth) {
    static const char *const names[] = {"type",        "prepend_scheme", "add_prefix_space",
                                        "normalizers", "pretokenizers",  "prepend"};
    tare_json_value v[6], inner;
    tare_json j;
    tare_json_span_members(step, names, v, 6);
    if (tare_json_is(&v[0], "Prepend"))
        return tare_json_is(&v[5], "\xe2\x96\x81") || tare_json_is(&v[5], " ");
    if (tare_json_is(&v[0], "Metaspace"))
        return v[1].type == TARE_JSON_STRING ? !tare_json_is(&v[1], "never")
                                             : v[2].type != TARE_JSON_FALSE;
    if (!tare_json_is(&v[0], "Sequence") || depth == 0) return false;
    tare_json_span_array(&j, v[3].type == TARE_JSON_ARRAY ? &v[3] : &v[4]);
    while (tare_json_span_next(&j, &inner) != TARE_JSON_END)
        if (prepends_blank(&inner, depth - 1)) return true;
    return false;
}

bool tare_llama_prepends_blank(const tare_llama_tokenizer *t) {
    return prepends_blank(&t->json.normalizer, 8) || prepends_blank(&t->json.pre_tokenizer, 8);
}

void tare_llama_find_normalizer(tare_llama_tokenizer *t) {
    read_one(t, &t->json.normalizer, 8);
    if (t->options->like_reference || strcmp(t->model, "bert") != 0 || !t->json.file.text.ptr ||
        tare_llama_has_step(&t->json.normalizer, "BertNormalizer", 8))
        return;
    if (t->lowercase == TARE_LLAMA_FLAG_UNSET) t->lowercase = TARE_LLAMA_FLAG_NO;
    if (t->strip_accents == TARE_LLAMA_FLAG_UNSET) t->strip_accents = TARE_LLAMA_FLAG_NO;
}
