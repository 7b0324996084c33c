/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: files that tokenizers are made of. The first byte says which file the rest is, and
 * what is asked for. Refused with a place in that file, or the keys agree with each other: as many
 * types and scores as tokens, special ids that are tokens. */
#include <stdio.h>
#include <string.h>

#include "llama/tokenizer/tokenizer.h"
#include "open_input.h"
#include "support/side_files.h"

static const char *const names[] = {
    "tokenizer.model",          "tokenizer.json",  "tekken.json", "qwen.tiktoken",
    "rwkv_vocab_v20230424.txt", "tokenizer.jsonl", "vocab.txt",   "sentencepiece.bpe.model"};
#define N_NAMES (sizeof names / sizeof *names)

static const tare_value *find(const tare_metadata *entries, size_t n, const char *key) {
    for (size_t i = 0; i < n; i++)
        if (tare_str_is(entries[i].key, key)) return &entries[i].value;
    return NULL;
}

static void check_keys(const tare_metadata *entries, size_t n) {
    const tare_value *tokens = find(entries, n, "tokenizer.ggml.tokens");
    const tare_value *types = find(entries, n, "tokenizer.ggml.token_type");
    const tare_value *scores = find(entries, n, "tokenizer.ggml.scores");
    uint64_t n_tokens = tokens ? tokens->as.a.count : 0;
    tare_array_walk walk;
    tare_value element;
    FUZZ_CHECK(find(entries, n, "tokenizer.ggml.model") && !tokens == !types);
    for (size_t i = 0; i < n; i++)
        if (tare_str_ends(entries[i].key, TARE_STR("_token_id")))
            FUZZ_CHECK(entries[i].value.as.u < n_tokens);
    if (!tokens) return;
    FUZZ_CHECK(n_tokens == types->as.a.count && (!scores || scores->as.a.count == n_tokens));
    tare_array_begin(&walk, &tokens->as.a);
    while (tare_array_next(&element, &walk)) FUZZ_CHECK(element.type == TARE_VALUE_STRING);
    FUZZ_CHECK(walk.index == n_tokens && walk.position == tokens->as.a.size_bytes);
    tare_array_begin(&walk, &types->as.a);
    while (tare_array_next(&element, &walk)) FUZZ_CHECK(element.as.i >= 1 && element.as.i <= 6);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tare_limits limits = fuzz_limits();
    if (size == 0) return 0;
    const side_file files[] = {
        {names[data[0] % N_NAMES], {(const char *)data + 1, size - 1}},
        SIDE_TEXT("tokenizer_config.json", "{\"bos_token\":\"<s>\",\"eos_token\":\"</s>\"}"),
        SIDE_TEXT("config.json", "{\"bos_token_id\":1,\"eos_token_id\":[2,3]}")};
    const tare_llama_tokenizer_options options = {
        .family = (tare_llama_vocab_family)(data[0] / N_NAMES % 4),
        .pre = data[0] & 0x80 ? "gpt-2" : NULL};
    tare_metadata *entries = NULL;
    size_t n = 0;
    tare_error err = TARE_ERROR_NONE;
    tare_arena arena;
    tare_report *report = tare_report_new();
    tare_model *m = model_of_files(files, sizeof files / sizeof *files, &limits);
    tare_arena_init(&arena, NULL);
    FUZZ_CHECK(m != NULL);
    tare_status status = tare_llama_tokenizer_keys(&entries, &n, m, &options, &arena, report, &err);
    if (status == TARE_OK) {
        check_keys(entries, n);
    } else {
        fuzz_check_error(status, &err);
        FUZZ_CHECK(n == 0 && (err.offset == TARE_NO_OFFSET || err.offset < size));
    }
    tare_model_free(m);
    tare_arena_free(&arena);
    tare_report_free(report);
    return 0;
}
