/* SPDX-License-Identifier: MIT
 *
 * Tokens with a role and whether they are added to a text. tokenizer_config.json names them by
 * their text, tokenizer.json's added tokens give the ids, config.json gives ids where a name leads
 * nowhere; which are added follows from the post_processor (post_processor.c) and the add_X_token
 * of tokenizer_config.json. */
#include "llama/tokenizer/specials.h"

#include <stdio.h>

#include "base/str.h"

static const char *const names[] = {"bos",  "eos", "unk", "sep",    "pad",    "cls",
                                    "mask", "eot", "eom", "prefix", "suffix", "middle"};
_Static_assert(sizeof names / sizeof *names == TARE_LLAMA_SPECIAL_COUNT, "one name for each");

/* ---- ids ------------------------------------------------------------------------------------- */

/* Sets an id given by a file, unless an earlier source has set it. One without a token is reported
 * and left out: llama.cpp would use its default instead. */
static void offer_id(tare_llama_tokenizer *t, tare_llama_special special, uint64_t id,
                     const char *file) {
    if (tare_llama_has_id(t, special)) return;
    if (id < t->vocab.n_tokens) {
        tare_llama_set_id(t, special, (uint32_t)id, false);
        return;
    }
    tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.special-id", file,
                    "%s_token_id %llu is left out: the vocabulary has %zu tokens", names[special],
                    (unsigned long long)id, t->vocab.n_tokens);
}

/* The id of the first added token of tokenizer.json with this text: that of the libraries, where these
 * give others than the file says. */
static bool find_added(tare_llama_tokenizer *t, tare_str text, uint64_t *id) {
    static const char *const members[] = {"content", "id"};
    tare_json j;
    tare_json_value token, values[2];
    tare_json_span_array(&j, &t->json.added_tokens);
    while (tare_json_span_next(&j, &token) != TARE_JSON_END) {
        tare_json_span_members(&token, members, values, 2);
        if (values[0].type != TARE_JSON_STRING) continue;
        tare_str content = tare_json_text(&values[0], &t->scratch);
        if (!content.ptr || !tare_str_equal(content, text)) continue;
        const int64_t given = t->added.arena ? tare_llama_added_ids_find(&t->added, text) : -1;
        if (given >= 0) *id = (uint64_t)given;
        return given >= 0 || tare_json_u64(&values[1], id);
    }
    return false;
}

/* ---- tokenizer_config.json ------------------------------------------------------------------- */

static tare_json_value config_member(const tare_llama_file *file, const char *format,
                                     tare_llama_special special) {
    char key[32];
    snprintf(key, sizeof key, format, names[special]);
    return tare_json_span_member(&file->root, key);
}

/* The token of a role, as a text or an object; not there, or null: the role has none. */
static tare_status read_name(tare_str *out, tare_llama_tokenizer *t, const tare_llama_file *file,
                             tare_llama_special special, tare_error *err) {
    const tare_json_value v = config_member(file, "%s_token", special),
                          content = tare_json_span_content(&v);
    if (v.type == TARE_JSON_END || v.type == TARE_JSON_NULL || out->len) return TARE_OK;
    if (content.type == TARE_JSON_END)
        return tare_llama_fail_file(err, TARE_ERR_CORRUPT, file, v.offset,
                                    "a special token: expected a text, or an object with content");
    return tare_llama_text(out, t, &content, err);
}

static tare_status read_names(tare_llama_tokenizer *t, tare_llama_named *n, tare_error *err) {
    for (size_t i = 0; i <= TARE_LLAMA_MASK; i++)
        TARE_TRY(read_name(&n->text[i], t, &t->tokenizer_config, (tare_llama_special)i, err));
    /* Encoders name their first and last token by other roles. */
    const bool is_encoder = t->json.file.text.ptr || strcmp(t->model, "bert") == 0;
    if (is_encoder && !n->text[TARE_LLAMA_BOS].len)
        n->text[TARE_LLAMA_BOS] = n->text[TARE_LLAMA_CLS];
    if (is_encoder && !n->text[TARE_LLAMA_EOS].len)
        n->text[TARE_LLAMA_EOS] = n->text[TARE_LLAMA_SEP];
    return TARE_OK;
}

static tare_status read_add_flags(tare_llama_tokenizer *t, tare_error *err) {
    static const struct {
        tare_llama_special special;
        tare_llama_add add;
    } rows[] = {{TARE_LLAMA_BOS, TARE_LLAMA_ADD_BOS},
                {TARE_LLAMA_EOS, TARE_LLAMA_ADD_EOS},
                {TARE_LLAMA_SEP, TARE_LLAMA_ADD_SEP}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tare_json_value v = config_member(&t->tokenizer_config, "add_%s_token", rows[i].special);
        if (v.type == TARE_JSON_END || v.type == TARE_JSON_NULL) continue;
        if (v.type != TARE_JSON_TRUE && v.type != TARE_JSON_FALSE)
            return tare_llama_fail_file(err, TARE_ERR_CORRUPT, &t->tokenizer_config, v.offset,
                                        "whether a token is added: expected true or false");
        tare_llama_set_add(t, rows[i].add, v.type == TARE_JSON_TRUE);
    }
    return TARE_OK;
}

/* ---- config.json ----------------------------------------------------------------------------- */

/* X_token_id of config.json, else of its text_config; of a list of ends the first. */
static bool config_id(const tare_llama_tokenizer *t, tare_llama_special special, uint64_t *id) {
    tare_json_value v = config_member(&t->model_config, "%s_token_id", special);
    if (v.type == TARE_JSON_END || v.type == TARE_JSON_NULL) {
        tare_llama_file inner = t->model_config;
        inner.root = tare_json_span_member(&t->model_config.root, "text_config");
        v = config_member(&inner, "%s_token_id", special);
    }
    if (v.type == TARE_JSON_ARRAY && special == TARE_LLAMA_EOS) {
        tare_json j;
        tare_json_span_array(&j, &v);
        tare_json_span_next(&j, &v);
    }
    if (tare_json_u64(&v, id)) return true;
    if (!tare_llama_has_id(t, special))
        tare_llama_note_no_id(t, &t->model_config, names[special], &v);
    return false;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* A token of the model's own that is special, without tokenizer.json. */
static bool find_special(tare_llama_tokenizer *t, tare_str text, uint64_t *id) {
    if (find_added(t, text, id)) return true;
    for (*id = 0; *id < t->vocab.n_tokens; ++*id)
        if (t->vocab.tokens[*id].type == TARE_TOKEN_CONTROL &&
            tare_str_equal(t->vocab.tokens[*id].text, text))
            return true;
    return false;
}

static void apply_rules(tare_llama_tokenizer *t) {
    for (size_t i = 0; i < t->options->n_rules; i++) {
        const tare_llama_special_rule *rule = &t->options->rules[i];
        uint64_t id = rule->id;
        if (rule->is_fall_back && tare_llama_has_id(t, rule->special)) continue;
        if (rule->text && !find_special(t, tare_str_of(rule->text), &id)) continue;
        if (id < t->vocab.n_tokens)
            tare_llama_set_id(t, rule->special, (uint32_t)id, rule->is_late);
    }
}

static void offer_names(tare_llama_tokenizer *t, const tare_llama_named *named) {
    for (size_t i = 0; i < named->n_roles; i++) {
        uint64_t id;
        if (named->text[i].len && find_added(t, named->text[i], &id))
            offer_id(t, (tare_llama_special)i, id, t->json.file.name);
    }
}

static void offer_numbers(tare_llama_tokenizer *t, size_t n_roles) {
    for (size_t i = 0; i < n_roles; i++) {
        uint64_t id;
        if (config_id(t, (tare_llama_special)i, &id))
            offer_id(t, (tare_llama_special)i, id, t->model_config.name);
    }
}

/* What the libraries that wrote such files took where no name was said. */
static const struct {
    const char *model, *text;
    tare_llama_special special;
} customary[] = {
    {"bert", "[CLS]", TARE_LLAMA_BOS},         {"bert", "[SEP]", TARE_LLAMA_EOS},
    {"bert", "[SEP]", TARE_LLAMA_SEP},         {"bert", "[UNK]", TARE_LLAMA_UNK},
    {"bert", "[PAD]", TARE_LLAMA_PAD},         {"bert", "[MASK]", TARE_LLAMA_MASK},
    {"gpt2", "<|endoftext|>", TARE_LLAMA_EOS}, {"t5", "</s>", TARE_LLAMA_EOS},
    {"t5", "<pad>", TARE_LLAMA_PAD},           {"llama", "<s>", TARE_LLAMA_BOS},
    {"llama", "</s>", TARE_LLAMA_EOS},
};

/* What llama.cpp takes where no key says otherwise: a name that leads there needs none. */
static const struct {
    const char *model;
    tare_llama_special special;
    uint32_t id;
} assumed[] = {
    {"llama", TARE_LLAMA_UNK, 0},   {"t5", TARE_LLAMA_UNK, 2},     {"t5", TARE_LLAMA_PAD, 0},
    {"bert", TARE_LLAMA_UNK, 100},  {"bert", TARE_LLAMA_SEP, 102}, {"bert", TARE_LLAMA_PAD, 0},
    {"bert", TARE_LLAMA_MASK, 103}, {"t5", TARE_LLAMA_EOS, 1},     {"llama", TARE_LLAMA_BOS, 1},
    {"llama", TARE_LLAMA_EOS, 2},
};

static bool is_assumed(const tare_llama_tokenizer *t, size_t special, uint64_t id) {
    for (size_t i = 0; i < sizeof assumed / sizeof *assumed; i++)
        if (assumed[i].special == special && assumed[i].id == id &&
            strcmp(assumed[i].model, t->model) == 0)
            return true;
    return false;
}

/* tokenizer.json of BPE leaves no name out that there is. */
static tare_str customary_text(const tare_llama_tokenizer *t, size_t special) {
    const bool is_told = t->json.file.text.ptr && strcmp(t->model, "bert") != 0;
    for (size_t i = 0; i < sizeof customary / sizeof *customary; i++)
        if (!is_told && customary[i].special == special &&
            strcmp(customary[i].model, t->model) == 0)
            return tare_str_of(customary[i].text);
    return TARE_STR("");
}

/* Names of special_tokens_map.json, where tokenizer_config.json has none. */
static tare_status read_map(tare_llama_tokenizer *t, tare_llama_named *n, tare_error *err) {
    tare_llama_file map;
    TARE_TRY(tare_llama_file_read_json(&map, t, "special_tokens_map.json", err));
    for (size_t i = 0; i <= TARE_LLAMA_MASK; i++)
        TARE_TRY(read_name(&n->text[i], t, &map, (tare_llama_special)i, err));
    return TARE_OK;
}

/* What only tokenizer.json names: the token for unknown words, of its model, what texts are padded
 * with, and the separator of encoders, which is the token behind a text. */
static tare_status read_names_in_json(tare_llama_tokenizer *t, tare_llama_named *n,
                                      tare_error *err) {
    const tare_json_value padding = tare_json_span_member(&t->json.file.root, "padding"),
                          unknown = tare_json_span_member(&t->json.model, "unk_token"),
                          pad = tare_json_span_member(&padding, "pad_token");
    if (unknown.type == TARE_JSON_STRING && !n->text[TARE_LLAMA_UNK].len)
        TARE_TRY(tare_llama_text(&n->text[TARE_LLAMA_UNK], t, &unknown, err));
    if (pad.type == TARE_JSON_STRING && !n->text[TARE_LLAMA_PAD].len)
        TARE_TRY(tare_llama_text(&n->text[TARE_LLAMA_PAD], t, &pad, err));
    if (strcmp(t->model, "bert") == 0 && !n->text[TARE_LLAMA_SEP].len)
        n->text[TARE_LLAMA_SEP] = n->text[TARE_LLAMA_EOS];
    return TARE_OK;
}

/* The token whose type says that it stands for what is none. */
static void offer_unknown(tare_llama_tokenizer *t) {
    for (size_t id = 0; id < t->vocab.n_tokens; id++) {
        if (t->vocab.tokens[id].type != TARE_TOKEN_UNKNOWN) continue;
        if (!is_assumed(t, TARE_LLAMA_UNK, id))
            offer_id(t, TARE_LLAMA_UNK, id, t->tokenizer_config.name);
        return;
    }
}

/* Where nothing else gives an id, names stand for tokens of the vocabulary, and customary names
 * where none is told. */
static tare_status find_in_vocabulary(tare_llama_tokenizer *t, tare_llama_named *named,
                                      tare_error *err) {
    tare_name_index index;
    if (t->options->like_reference) return TARE_OK;
    TARE_TRY(read_map(t, named, err));
    TARE_TRY(read_names_in_json(t, named, err));
    TARE_TRY(tare_llama_vocab_index(&index, &t->vocab, &t->scratch, err));
    for (size_t i = 0; i < named->n_roles; i++) {
        const tare_str text = named->text[i].len ? named->text[i] : customary_text(t, i);
        const int64_t id = text.len ? tare_llama_vocab_find(&index, &t->vocab, text) : -1;
        const bool is_end = named->text[i].len && (i == TARE_LLAMA_BOS || i == TARE_LLAMA_EOS);
        if (id >= 0 && (is_end || !is_assumed(t, i, (uint64_t)id)))
            offer_id(t, (tare_llama_special)i, (uint64_t)id, t->tokenizer_config.name);
    }
    if (!tare_llama_has_id(t, TARE_LLAMA_UNK)) offer_unknown(t);
    return TARE_OK;
}

/* llama.cpp has a number of its own for BPE over bytes that does not say which token ends a text:
 * that of GPT-2's, which some other token may have. */
static void note_no_end(const tare_llama_tokenizer *t) {
    if (strcmp(t->model, "gpt2") == 0 && !tare_llama_has_id(t, TARE_LLAMA_EOS))
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.no-end", NULL,
                        "no file says which token ends a text (eos_token): llama.cpp takes token "
                        "11 for it");
}

tare_status tare_llama_find_specials(tare_llama_tokenizer *t, tare_error *err) {
    tare_llama_named named = {.n_roles = TARE_LLAMA_MASK + 1};
    bool is_configured = t->tokenizer_config.text.ptr != NULL;
    TARE_TRY(read_names(t, &named, err));
    TARE_TRY(tare_llama_read_post_processor(t, &named, err));
    TARE_TRY(read_add_flags(t, err));
    /* Names of a post_processor alone are weaker than the numbers of config.json. */
    if (is_configured) offer_names(t, &named);
    offer_numbers(t, named.n_roles);
    if (!is_configured) offer_names(t, &named);
    TARE_TRY(find_in_vocabulary(t, &named, err));
    apply_rules(t);
    if (!t->options->like_reference) TARE_TRY(tare_llama_find_ends(t, err));
    note_no_end(t);
    if (t->needs_add_bos && t->adds[TARE_LLAMA_ADD_BOS] == TARE_LLAMA_FLAG_UNSET)
        tare_llama_set_add(t, TARE_LLAMA_ADD_BOS, false);
    /* llama.cpp puts an EOS behind texts of this kind, unless it is told not to */
    if (strcmp(t->model, "t5") == 0 && t->json.file.text.ptr && !t->options->like_reference &&
        t->json.post_processor.type == TARE_JSON_END &&
        t->adds[TARE_LLAMA_ADD_EOS] == TARE_LLAMA_FLAG_UNSET)
        tare_llama_set_add(t, TARE_LLAMA_ADD_EOS, false);
    return TARE_OK;
}
