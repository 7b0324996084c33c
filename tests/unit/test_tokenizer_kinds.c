/* SPDX-License-Identifier: MIT
 *
 * Guards against: vocabularies of the rarer kinds (WordPiece, Unigram, tiktoken, tekken, RWKV,
 * PLaMo, merges.txt) that lose tokens, scores, merges or types; a line of theirs that is no token
 * and passes for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tokenizer_help.h"

#define MARK "\xe2\x96\x81"

static void word_pieces_are_marked(void **state) {
    (void)state;
    static const char json[] =
        "{\"added_tokens\":[{\"id\":0,\"content\":\"[PAD]\",\"special\":true},{\"id\":1,"
        "\"content\":\"[CLS]\",\"special\":true}],\"normalizer\":{\"type\":\"BertNormalizer\","
        "\"lowercase\":true,\"strip_accents\":null},\"model\":{\"type\":\"WordPiece\",\"vocab\":"
        "{\"[PAD]\":0,\"[CLS]\":1,\"do\":2,\"##ing\":3}}}";
    const tare_llama_tokenizer_options options = {.token_types = 2};
    key_run r;
    RUN(&r, &options, SIDE_TEXT("tokenizer.json", json),
        SIDE_TEXT("tokenizer_config.json", "{\"cls_token\":\"[CLS]\",\"pad_token\":\"[PAD]\"}"));
    assert_run(&r);
    assert_order(&r, "token_type_count model pre tokens token_type bos_token_id padding_token_id "
                     "normalizer.lowercase");
    assert_str(&r, "tokenizer.ggml.model", "bert");
    assert_array(&r, "tokenizer.ggml.tokens", "[PAD]|[CLS]|" MARK "do|ing");
    assert_number(&r, "tokenizer.ggml.bos_token_id", 1);
    run_end(&r);
    RUN(&r, NULL, SIDE_TEXT("vocab.txt", "[PAD]\r\ndo\r\n##ing"));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens", "[PAD]|" MARK "do|ing");
    assert_array(&r, "tokenizer.ggml.token_type", "3|1|1");
    assert_null(key_of(&r, "tokenizer.ggml.padding_token_id")); /* where llama.cpp takes it to be */
    run_end(&r);
    RUN(&r, NULL, SIDE_TEXT("vocab.txt", "do\r\n[PAD]\r\n##ing"));
    assert_run(&r);
    assert_number(&r, "tokenizer.ggml.padding_token_id", 1);
    run_end(&r);
}

/* The mark is the file's; without one nothing tells a word from the rest of one. */
static void word_pieces_have_other_marks(void **state) {
    (void)state;
    key_run r;
    RUN(&r, NULL,
        SIDE_TEXT("tokenizer.json",
                  "{\"model\":{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"@@\","
                  "\"vocab\":{\"do\":0,\"@@ing\":1,\"##\":2}}}"));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens", MARK "do|ing|" MARK "##");
    run_end(&r);
    RUN(&r, NULL,
        SIDE_TEXT("tokenizer.json",
                  "{\"model\":{\"type\":\"WordPiece\",\"continuing_subword_prefix\":\"\","
                  "\"vocab\":{\"do\":0,\"ing\":1}}}"));
    assert_int_equal(r.status, TARE_ERR_UNSUPPORTED);
    assert_non_null(strstr(r.err.field, "continuing_subword_prefix"));
    run_end(&r);
}

#define ADDED(id, text) "{\"id\":" id ",\"content\":\"" text "\",\"special\":true}"
#define WORDS                                                                                      \
    "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"vocab\":{\"a\":0,\"?\":1,\"[CLS]\":"  \
    "2,"                                                                                           \
    "\"[SEP]\":3,\"[MASK]\":4,\"_\":5}},\"added_tokens\":[" ADDED("1", "?") "," ADDED(             \
        "2", "[CLS]") "," ADDED("3", "[SEP]") "," ADDED("4", "[MASK]") "," ADDED("5", "_") "]"

static void assert_ends(const key_run *r) {
    assert_run(r);
    assert_number(r, "tokenizer.ggml.bos_token_id", 2);
    assert_number(r, "tokenizer.ggml.eos_token_id", 3);
    assert_number(r, "tokenizer.ggml.seperator_token_id", 3);
    assert_number(r, "tokenizer.ggml.mask_token_id", 4);
    assert_number(r, "tokenizer.ggml.unknown_token_id", 1);
}

/* llama.cpp would take the ids of BERT's own vocabulary where no key says otherwise. */
static void roles_that_only_the_template_names(void **state) {
    (void)state;
    const side_file config = SIDE_TEXT("tokenizer_config.json", "{\"model_max_length\":512}");
    key_run r;
    RUN(&r, NULL, config,
        SIDE_TEXT("tokenizer.json",
                  "{" WORDS ",\"padding\":{\"pad_token\":\"_\"},"
                  "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":["
                  "{\"SpecialToken\":{\"id\":\"[CLS]\"}},{\"Sequence\":{\"id\":\"A\"}},"
                  "{\"SpecialToken\":{\"id\":\"[SEP]\"}}]}}"));
    assert_ends(&r);
    assert_number(&r, "tokenizer.ggml.padding_token_id", 5);
    run_end(&r);
    RUN(&r, NULL, config,
        SIDE_TEXT("tokenizer.json", "{" WORDS ",\"post_processor\":{\"type\":\"BertProcessing\","
                                    "\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]}}"));
    assert_ends(&r);
    assert_null(key_of(&r, "tokenizer.ggml.add_sep_token"));
    assert_non_null(key_of(&r, "tokenizer.ggml.add_eos_token"));
    run_end(&r);
    RUN(&r, NULL, SIDE_TEXT("tokenizer.json", "{" WORDS "}"));
    assert_ends(&r);
    run_end(&r);
}

/* Editors of Windows leave a mark in front of texts. */
static void a_byte_order_mark_is_no_token(void **state) {
    (void)state;
    key_run r;
    RUN(&r, NULL, SIDE_TEXT("vocab.txt", "\xef\xbb\xbf[PAD]\ndo"));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens", "[PAD]|" MARK "do");
    run_end(&r);
    RUN(&r, NULL, SIDE_TEXT("vocab.json", "{\"a\":0,\"b\":1,\"ab\":2}"),
        SIDE_TEXT("merges.txt", "\xef\xbb\xbf#version: 0.2\na b\n"),
        SIDE_TEXT("tokenizer_config.json", "{\"tokenizer_class\":\"GPT2Tokenizer\"}"));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.merges", "a b");
    run_end(&r);
    RUN(&r, NULL, SIDE_TEXT("vocab.json", "{\"a\":0,\"b\":1,\"ab\":2}"),
        SIDE_TEXT("merges.txt", "\xef\xbb\xbf"
                                "a b\n"),
        SIDE_TEXT("tokenizer_config.json", "{\"tokenizer_class\":\"GPT2Tokenizer\"}"));
    assert_array(&r, "tokenizer.ggml.merges", "a b");
    run_end(&r);
}

/* Names of tokens lead to ids without tokenizer.json, too; llama.cpp would assume those of GPT-2. */
static void names_stand_for_tokens_of_any_vocabulary(void **state) {
    (void)state;
    static const tare_llama_tokenizer_options like = {.like_reference = true};
    key_run r;
    const side_file vocab = SIDE_TEXT(
        "vocab.json", "{\"a\":0,\"<e>\":1,\"<s>\":2,\"<|endoftext|>\":3,\"b\":4,\"ab\":5}");
    const side_file merges = SIDE_TEXT("merges.txt", "#version: 0.2\na b\n");
    const side_file config = SIDE_TEXT(
        "tokenizer_config.json", "{\"tokenizer_class\":\"GPT2Tokenizer\",\"bos_token\":\"<s>\","
                                 "\"eos_token\":{\"content\":\"<e>\"}}");
    RUN(&r, NULL, vocab, merges, config);
    assert_run(&r);
    assert_number(&r, "tokenizer.ggml.bos_token_id", 2);
    assert_number(&r, "tokenizer.ggml.eos_token_id", 1);
    run_end(&r);
    RUN(&r, NULL, vocab, merges,
        SIDE_TEXT("tokenizer_config.json", "{\"tokenizer_class\":\"GPT2Tokenizer\"}"));
    assert_number(&r, "tokenizer.ggml.eos_token_id", 3);
    run_end(&r);
    RUN(&r, &like, vocab, merges, config);
    assert_null(key_of(&r, "tokenizer.ggml.eos_token_id"));
    assert_true(has_finding(&r, "tokenizer.no-end"));
    run_end(&r);
}

/* The first end is EOS, others that llama.cpp does not find by their text have keys. */
static void several_tokens_end_a_text(void **state) {
    (void)state;
    key_run r;
    const side_file vocab = SIDE_TEXT(
        "vocab.json",
        "{\"a\":0,\"<e>\":1,\"<f>\":2,\"<|im_end|>\":3,\"<g>\":4,\"<h>\":5,\"b\":6,\"ab\":7}");
    const side_file merges = SIDE_TEXT("merges.txt", "#version: 0.2\na b\n");
    const side_file config =
        SIDE_TEXT("tokenizer_config.json", "{\"tokenizer_class\":\"GPT2Tokenizer\"}");
    RUN(&r, NULL, vocab, merges, config,
        SIDE_TEXT("generation_config.json", "{\"eos_token_id\":[1,3,2,99,4]}"));
    assert_run(&r);
    assert_number(&r, "tokenizer.ggml.eos_token_id", 1);
    assert_number(&r, "tokenizer.ggml.eot_token_id", 2);
    assert_number(&r, "tokenizer.ggml.eom_token_id", 4);
    assert_false(has_finding(&r, "tokenizer.end-left-out"));
    run_end(&r);
    RUN(&r, NULL, vocab, merges, config,
        SIDE_TEXT("generation_config.json", "{\"eos_token_id\":[1,2,4,5]}"));
    assert_true(has_finding(&r, "tokenizer.end-left-out"));
    run_end(&r);
    RUN(&r, NULL, vocab, merges, config,
        SIDE_TEXT("generation_config.json", "{\"eos_token_id\":4}"));
    assert_number(&r, "tokenizer.ggml.eos_token_id", 4);
    assert_null(key_of(&r, "tokenizer.ggml.eot_token_id"));
    run_end(&r);
    /* a single one that is not the tokenizer's */
    const side_file named = SIDE_TEXT(
        "tokenizer_config.json", "{\"tokenizer_class\":\"GPT2Tokenizer\",\"eos_token\":\"<e>\"}");
    RUN(&r, NULL, vocab, merges, named,
        SIDE_TEXT("generation_config.json", "{\"eos_token_id\":4}"));
    assert_number(&r, "tokenizer.ggml.eos_token_id", 1);
    assert_number(&r, "tokenizer.ggml.eot_token_id", 4);
    run_end(&r);
    RUN(&r, NULL, vocab, merges, named,
        SIDE_TEXT("generation_config.json", "{\"eos_token_id\":1}"));
    assert_null(key_of(&r, "tokenizer.ggml.eot_token_id"));
    run_end(&r);
    /* a list of config.json, where no file says more */
    RUN(&r, NULL, vocab, merges, named, SIDE_TEXT("config.json", "{\"eos_token_id\":[1,2,4]}"));
    assert_number(&r, "tokenizer.ggml.eot_token_id", 2);
    assert_number(&r, "tokenizer.ggml.eom_token_id", 4);
    run_end(&r);
    RUN(&r, NULL, vocab, merges, named,
        SIDE_TEXT("config.json", "{\"text_config\":{\"eos_token_id\":[1,2]}}"));
    assert_number(&r, "tokenizer.ggml.eot_token_id", 2);
    run_end(&r);
    RUN(&r, NULL, vocab, merges, named, SIDE_TEXT("config.json", "{\"eos_token_id\":[1,2]}"),
        SIDE_TEXT("generation_config.json", "{\"eos_token_id\":1}"));
    assert_null(key_of(&r, "tokenizer.ggml.eot_token_id"));
    run_end(&r);
    RUN(&r, NULL, vocab, merges, named, SIDE_TEXT("config.json", "{\"eos_token_id\":2}"));
    assert_null(key_of(&r, "tokenizer.ggml.eot_token_id"));
    run_end(&r);
}

static void unigram_pieces_keep_scores(void **state) {
    (void)state;
    static const char json[] =
        "{\"added_tokens\":[{\"id\":0,\"content\":\"<s>\",\"special\":true}],\"normalizer\":"
        "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Precompiled\","
        "\"precompiled_charsmap\":\"AQL/\"}]},\"model\":{\"type\":\"Unigram\",\"unk_id\":1,"
        "\"vocab\":[[\"<s>\",0.0],[\"<unk>\",0],[\"a\",-2.5]]}}";
    key_run r;
    RUN(&r, NULL, SIDE_TEXT("tokenizer.json", json));
    assert_run(&r);
    assert_str(&r, "tokenizer.ggml.model", "t5");
    assert_array(&r, "tokenizer.ggml.scores", "0|0|-2.5");
    assert_array(&r, "tokenizer.ggml.token_type", "3|2|1");
    assert_array(&r, "tokenizer.ggml.precompiled_charsmap", "1|2|255");
    run_end(&r);
    static const char *const numbers[] = {"1", "-1", "\"0\"", "1.5"}; /* of one piece */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[160];
        snprintf(text, sizeof text,
                 "{\"model\":{\"type\":\"Unigram\",\"unk_id\":%s,\"vocab\":[[\"a\","
                 "0.0]]},\"added_tokens\":[{\"id\":1,\"content\":\"b\"}]}",
                 numbers[i]);
        RUN(&r, NULL, SIDE_TEXT("tokenizer.json", text));
        assert_fault(&r, TARE_ERR_CORRUPT, "tokenizer.json", 36, "unk_id");
        run_end(&r);
    }
}

/* "YQ==" a, "Yg==" b, "YWI=" ab, "IA==" blank, "IGFi" " ab": one merge each. */
static void ranks_give_merges(void **state) {
    (void)state;
    static const char lines[] = "YQ== 0\nYg== 1\nIA== 2\nYWI= 3\nIGFi 4\n";
    key_run r;
    RUN(&r, NULL, SIDE_TEXT("qwen.tiktoken", lines),
        SIDE_TEXT("tokenizer_config.json",
                  "{\"added_tokens_decoder\":{\"5\":{\"content\":\"<|e|>\",\"special\":true}}}"));
    assert_run(&r);
    assert_str(&r, "tokenizer.ggml.pre", "qwen2");
    assert_array(&r, "tokenizer.ggml.tokens",
                 "a|b|\xc4\xa0|ab|\xc4\xa0"
                 "ab|<|e|>");
    assert_array(&r, "tokenizer.ggml.merges", "a b|\xc4\xa0 ab");
    run_end(&r);
    RUN(&r, NULL, SIDE_TEXT("qwen.tiktoken", "YQ== 0\nYg== 2\n"));
    assert_fault(&r, TARE_ERR_CORRUPT, "qwen.tiktoken", 7, "rank");
    run_end(&r);
    RUN(&r, NULL, SIDE_TEXT("qwen.tiktoken", "YQ== 0\n*g== 1\n"));
    assert_fault(&r, TARE_ERR_CORRUPT, "qwen.tiktoken", 7, "base64");
    run_end(&r);
}

static void tekken_puts_special_tokens_first(void **state) {
    (void)state;
    static const char json[] =
        "{\"config\":{\"default_vocab_size\":8,\"default_num_special_tokens\":3},\"vocab\":["
        "{\"rank\":0,\"token_bytes\":\"YQ==\"},{\"rank\":1,\"token_bytes\":\"Yg==\"},"
        "{\"rank\":2,\"token_bytes\":\"YWI=\"},{\"rank\":3,\"token_bytes\":\"YmI=\"},"
        "{\"rank\":4,\"token_bytes\":\"YWJi\"},{\"rank\":5,\"token_bytes\":\"/w==\"}],"
        "\"special_tokens\":[{\"rank\":0,\"token_str\":\"<unk>\"},{\"rank\":1,\"token_str\":"
        "\"<s>\"}]}";
    key_run r;
    RUN(&r, NULL, SIDE_TEXT("tekken.json", json));
    assert_run(&r);
    assert_str(&r, "tokenizer.ggml.pre", "tekken");
    assert_array(&r, "tokenizer.ggml.tokens", "<unk>|<s>|<SPECIAL_2>|a|b|ab|bb|abb");
    assert_array(&r, "tokenizer.ggml.merges", "a b|b b|a bb|ab b");
    assert_number(&r, "tokenizer.ggml.bos_token_id", 1);
    assert_number(&r, "tokenizer.ggml.add_bos_token", 1);
    run_end(&r);
}

/* The pattern is the file's: another one than llama.cpp has is refused, and the name follows it. */
static void tekken_splits_by_its_pattern(void **state) {
    (void)state;
    static const struct {
        const char *pattern, *name; /* NULL: refused */
    } rows[] = {
        {"[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]*[\\\\p{Ll}"
         "\\\\p{Lm}"
         "\\\\p{Lo}\\\\p{M}]+|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}"
         "\\\\p{M}]+[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]*|\\\\p{N}| ?[^\\\\s\\\\p{L}\\\\p{N}]+"
         "[\\\\r\\\\n/]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+",
         "tekken"},
        {"[a-z]+|.", NULL},
    };
    for (size_t i = 0; i < 2; i++) {
        char json[1200];
        key_run r;
        snprintf(json, sizeof json,
                 "{\"config\":{\"pattern\":\"%s\",\"default_vocab_size\":4,"
                 "\"default_num_special_tokens\":1},\"vocab\":[{\"rank\":0,\"token_bytes\":"
                 "\"YQ==\"},{\"rank\":1,\"token_bytes\":\"Yg==\"},{\"rank\":2,\"token_bytes\":"
                 "\"YWI=\"}]}",
                 rows[i].pattern);
        RUN(&r, NULL, SIDE_TEXT("tekken.json", json));
        if (rows[i].name) {
            assert_run(&r);
            assert_str(&r, "tokenizer.ggml.pre", rows[i].name);
        } else {
            assert_int_equal(r.status, TARE_ERR_UNSUPPORTED);
            assert_string_equal(r.err.code, TARE_CODE_UNKNOWN_PRE);
        }
        run_end(&r);
    }
}

static void rwkv_tokens_are_literals(void **state) {
    (void)state;
    key_run r;
    RUN(&r, NULL,
        SIDE_TEXT("rwkv_vocab_v20230424.txt",
                  "1 '\\x00' 1\n2 ' ' 1\n3 b'\\xff\\n' 2\n4 \"it's\" 4\n5 '\\u00e9' 2\n"));
    assert_run(&r);
    assert_order(&r, "model tokens token_type bos_token_id eos_token_id chat_template");
    assert_array(&r, "tokenizer.ggml.tokens", "<s>|\\x00| |\\xff\\n|it's|\\xc3\\xa9");
    run_end(&r);
    static const char *const bad[] = {"1 'ab' 3\n", "2 'a' 1\n",   "1 a 1\n",
                                      "1 'a\n",     "1 '\\q' 1\n", "1 '\\x4' 1\n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        RUN(&r, NULL, SIDE_TEXT("rwkv_vocab_v20230424.txt", bad[i]));
        assert_fault(&r, TARE_ERR_CORRUPT, "rwkv_vocab_v20230424.txt", 0, "token");
        run_end(&r);
    }
}

static void plamo_lines_are_json(void **state) {
    (void)state;
    key_run r;
    RUN(&r, NULL,
        SIDE_TEXT("tokenizer.jsonl",
                  "[\"<|plamo:unk|>\", 0.0, \"UNKNOWN\"]\n[\"<|plamo:bos|>\", 1, "
                  "\"NORMAL\", 2]\n[\"a\", -1.5]\n"),
        SIDE_TEXT("tokenizer_config.json", "{\"bos_token\":\"<|plamo:bos|>\"}"));
    assert_run(&r);
    assert_str(&r, "tokenizer.ggml.model", "plamo2");
    assert_array(&r, "tokenizer.ggml.token_type", "2|3|1");
    assert_array(&r, "tokenizer.ggml.scores", "0|1|-1.5");
    assert_number(&r, "tokenizer.ggml.bos_token_id", 1);
    run_end(&r);
    RUN(&r, NULL, SIDE_TEXT("tokenizer.jsonl", "[\"a\", 1]\n{\"a\": }\n"));
    assert_fault(&r, TARE_ERR_CORRUPT, "tokenizer.jsonl", 15, "value");
    run_end(&r);
}

static void older_files_name_a_class(void **state) {
    (void)state;
    key_run r;
    RUN(&r, NULL, SIDE_TEXT("vocab.json", "{\"a\":0,\"b\":1,\"ab\":2,\"<|endoftext|>\":3}"),
        SIDE_TEXT("merges.txt", "#version: 0.2\na b\n"),
        SIDE_TEXT("tokenizer_config.json", "{\"tokenizer_class\":\"GPT2Tokenizer\"}"));
    assert_run(&r);
    assert_str(&r, "tokenizer.ggml.pre", "gpt-2");
    assert_array(&r, "tokenizer.ggml.merges", "a b");
    assert_array(&r, "tokenizer.ggml.token_type", "1|1|1|3");
    run_end(&r);
    RUN(&r, NULL, SIDE_TEXT("vocab.json", "{\"a\":0}"), SIDE_TEXT("merges.txt", "a b\nab\n"));
    assert_fault(&r, TARE_ERR_CORRUPT, "merges.txt", 4, "merge");
    run_end(&r);
    RUN(&r, NULL, SIDE_TEXT("config.json", "{}"));
    assert_int_equal(r.status, TARE_ERR_UNSUPPORTED);
    run_end(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(word_pieces_are_marked),
        cmocka_unit_test(word_pieces_have_other_marks),
        cmocka_unit_test(roles_that_only_the_template_names),
        cmocka_unit_test(a_byte_order_mark_is_no_token),
        cmocka_unit_test(names_stand_for_tokens_of_any_vocabulary),
        cmocka_unit_test(several_tokens_end_a_text),
        cmocka_unit_test(unigram_pieces_keep_scores),
        cmocka_unit_test(ranks_give_merges),
        cmocka_unit_test(tekken_puts_special_tokens_first),
        cmocka_unit_test(tekken_splits_by_its_pattern),
        cmocka_unit_test(rwkv_tokens_are_literals),
        cmocka_unit_test(plamo_lines_are_json),
        cmocka_unit_test(older_files_name_a_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
