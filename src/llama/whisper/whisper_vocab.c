/* SPDX-License-Identifier: MIT
 *
 * Tokens of Whisper in GPT-2's alphabet of bytes: of vocab.json, for the keys of whisper.cpp's files. */
#include "base/byte_alphabet.h"
#include "base/str.h"
#include "llama/tokenizer/vocab.h"
#include "llama/whisper/whisper_parts.h"
#include "model/json_resource.h"

static tare_status fail_token(tare_error *err, tare_status status, const tare_json_node *token,
                              const char *what) {
    tare_fail_at(err, status, token->offset, what);
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("vocab.json"));
    return status;
}

static tare_status add_token(tare_str *tokens, size_t n, const tare_json_node *token,
                             tare_arena *arena, tare_error *err) {
    uint64_t id;
    size_t n_bytes;
    char *bytes = tare_arena_take(arena, token->key.len + 1);
    if (!bytes) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    if (!tare_json_node_u64(token, &id) || id >= n)
        return fail_token(err, TARE_ERR_CORRUPT, token,
                          "an id that is no number below the number of tokens");
    if (tokens[id].ptr) return fail_token(err, TARE_ERR_CORRUPT, token, "an id that was there");
    tokens[id] = token->key;
    if (!tare_byte_alphabet_bytes(bytes, &n_bytes, token->key))
        return fail_token(err, TARE_ERR_CORRUPT, token,
                          "a token that is not in GPT-2's alphabet of bytes");
    return TARE_OK;
}

static tare_status find_vocab(const tare_json_node **out, const tare_model *hf, tare_arena *arena,
                              tare_error *err) {
    TARE_TRY(tare_model_json(out, hf, "vocab.json", arena, err));
    if (!*out) {
        TARE_TRY(tare_model_json(out, hf, "tokenizer.json", arena, err));
        *out = *out ? tare_json_path(*out, TARE_STR("model.vocab")) : NULL;
    }
    if (*out && (*out)->type == TARE_JSON_OBJECT) return TARE_OK;
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     "the model has no vocab.json, whose tokens whisper.cpp needs");
}

tare_status tare_whisper_read_tokens(tare_value *out, const tare_model *hf, uint64_t most,
                                     tare_arena *arena, tare_error *err) {
    const tare_json_node *vocab;
    TARE_TRY(find_vocab(&vocab, hf, arena, err));
    const size_t n = vocab->n;
    tare_str *tokens = TARE_NEW_ARRAY(arena, tare_str, n);
    if (!tokens) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    if (n > most)
        return fail_token(err, TARE_ERR_CORRUPT, vocab,
                          "more tokens than vocab_size in config.json says");
    for (const tare_json_node *t = vocab->child; t; t = t->next)
        TARE_TRY(add_token(tokens, n, t, arena, err));
    return tare_llama_pack_strings(out, tokens, n, sizeof *tokens, arena, err);
}
