/* SPDX-License-Identifier: MIT
 *
 * Guards against: BPE vocabularies whose tokens, types, merges or special ids are other ones than
 * llama.cpp's converter gives; scores that split words otherwise than the merges do; a splitting
 * that is taken for one it is not, or for none; a damaged tokenizer.json that is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tokenizer_help.h"

#define GPT2_STAGE "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}"
#define LLAMA3_STAGE                                                                               \
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"        \
    "\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| "           \
    "?[^\\\\s\\\\p{L}\\\\p{N}]+[\\r\\n]*|\\\\s*[\\r\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"},\"behavior\":"  \
    "\"Isolated\",\"invert\":false},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"           \
    "\"use_regex\":false}]}"
#define BYTE_BPE(stage, ignore)                                                                    \
    "{\"added_tokens\":[{\"id\":5,\"content\":\"<s>\",\"special\":true},{\"id\":6,\"content\":"    \
    "\"\\u2581x\",\"special\":false},{\"id\":7,\"content\":\"<|e|>\",\"special\":false}],"         \
    "\"normalizer\":null,\"pre_tokenizer\":" stage                                                 \
    ",\"decoder\":{\"type\":\"ByteLevel\"},\"post_processor\":{\"type\":\"TemplateProcessing\","   \
    "\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},{\"Sequence\":{\"id\":\"A\"}}],\"pair\":"     \
    "[]},\"model\":{\"type\":\"BPE\",\"ignore_merges\":" ignore                                    \
    ",\"vocab\":{\"a\":0,\"b\":1,\"\\u0120\":2,\"ab\":3,\"\\u0120ab\":4},\"merges\":[\"a b\","     \
    "[\"\\u0120\",\"ab\"]]}}"

static void byte_level_keys(void **state) {
    (void)state;
    key_run r;
    const tare_llama_tokenizer_options options = {.vocab_size = 9};
    RUN(&r, &options, SIDE_TEXT("tokenizer.json", BYTE_BPE(LLAMA3_STAGE, "true")),
        SIDE_TEXT("tokenizer_config.json",
                  "{\"bos_token\":\"<s>\",\"eos_token\":{\"content\":\"<|e|>\"},\"add_bos_token\":"
                  "true,\"chat_template\":\"{{ x }}\"}"));
    assert_run(&r);
    assert_order(&r, "model pre tokens token_type merges bos_token_id eos_token_id add_bos_token "
                     "chat_template");
    assert_str(&r, "tokenizer.ggml.model", "gpt2");
    assert_str(&r, "tokenizer.ggml.pre", "llama-bpe");
    assert_array(&r, "tokenizer.ggml.tokens",
                 "a|b|\xc4\xa0|ab|\xc4\xa0"
                 "ab|<s>| x|<|e|>|[PAD8]");
    assert_array(&r, "tokenizer.ggml.token_type", "1|1|1|1|1|3|4|3|5");
    assert_array(&r, "tokenizer.ggml.merges", "a b|\xc4\xa0 ab");
    assert_number(&r, "tokenizer.ggml.bos_token_id", 5);
    assert_number(&r, "tokenizer.ggml.eos_token_id", 7);
    run_end(&r);
}

static void merges_flags_and_class_choose_among_names(void **state) {
    (void)state;
    static const struct {
        const char *json, *config, *hf_class, *pre;
    } rows[] = {
        {BYTE_BPE(LLAMA3_STAGE, "false"), "{}", "", "dbrx"},
        {BYTE_BPE(LLAMA3_STAGE, "false"), "{}", "Glm4ForCausalLM", "glm4"},
        {BYTE_BPE(GPT2_STAGE, "false"), "{}", "", "gpt-2"},
        {BYTE_BPE(GPT2_STAGE, "false"), "{\"clean_up_tokenization_spaces\":false}", "", "trillion"},
        {BYTE_BPE(GPT2_STAGE, "false"), "{}", "OlmoForCausalLM", "olmo"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        key_run r;
        const tare_llama_tokenizer_options options = {.hf_class = tare_str_of(rows[i].hf_class)};
        RUN(&r, &options, SIDE_TEXT("tokenizer.json", rows[i].json),
            SIDE_TEXT("tokenizer_config.json", rows[i].config));
        assert_run(&r);
        assert_str(&r, "tokenizer.ggml.pre", rows[i].pre);
        run_end(&r);
    }
}

static void an_unknown_splitting_stops(void **state) {
    (void)state;
    static const char json[] = BYTE_BPE(
        "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"
        "\"\\\\p{N}{1,7}\"},\"behavior\":\"Isolated\"}," GPT2_STAGE "]}",
        "false");
    const char *stage = strstr(json, "{\"type\":\"Sequence\"");
    key_run r;
    tare_llama_tokenizer_options options = {.vocab_size = 0};
    RUN(&r, &options, SIDE_TEXT("tokenizer.json", json));
    assert_fault(&r, TARE_ERR_UNSUPPORTED, "tokenizer.json", (uint64_t)(stage - json), "`pre`");
    assert_string_equal(r.err.code, TARE_CODE_UNKNOWN_PRE);
    assert_string_equal(r.err.field, "pre_tokenizer (nearest: smollm)");
    assert_true(has_finding(&r, "tokenizer.pre-stage"));
    run_end(&r);
    options.pre = "falcon";
    RUN(&r, &options, SIDE_TEXT("tokenizer.json", json));
    assert_run(&r);
    assert_str(&r, "tokenizer.ggml.pre", "falcon");
    run_end(&r);
    options.pre = "no-such-name";
    RUN(&r, &options, SIDE_TEXT("tokenizer.json", json));
    assert_int_equal(r.status, TARE_ERR_ARG);
    run_end(&r);
}

static void names_of_pre_are_in_order(void **state) {
    (void)state;
    size_t n = 0;
    for (const char *last = NULL, *name; (name = tare_llama_pre_name(n)); n++, last = name) {
        assert_true(tare_llama_pre_is_known(tare_str_of(name)));
        assert_true(!last || strcmp(last, name) < 0);
    }
    assert_true(n > 80);
    assert_false(tare_llama_pre_is_known(TARE_STR("")));
}

/* Hugging Face's libraries count the last place of a merge, llama.cpp the first; a list has one text for
 * an id. */
static void merges_and_ids_that_are_given_twice(void **state) {
    (void)state;
    static const char json[] =
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true},"
        "\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":"
        "1,"
        "\"c\":2,\"ab\":3,\"bc\":4,\"x\":5,\"y\":5},"
        "\"merges\":[\"a b\",\"b c\",[\"a\",\"b\"],\"b c\",\"a b\"]}}";
    key_run r;
    tare_llama_tokenizer_options options = {.vocab_size = 6};
    RUN(&r, &options, SIDE_TEXT("tokenizer.json", json));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.merges", "b c|a b");
    assert_array(&r, "tokenizer.ggml.tokens", "a|b|c|ab|bc|y");
    assert_true(has_finding(&r, "tokenizer.merge-twice"));
    assert_true(has_finding(&r, "tokenizer.shared-id"));
    run_end(&r);
    options.like_reference = true;
    RUN(&r, &options, SIDE_TEXT("tokenizer.json", json));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.merges", "a b|b c|a b|b c|a b");
    run_end(&r);
}

/* What Hugging Face's library does with these tokens, and llama.cpp otherwise. */
static void merges_that_llama_cpp_uses_otherwise(void **state) {
    (void)state;
    static const struct {
        const char *members, *vocab;
        bool is_told;
    } rows[] = {
        {"\"ignore_merges\":true", "", false}, /* each is made by a merge */
        {"\"ignore_merges\":true", ",\"bca\":4", true},
        {"\"ignore_merges\":false", ",\"bca\":4", false},
        {"\"dropout\":0.1", "", true},
        {"\"dropout\":null", "", false},
        {"\"dropout\":0.0", "", false},
        {"\"unk_token\":\"a\"", "", true}, /* 240 bytes are none */
        {"\"unk_token\":null", "", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[600];
        key_run r;
        snprintf(json, sizeof json,
                 "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                 "\"use_regex\":true},\"decoder\":{\"type\":\"ByteLevel\"},\"model\":{\"type\":"
                 "\"BPE\",%s,\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"bc\":3%s},"
                 "\"merges\":[\"b c\"]}}",
                 rows[i].members, rows[i].vocab);
        RUN(&r, NULL, SIDE_TEXT("tokenizer.json", json));
        assert_run(&r);
        assert_int_equal(has_finding(&r, "tokenizer.not-applied"), rows[i].is_told);
        run_end(&r);
    }
}

/* "abc": a merge of bc ranks before ab, so a|bc is what the model learned. */
static void scores_follow_the_merges(void **state) {
    (void)state;
    static const char json[] =
        "{\"added_tokens\":[{\"id\":0,\"content\":\"<unk>\",\"special\":true}],"
        "\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"ByteFallback\"}]},"
        "\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"vocab\":{\"<unk>\":0,\"<0x0A>\":1,"
        "\"a\":2,\"b\":3,\"c\":4,\"bc\":5,\"ab\":6},\"merges\":[\"b c\",\"a b\"]}}";
    key_run r;
    tare_llama_tokenizer_options options = {.vocab_size = 8};
    RUN(&r, &options, SIDE_TEXT("tokenizer.json", json));
    assert_run(&r);
    assert_order(&r, "model pre tokens scores token_type add_space_prefix add_bos_token");
    assert_str(&r, "tokenizer.ggml.model", "llama");
    assert_number(&r, "tokenizer.ggml.add_space_prefix", 0);
    assert_number(&r, "tokenizer.ggml.add_bos_token", 0);
    assert_array(&r, "tokenizer.ggml.scores", "-1000|-1000|-1000|-1000|-1000|0|-1|-1000");
    assert_array(&r, "tokenizer.ggml.token_type", "3|6|1|1|1|1|1|5");
    assert_true(has_finding(&r, "tokenizer.scores-of-merges"));
    run_end(&r);
    options.like_reference = true;
    RUN(&r, &options, SIDE_TEXT("tokenizer.json", json));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.scores", "-1000|-1000|-1000|-1000|-1000|-1000|-1000|-1000");
    run_end(&r);
}

static void cut_at_every_byte(void **state) {
    (void)state;
    static const char json[] = BYTE_BPE(LLAMA3_STAGE, "true");
    for (size_t n = 0; n + 1 < sizeof json; n++) {
        char *copy = malloc(n + 1);
        memcpy(copy, json, n);
        key_run r;
        RUN(&r, NULL, {"tokenizer.json", {copy, n}});
        assert_int_equal(r.status, n ? TARE_ERR_CORRUPT : TARE_ERR_TRUNCATED);
        assert_string_equal(r.err.item_name, "tokenizer.json");
        assert_true(r.err.offset <= n);
        run_end(&r);
        free(copy);
    }
}

static void faults_have_a_place(void **state) {
    (void)state;
    static const struct {
        const char *before, *at, *words;
        tare_status status;
    } rows[] = {
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":", "-1}}}", "whole number",
         TARE_ERR_CORRUPT},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":", "[]}}", "vocab", TARE_ERR_CORRUPT},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[", "[\"a\"]]}}", "merges",
         TARE_ERR_CORRUPT},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[", "\"ab\"]}}", "merges",
         TARE_ERR_CORRUPT},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[", "[\"\",\"b\"]]}}", "empty",
         TARE_ERR_CORRUPT},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[\"a b\"]},\"added_tokens\":[",
         "{\"id\":1}]}", "content", TARE_ERR_CORRUPT},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{},\"merges\":[\"a b\"]},\"added_tokens\":", "{}}",
         "array", TARE_ERR_CORRUPT},
        {"{\"model\":{\"type\":", "\"Bytes\"}}", "no tokenizer of this kind", TARE_ERR_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[256];
        key_run r;
        snprintf(json, sizeof json, "%s%s", rows[i].before, rows[i].at);
        RUN(&r, NULL, SIDE_TEXT("tokenizer.json", json));
        assert_fault(&r, rows[i].status, "tokenizer.json", strlen(rows[i].before), rows[i].words);
        run_end(&r);
    }
    key_run r;
    RUN(&r, NULL,
        SIDE_TEXT("tokenizer.json", "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":4194304}}}"));
    assert_int_equal(r.status, TARE_ERR_LIMIT);
    assert_string_equal(r.err.item_name, "tokenizer.json");
    run_end(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_level_keys),
        cmocka_unit_test(merges_flags_and_class_choose_among_names),
        cmocka_unit_test(an_unknown_splitting_stops),
        cmocka_unit_test(names_of_pre_are_in_order),
        cmocka_unit_test(merges_and_ids_that_are_given_twice),
        cmocka_unit_test(merges_that_llama_cpp_uses_otherwise),
        cmocka_unit_test(scores_follow_the_merges),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(faults_have_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
