/* SPDX-License-Identifier: MIT
 *
 * Which tokenizer a model has, by the files that are there and what they hold, and the steps from
 * them to the keys. */
#include <tare/experimental/llama.h>

#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/tokenizer/context.h"
#include "model/foreign.h"

/* ---- which reader ---------------------------------------------------------------------------- */

/* Whether a pre_tokenizer or decoder ends in the byte alphabet, alone or in a sequence. */
static bool has_byte_level(const tare_json_value *stage, const char *list) {
    tare_json_value type = tare_json_span_member(stage, "type"), v;
    tare_json_value inner = tare_json_span_member(stage, list);
    tare_json j;
    if (tare_json_is(&type, "ByteLevel")) return true;
    tare_json_span_array(&j, &inner);
    while (tare_json_span_next(&j, &v) != TARE_JSON_END) {
        type = tare_json_span_member(&v, "type");
        if (tare_json_is(&type, "ByteLevel")) return true;
    }
    return false;
}

static tare_status read_json(tare_llama_tokenizer *t, tare_error *err) {
    const tare_llama_tokenizer_json *j = &t->json;
    bool is_bytes = has_byte_level(&j->pre_tokenizer, "pretokenizers") ||
                    has_byte_level(&j->decoder, "decoders");
    if (tare_json_is(&j->type, "BPE"))
        return j->byte_fallback && !is_bytes ? tare_llama_read_llama_bpe(t, err)
                                             : tare_llama_read_byte_bpe(t, err);
    if (tare_json_is(&j->type, "WordPiece")) return tare_llama_read_word_piece(t, err);
    if (tare_json_is(&j->type, "Unigram")) return tare_llama_read_unigram(t, err);
    return tare_llama_fail_file(err, TARE_ERR_UNSUPPORTED, &j->file,
                                j->type.type == TARE_JSON_END ? TARE_NO_OFFSET : j->type.offset,
                                "model.type: llama.cpp has no tokenizer of this kind");
}

/* A SentencePiece model begins with its first piece: field 1, bytes. */
static bool is_sentencepiece(const tare_llama_file *file) {
    return file->text.len > 0 && file->text.ptr[0] == 0x0a;
}

/* Tokens that were added to a SentencePiece model. All three files may tell of them, or one alone:
 * Hugging Face's libraries write tokenizer.json only, by now. */
static tare_status read_added_beside(tare_llama_tokenizer *t, tare_error *err) {
    const tare_llama_tokenizer_options *o = t->options;
    const bool is_unigram = strcmp(t->model, "t5") == 0, is_later = o->reads_added_list;
    if (!is_unigram || o->family != TARE_LLAMA_VOCAB_XLM_R)
        TARE_TRY(tare_llama_read_added_json(t, err));
    if (!o->like_reference && !is_later) TARE_TRY(tare_llama_read_added_list_beside(t, true, err));
    if (!o->like_reference || !is_unigram) TARE_TRY(tare_llama_read_added_decoder(t, true, err));
    return is_later && !is_unigram ? tare_llama_read_added_list_beside(t, false, err) : TARE_OK;
}

/* Reads the SentencePiece model of one of these names; *is_read: whether there was one. */
static tare_status try_sentencepiece(bool *is_read, tare_llama_tokenizer *t,
                                     const char *const *names, tare_error *err) {
    *is_read = false;
    for (size_t i = 0; names[i]; i++) {
        tare_llama_file file;
        TARE_TRY(tare_llama_file_read(&file, t, names[i], err));
        if (!file.text.ptr || !is_sentencepiece(&file)) continue;
        *is_read = true;
        TARE_TRY(tare_llama_read_sentencepiece(t, &file, err));
        return read_added_beside(t, err);
    }
    return TARE_OK;
}

/* Files of tiktoken do not say how a text is split; whose they are does. */
static tare_status read_tiktoken(bool *is_read, tare_llama_tokenizer *t, tare_error *err) {
    static const struct {
        const char *name, *pre;
    } rows[] = {{"qwen.tiktoken", "qwen2"},
                {"hy.tiktoken", "hunyuan"},
                {"tiktoken.model", "kimi-k2"},
                {"tokenizer.model", "llama-bpe"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tare_llama_file file;
        TARE_TRY(tare_llama_file_read_text(&file, t, rows[i].name, err));
        if (!file.text.ptr) continue;
        *is_read = true;
        tare_status status = tare_llama_read_tiktoken(t, &file, rows[i].pre, err);
        if (status != TARE_OK && err && err->offset == 0) /* after a line it is such a file */
            status = tare_name_foreign(status, file.text, file.text.len, false, err);
        return tare_llama_in_file(err, status, &file);
    }
    return TARE_OK;
}

/* The files of older or other libraries. */
static tare_status read_other(bool *is_read, tare_llama_tokenizer *t, tare_error *err) {
    static const struct {
        const char *name;
        tare_status (*read)(tare_llama_tokenizer *t, const tare_llama_file *file, tare_error *err);
    } rows[] = {{"rwkv_vocab_v20230424.txt", tare_llama_read_rwkv},
                {"tokenizer.jsonl", tare_llama_read_plamo}};
    tare_llama_file file;
    *is_read = true;
    TARE_TRY(tare_llama_file_read_json(&file, t, "tekken.json", err));
    if (file.text.ptr) return tare_llama_read_tekken(t, &file, err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        TARE_TRY(tare_llama_file_read_text(&file, t, rows[i].name, err));
        if (file.text.ptr) return rows[i].read(t, &file, err);
    }
    if (tare_model_find_resource(t->hf, TARE_STR("vocab.json")) >= 0)
        return tare_llama_read_byte_bpe(t, err);
    if (tare_model_find_resource(t->hf, TARE_STR("vocab.txt")) >= 0)
        return tare_llama_read_word_piece(t, err);
    *is_read = false;
    return read_tiktoken(is_read, t, err);
}

static tare_status read_vocabulary(tare_llama_tokenizer *t, tare_error *err) {
    static const char *const usual[] = {"tokenizer.model", NULL};
    static const char *const unigram[] = {"tokenizer.model", "spiece.model", NULL};
    static const char *const xlm_r[] = {"sentencepiece.bpe.model", NULL};
    tare_llama_vocab_family family = t->options->family;
    bool is_read = false, has_json = t->json.file.text.ptr != NULL;
    if (!has_json || !t->options->prefers_json)
        TARE_TRY(try_sentencepiece(&is_read, t,
                                   family == TARE_LLAMA_VOCAB_UNIGRAM ? unigram
                                   : family == TARE_LLAMA_VOCAB_XLM_R ? xlm_r
                                                                      : usual,
                                   err));
    if (is_read) return TARE_OK;
    if (has_json) return read_json(t, err);
    TARE_TRY(read_other(&is_read, t, err));
    if (is_read) return TARE_OK;
    return tare_fail_code(
        err, TARE_ERR_UNSUPPORTED, TARE_CODE_NO_TOKENIZER,
        "no tokenizer: a file such as tokenizer.json or tokenizer.model was expected; "
        "`no_tokenizer` leaves it out, and llama.cpp does not run the output then");
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Brings the number of tokens to that of the model's embedding. */
static tare_status fit_size(tare_llama_tokenizer *t, tare_error *err) {
    uint64_t n = t->options->vocab_size ? t->options->vocab_size : t->vocab.n_tokens;
    uint64_t rest = t->options->multiple > 1 ? n % t->options->multiple : 0;
    size_t n_padded;
    if (rest && n != t->options->embedding_rows) n += t->options->multiple - rest;
    if (t->vocab.n_tokens > n) {
        if (strcmp(t->model, "llama") != 0 && strcmp(t->model, "t5") != 0) {
            tare_fail(err, TARE_ERR_UNSUPPORTED,
                      "the tokenizer has more tokens than vocab_size of config.json");
            tare_error_detail(err, "vocab_size is %llu, the tokenizer has %zu",
                              (unsigned long long)n, t->vocab.n_tokens);
            return TARE_ERR_UNSUPPORTED;
        }
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.tokens-dropped", NULL,
                        "%zu tokens beyond the model's vocabulary of %llu are left out",
                        t->vocab.n_tokens - (size_t)n, (unsigned long long)n);
        t->vocab.n_tokens = (size_t)n;
    }
    TARE_TRY(tare_llama_vocab_pad(&t->vocab, n, t->pad_score, &t->scratch, &n_padded, err));
    if (n_padded)
        tare_llama_note(t, TARE_LEVEL_INFO, "tokenizer.padded", NULL,
                        "%zu ids without a token become [PADn]", n_padded);
    return TARE_OK;
}

/* llama.cpp refuses a vocabulary in which a text stands twice. */
static tare_status note_doubles(tare_llama_tokenizer *t, tare_error *err) {
    tare_name_index index;
    const tare_llama_vocab *v = &t->vocab;
    TARE_TRY(tare_llama_vocab_index(&index, v, &t->scratch, err));
    for (size_t id = 0; id < v->n_tokens; id++) {
        int64_t first = tare_llama_vocab_find(&index, v, v->tokens[id].text);
        if (first == (int64_t)id) continue;
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.token-twice", NULL,
                        "tokens %lld and %zu have the same text: llama.cpp will not load the model",
                        (long long)first, id);
        return TARE_OK;
    }
    return TARE_OK;
}

static tare_status read_all(tare_llama_tokenizer *t, tare_error *err) {
    TARE_TRY(tare_llama_file_read_json(&t->tokenizer_config, t, "tokenizer_config.json", err));
    TARE_TRY(tare_llama_file_read_json(&t->model_config, t, "config.json", err));
    TARE_TRY(tare_llama_tokenizer_json_read(t, err));
    TARE_TRY(read_vocabulary(t, err));
    TARE_TRY(fit_size(t, err));
    TARE_TRY(note_doubles(t, err));
    TARE_TRY(tare_llama_find_specials(t, err));
    return tare_llama_find_templates(t, err);
}

tare_status tare_llama_tokenizer_keys(tare_metadata **entries, size_t *n, const tare_model *hf,
                                      const tare_llama_tokenizer_options *options,
                                      tare_arena *arena, tare_report *report, tare_error *err) {
    tare_llama_tokenizer t = {
        .hf = hf,
        .options = options,
        .report = report,
        .model = "none",
        .vocab = {.allocator = arena->allocator,
                  .most_tokens = tare_min_u64(TARE_LLAMA_MAX_TOKENS, hf->limits.array_elements)}};
    tare_status status = TARE_OK;
    tare_arena_init(&t.scratch, arena->allocator);
    if (options->family != TARE_LLAMA_VOCAB_NONE) {
        status = read_all(&t, err);
        tare_llama_find_normalizer(&t);
        if (status == TARE_OK) tare_llama_note_not_applied(&t);
    }
    if (status == TARE_OK) status = tare_llama_write_keys(entries, n, &t, arena, err);
    tare_llama_vocab_free(&t.vocab);
    tare_arena_free(&t.scratch);
    return status;
}
