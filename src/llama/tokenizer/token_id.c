/* SPDX-License-Identifier: MIT
 *
 * The id of one added token, for those who need no vocabulary. */
#include "base/str.h"
#include "llama/tokenizer/context.h"

/* In added_tokens_decoder of tokenizer_config.json, whose keys are ids. */
static bool find_decoded(uint64_t *id, const tare_llama_file *file, const char *token) {
    tare_json_value decoder = tare_json_span_member(&file->root, "added_tokens_decoder");
    tare_json j;
    tare_json_value key, value;
    tare_json_span_object(&j, &decoder);
    while (tare_json_key(&j, &key) != TARE_JSON_END) {
        tare_json_span_next(&j, &value);
        tare_json_value content = tare_json_span_content(&value);
        if (tare_json_is(&content, token) && tare_llama_id_of_key(&key, id)) return true;
    }
    return false;
}

/* In added_tokens of tokenizer.json, a list. */
static bool find_listed(uint64_t *id, const tare_llama_file *file, const char *token) {
    tare_json_value list = tare_json_span_member(&file->root, "added_tokens");
    tare_json j;
    tare_json_value value;
    tare_json_span_array(&j, &list);
    while (tare_json_span_next(&j, &value) != TARE_JSON_END) {
        tare_json_value number = tare_json_span_member(&value, "id");
        tare_json_value content = tare_json_span_content(&value);
        if (tare_json_is(&content, token) && tare_json_u64(&number, id)) return true;
    }
    return false;
}

tare_status tare_llama_token_id(uint64_t *id, bool *is_there, const tare_model *hf,
                                const char *token, tare_error *err) {
    tare_llama_tokenizer t = {.hf = hf};
    tare_llama_file config, tokenizer;
    *is_there = false;
    tare_arena_init(&t.scratch, hf->allocator);
    tare_status status = tare_llama_file_read_json(&config, &t, "tokenizer_config.json", err);
    if (status == TARE_OK && config.text.ptr) *is_there = find_decoded(id, &config, token);
    if (status == TARE_OK && !*is_there) {
        status = tare_llama_file_read_json(&tokenizer, &t, "tokenizer.json", err);
        if (status == TARE_OK && tokenizer.text.ptr) *is_there = find_listed(id, &tokenizer, token);
    }
    tare_arena_free(&t.scratch);
    return status;
}
