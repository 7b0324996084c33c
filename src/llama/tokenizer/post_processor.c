/* SPDX-License-Identifier: MIT
 *
 * The post_processor of tokenizer.json says which tokens stand around a text or between two. Of
 * what it can say llama.cpp knows three truths: a BOS in front, an EOS after, a separator between
 * two texts. */
#include "base/str.h"
#include "llama/tokenizer/specials.h"

/* One entry of a template: a special token by its name, or a text, A or B. */
typedef struct entry {
    tare_str special; /* len 0: a text, or nothing known */
    tare_str sequence;
} entry;

typedef struct entries {
    entry *items;
    size_t n;
} entries;

static tare_status text_member(tare_str *out, tare_llama_tokenizer *t, const tare_json_value *of,
                               const char *object, tare_error *err) {
    tare_json_value v = tare_json_span_member(of, object);
    *out = (tare_str){"", 0};
    v = tare_json_span_member(&v, "id");
    return v.type == TARE_JSON_STRING ? tare_llama_text(out, t, &v, err) : TARE_OK;
}

static tare_status read_entries(entries *out, tare_llama_tokenizer *t,
                                const tare_json_value *processor, const char *name,
                                tare_error *err) {
    tare_json_value list = tare_json_span_member(processor, name), v;
    tare_json j;
    *out = (entries){NULL, 0};
    tare_json_span_array(&j, &list);
    while (tare_json_span_next(&j, &v) != TARE_JSON_END) out->n++;
    out->items = TARE_NEW_ARRAY(&t->scratch, entry, out->n);
    if (!out->items) return tare_fail(err, TARE_ERR_NOMEM, "post_processor");
    tare_json_span_array(&j, &list);
    for (size_t i = 0; i < out->n; i++) {
        tare_json_span_next(&j, &v);
        TARE_TRY(text_member(&out->items[i].special, t, &v, "SpecialToken", err));
        TARE_TRY(text_member(&out->items[i].sequence, t, &v, "Sequence", err));
    }
    return TARE_OK;
}

static bool is_one_of(tare_str text, tare_str a, tare_str b) {
    return tare_str_equal(text, a) || tare_str_equal(text, b);
}

/* The token in front of a text. Where tokenizer_config.json names no BOS, this is it. */
static void lead(tare_llama_tokenizer *t, tare_llama_named *named, tare_str first) {
    tare_str *bos = &named->text[TARE_LLAMA_BOS], *cls = &named->text[TARE_LLAMA_CLS];
    if (!bos->len) *bos = first;
    if (!cls->len && !tare_str_equal(*bos, first)) *cls = first;
    tare_llama_set_add(t, TARE_LLAMA_ADD_BOS, is_one_of(first, *bos, *cls));
}

/* The token behind a text is the EOS; the one that tokenizer_config.json names is then what ends a
 * turn, or a message. */
static void trail(tare_llama_tokenizer *t, tare_llama_named *named, tare_str last) {
    tare_str *eos = &named->text[TARE_LLAMA_EOS];
    if (t->tokenizer_config.text.ptr && !tare_str_equal(last, *eos)) {
        if (named->n_roles <= TARE_LLAMA_EOM) named->text[named->n_roles++] = *eos;
    }
    *eos = last;
    tare_llama_set_add(t, TARE_LLAMA_ADD_EOS, true);
}

/* A separator between two texts: "[first] A sep [sep] B [last]". */
static void between(tare_llama_tokenizer *t, tare_llama_named *named, entries pair, tare_str first,
                    tare_str last) {
    size_t from = first.len && tare_str_equal(pair.items[0].special, first);
    size_t to = pair.n - (last.len && tare_str_equal(pair.items[pair.n - 1].special, last));
    const tare_str eos = named->text[TARE_LLAMA_EOS];
    tare_str *sep = &named->text[TARE_LLAMA_SEP];
    if (to < from + 3 || !tare_str_is(pair.items[from].sequence, "A") ||
        !tare_str_is(pair.items[to - 1].sequence, "B"))
        return;
    const entry *inner = &pair.items[from + 1];
    size_t n_inner = to - from - 2;
    bool is_added = !last.len && inner[0].special.len && is_one_of(inner[0].special, *sep, eos);
    if (n_inner == 2 && inner[1].special.len && is_one_of(inner[1].special, *sep, eos))
        is_added = true;
    tare_llama_set_add(t, TARE_LLAMA_ADD_SEP, is_added);
    if (is_added && !sep->len) *sep = eos;
}

/* Hugging Face's libraries put the numbers that a post_processor has around a text, llama.cpp the tokens
 * of its names. */
static void check_id(const tare_llama_tokenizer *t, tare_str text, const tare_json_value *number) {
    uint64_t id;
    const int64_t own = t->added.arena ? tare_llama_added_ids_find(&t->added, text) : -1;
    if (own < 0 || !tare_json_u64(number, &id) || id == (uint64_t)own) return;
    tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.template-id", t->json.file.name,
                    "post_processor puts token %llu around texts and calls it \"%.*s\", which is "
                    "token %lld: llama.cpp takes that one",
                    (unsigned long long)id, (int)(text.len < 80 ? text.len : 80), text.ptr,
                    (long long)own);
}

/* The numbers of a template's names. */
static tare_status check_ids(tare_llama_tokenizer *t, const tare_json_value *processor,
                             tare_error *err) {
    tare_json_value names = tare_json_span_member(processor, "special_tokens"), key, value, id;
    tare_json j, ids;
    tare_json_span_object(&j, &names);
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        tare_str text;
        tare_json_span_next(&j, &value);
        TARE_TRY(tare_llama_text(&text, t, &key, err));
        value = tare_json_span_member(&value, "ids");
        tare_json_span_array(&ids, &value);
        while (tare_json_span_next(&ids, &id) != TARE_JSON_END) check_id(t, text, &id);
    }
    return TARE_OK;
}

static tare_status read_template(tare_llama_tokenizer *t, tare_llama_named *named,
                                 const tare_json_value *processor, tare_error *err) {
    entries single, pair;
    tare_str first = {"", 0}, last = {"", 0};
    TARE_TRY(read_entries(&single, t, processor, "single", err));
    TARE_TRY(read_entries(&pair, t, processor, "pair", err));
    TARE_TRY(check_ids(t, processor, err));
    if (single.n > 1) {
        first = single.items[0].special;
        last = single.items[single.n - 1].special;
        if (first.len) lead(t, named, first);
        if (last.len) trail(t, named, last);
    }
    if (pair.n) between(t, named, pair, first, last);
    return TARE_OK;
}

/* ["</s>", 2]: the text of a pair. */
static tare_status pair_text(tare_str *out, tare_llama_tokenizer *t,
                             const tare_json_value *processor, const char *name, tare_error *err) {
    tare_json_value list = tare_json_span_member(processor, name), v;
    tare_json j;
    tare_str text;
    tare_json_span_array(&j, &list);
    if (tare_json_span_next(&j, &v) != TARE_JSON_STRING) return TARE_OK;
    TARE_TRY(tare_llama_text(&text, t, &v, err));
    if (tare_json_span_next(&j, &v) == TARE_JSON_NUMBER) check_id(t, text, &v);
    if (!out->len) *out = text;
    return TARE_OK;
}

static tare_status read_roberta(tare_llama_tokenizer *t, tare_llama_named *named,
                                const tare_json_value *processor, tare_error *err) {
    for (size_t i = 0; i < TARE_LLAMA_ADD_COUNT; i++)
        tare_llama_set_add(t, (tare_llama_add)i, true);
    TARE_TRY(pair_text(&named->text[TARE_LLAMA_CLS], t, processor, "cls", err));
    return pair_text(&named->text[TARE_LLAMA_SEP], t, processor, "sep", err);
}

/* "[CLS] A [SEP]", "[CLS] A [SEP] B [SEP]": a template that has a type of its own. */
static tare_status read_bert(tare_llama_tokenizer *t, tare_llama_named *named,
                             const tare_json_value *processor, tare_error *err) {
    tare_str first = {"", 0}, last = {"", 0};
    TARE_TRY(pair_text(&first, t, processor, "cls", err));
    TARE_TRY(pair_text(&last, t, processor, "sep", err));
    if (first.len) lead(t, named, first);
    if (last.len) trail(t, named, last);
    return TARE_OK;
}

static tare_status read_one(tare_llama_tokenizer *t, tare_llama_named *named,
                            const tare_json_value *processor, tare_error *err) {
    tare_json_value type = tare_json_span_member(processor, "type");
    if (tare_json_is(&type, "TemplateProcessing")) return read_template(t, named, processor, err);
    if (tare_json_is(&type, "RobertaProcessing")) return read_roberta(t, named, processor, err);
    if (tare_json_is(&type, "BertProcessing") && !t->options->like_reference)
        return read_bert(t, named, processor, err);
    if (type.type != TARE_JSON_STRING || tare_json_is(&type, "BertProcessing") ||
        tare_json_is(&type, "ByteLevel") || tare_json_is(&type, "Sequence"))
        return TARE_OK;
    return tare_llama_fail_file(err, TARE_ERR_UNSUPPORTED, &t->json.file, type.offset,
                                "post_processor: tare does not know this kind");
}

tare_status tare_llama_read_post_processor(tare_llama_tokenizer *t, tare_llama_named *named,
                                           tare_error *err) {
    tare_json_value list = tare_json_span_member(&t->json.post_processor, "processors"), v;
    tare_json j;
    if (list.type != TARE_JSON_ARRAY) return read_one(t, named, &t->json.post_processor, err);
    tare_json_span_array(&j, &list);
    while (tare_json_span_next(&j, &v) != TARE_JSON_END) TARE_TRY(read_one(t, named, &v, err));
    return TARE_OK;
}
