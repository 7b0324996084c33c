/* SPDX-License-Identifier: MIT
 *
 * Guards against: added tokens at other ids than those that Hugging Face's libraries give them;
 * special tokens that are only named, and stay plain text or are lost; templates in files of their
 * own that are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <stdlib.h>

#include <cmocka.h>

#include "tokenizer_help.h"

#define MARK "\xe2\x96\x81"
/* Four tokens, and added ones. */
#define BPE(added)                                                                                 \
    "{\"added_tokens\":[" added "],\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":true}," \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"<s>\":3},\"merges\":[\"a "  \
    "b\"]}}"
#define ADDED(id, text, special)                                                                   \
    "{\"id\":" #id ",\"content\":\"" text "\",\"special\":" #special "}"
#define S ADDED(3, "<s>", true)

static void assert_tokens(const char *json, const char *config, const char *texts,
                          const char *types) {
    const tare_llama_tokenizer_options options = {.vocab_size = 8};
    key_run r;
    RUN(&r, &options, SIDE_TEXT("tokenizer.json", json),
        SIDE_TEXT("tokenizer_config.json", config));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens", texts);
    assert_array(&r, "tokenizer.ggml.token_type", types);
    run_end(&r);
}

static void ids_follow_the_order(void **state) {
    (void)state;
    /* a gap, and an id beyond the vocabulary */
    assert_tokens(BPE(S "," ADDED(6, "<x>", false) "," ADDED(90000, "<y>", true)), "{}",
                  "a|b|ab|<s>|<x>|<y>|[PAD6]|[PAD7]", "1|1|1|3|4|3|5|5");
    /* a text that is a token already, at the id of another one, twice */
    assert_tokens(BPE(ADDED(1, "ab", true) "," ADDED(0, "<x>", false) "," ADDED(5, "<x>", false)),
                  "{}", "a|b|ab|<s>|<x>|[PAD5]|[PAD6]|[PAD7]", "1|1|3|1|4|5|5|5");
    assert_tokens(BPE(S),
                  "{\"added_tokens_decoder\":{\"3\":{\"content\":\"<s>\",\"special\":true},\"7\":{"
                  "\"content\":\"<z>\",\"special\":true},\"1\":{\"content\":\"a\"}}}",
                  "a|b|ab|<s>|<z>|[PAD5]|[PAD6]|[PAD7]", "4|1|1|3|3|5|5|5");
    key_run r;
    RUN(&r, NULL, SIDE_TEXT("tokenizer.json", BPE(ADDED(9, "<x>", false))));
    assert_true(has_finding(&r, "tokenizer.added-id"));
    run_end(&r);
    RUN(&r, NULL, SIDE_TEXT("tokenizer.json", BPE(S "," ADDED(4, "<x>", false))));
    assert_false(has_finding(&r, "tokenizer.added-id"));
    run_end(&r);
}

/* Where the libraries would give two tokens one id, that of the file stays. */
static void a_vocabulary_with_gaps_keeps_its_tokens(void **state) {
    (void)state;
    key_run r;
    RUN(&r, NULL,
        SIDE_TEXT(
            "tokenizer.json",
            "{\"added_tokens\":[" ADDED(0, "<s>", true) "," ADDED(
                4, "<x>",
                true) "],\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":true},\"model\":{"
                      "\"type\":\"BPE\",\"vocab\":{\"a\":1,\"b\":2,\"ab\":3},\"merges\":[\"a "
                      "b\"]}}"));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens", "<s>|a|b|ab|<x>");
    run_end(&r);
    /* one of three would be another's: all stay, in any order */
#define GAPS(added)                                                                                \
    "{\"added_tokens\":[" added "],\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"use_regex\":true}," \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":5},\"merges\":[\"a b\"]}}"
    RUN(&r, NULL,
        SIDE_TEXT("tokenizer.json", GAPS(ADDED(6, "<p>", true) "," ADDED(2, "<q>", true) "," ADDED(
                                        3, "<r>", true) "," ADDED(4, "<s>", true))),
        SIDE_TEXT("tokenizer_config.json", "{\"pad_token\":\"<t>\"}"));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens", "a|b|<q>|<r>|<s>|ab|<p>|<t>");
    assert_false(has_finding(&r, "tokenizer.added-id"));
    run_end(&r);
    RUN(&r, NULL,
        SIDE_TEXT("tokenizer.json",
                  GAPS(ADDED(2, "<q>", true) "," ADDED(3, "<r>", true) "," ADDED(3, "<s>", true))));
    assert_fault(&r, TARE_ERR_CORRUPT, "tokenizer.json", 97,
                 "an added token has the id of another token");
    run_end(&r);
}

static void tokens_of_an_older_file_are_added(void **state) {
    (void)state;
    const side_file json = SIDE_TEXT("tokenizer.json", BPE(S));
    const side_file added =
        SIDE_TEXT("added_tokens.json", "{\"<q>\":7,\"a\":0,\"<p>\":6,\"<s>\":3}");
    key_run r;
    RUN(&r, NULL, json, added);
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens", "a|b|ab|<s>|<p>|<q>");
    run_end(&r);
    RUN(&r, NULL, json, added, SIDE_TEXT("tokenizer_config.json", "{\"added_tokens_decoder\":{}}"));
    assert_array(&r, "tokenizer.ggml.tokens", "a|b|ab|<s>");
    run_end(&r);
    const tare_llama_tokenizer_options full = {.vocab_size = 5};
    RUN(&r, &full, json, added);
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens", "a|b|ab|<s>|<p>");
    assert_true(has_finding(&r, "tokenizer.no-such-token"));
    run_end(&r);
    RUN(&r, NULL, json, SIDE_TEXT("added_tokens.json", "{\"<q>\":-7}"));
    assert_fault(&r, TARE_ERR_CORRUPT, "added_tokens.json", 7, "an id was expected");
    run_end(&r);
}

static void named_tokens_are_special(void **state) {
    (void)state;
    assert_tokens(
        BPE(S),
        "{\"additional_special_tokens\":[\"<z>\",{\"content\":\"b\"}],\"eos_token\":\"a\","
        "\"extra_special_tokens\":{\"image_token\":\"<i>\"},\"boi_token\":\"<boi>\","
        "\"add_bos_token\":false,\"pad_token\":\"<p>\",\"unk_token\":null}",
        "a|b|ab|<s>|<p>|<boi>|<i>|<z>", "3|3|1|3|3|3|3|3");
    assert_tokens(BPE(S), "{\"extra_special_tokens\":[\"<i>\"]}",
                  "a|b|ab|<s>|<i>|[PAD5]|[PAD6]|[PAD7]", "1|1|1|3|3|5|5|5");
    const tare_llama_tokenizer_options full = {.vocab_size = 4};
    key_run r;
    RUN(&r, &full, SIDE_TEXT("tokenizer.json", BPE(S)),
        SIDE_TEXT("tokenizer_config.json", "{\"extra_special_tokens\":[\"<i>\",\"<j>\"]}"));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens", "a|b|ab|<s>");
    assert_true(has_finding(&r, "tokenizer.no-such-token"));
    run_end(&r);
    /* WordPiece marks words, and not what is special */
    RUN(&r, NULL,
        SIDE_TEXT("tokenizer.json",
                  "{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[CLS]\":0,\"a\":1}}}"),
        SIDE_TEXT("tokenizer_config.json", "{\"cls_token\":\"[CLS]\",\"pad_token\":\"[PAD]\"}"));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens", "[CLS]|" MARK "a|[PAD]");
    assert_array(&r, "tokenizer.ggml.token_type", "3|1|3");
    assert_number(&r, "tokenizer.ggml.bos_token_id", 0);
    run_end(&r);
}

static void a_map_of_names_is_the_last_word(void **state) {
    (void)state;
    const tare_llama_tokenizer_options like = {.like_reference = true};
    const side_file json = SIDE_TEXT("tokenizer.json", BPE(S));
    const side_file map = SIDE_TEXT("special_tokens_map.json",
                                    "{\"eos_token\":{\"content\":\"<s>\"},\"pad_token\":\"b\"}");
    key_run r;
    RUN(&r, NULL, json, map, SIDE_TEXT("tokenizer_config.json", "{\"pad_token\":\"a\"}"));
    assert_run(&r);
    assert_number(&r, "tokenizer.ggml.eos_token_id", 3);
    assert_number(&r, "tokenizer.ggml.padding_token_id", 0);
    assert_false(has_finding(&r, "tokenizer.no-end"));
    run_end(&r);
    RUN(&r, NULL, json, map, SIDE_TEXT("config.json", "{\"eos_token_id\":1}"));
    assert_number(&r, "tokenizer.ggml.eos_token_id", 1);
    run_end(&r);
    RUN(&r, &like, json, map);
    assert_null(key_of(&r, "tokenizer.ggml.eos_token_id"));
    run_end(&r);
}

static void templates_lie_in_a_folder(void **state) {
    (void)state;
    const side_file json = SIDE_TEXT("tokenizer.json", BPE(S));
    const side_file main = SIDE_TEXT("chat_template.jinja", "{{ m }}");
    const side_file rag = SIDE_TEXT("additional_chat_templates/ra-g.jinja", "{{ r }}");
    key_run r;
    RUN(&r, NULL, json, main, rag, SIDE_TEXT("additional_chat_templates/.jinja", "x"),
        SIDE_TEXT("additional_chat_templates/tool.jinja", "{{ t }}"));
    assert_run(&r);
    assert_str(&r, "tokenizer.chat_template", "{{ m }}");
    assert_str(&r, "tokenizer.chat_template.ra_g", "{{ r }}");
    assert_str(&r, "tokenizer.chat_template.tool", "{{ t }}");
    assert_array(&r, "tokenizer.chat_templates", "ra_g|tool");
    run_end(&r);
    RUN(&r, NULL, json, main, rag,
        SIDE_TEXT("tokenizer_config.json", "{\"chat_template\":\"{{ c }}\"}"));
    assert_str(&r, "tokenizer.chat_template", "{{ m }}");
    assert_array(&r, "tokenizer.chat_templates", "ra_g");
    run_end(&r);
    RUN(&r, NULL, json, rag);
    assert_array(&r, "tokenizer.chat_templates", "ra_g");
    run_end(&r);
}

/* Libraries read the file of its own before tokenizer_config.json, the reference after it. */
static void a_template_in_two_files(void **state) {
    (void)state;
    static const tare_llama_tokenizer_options like = {.like_reference = true};
    const side_file json = SIDE_TEXT("tokenizer.json", BPE(S));
    const side_file file = SIDE_TEXT("chat_template.jinja", "\xef\xbb\xbf{{ m }}\n");
    const side_file config = SIDE_TEXT("tokenizer_config.json", "{\"chat_template\":\"{{ c }}\"}");
    key_run r;
    RUN(&r, NULL, json, file, config);
    assert_str(&r, "tokenizer.chat_template", "{{ m }}\n");
    assert_true(has_finding(&r, "tokenizer.two-templates"));
    run_end(&r);
    RUN(&r, NULL, json, config, SIDE_TEXT("chat_template.json", "{\"chat_template\":\"{{ j }}\"}"));
    assert_str(&r, "tokenizer.chat_template", "{{ c }}");
    assert_true(has_finding(&r, "tokenizer.two-templates"));
    run_end(&r);
    RUN(&r, NULL, json, file,
        SIDE_TEXT("tokenizer_config.json", "{\"chat_template\":\"{{ m }}\"}"));
    assert_false(has_finding(&r, "tokenizer.two-templates"));
    run_end(&r);
    RUN(&r, &like, json, file, config);
    assert_str(&r, "tokenizer.chat_template", "{{ c }}");
    run_end(&r);
}

static void a_map_names_further_tokens(void **state) {
    (void)state;
    const side_file json = SIDE_TEXT("tokenizer.json", BPE(S));
    const side_file map =
        SIDE_TEXT("special_tokens_map.json", "{\"additional_special_tokens\":[\"b\"]}");
    key_run r;
    RUN(&r, NULL, json, map);
    assert_array(&r, "tokenizer.ggml.token_type", "1|3|1|3");
    run_end(&r);
    RUN(&r, NULL, json, map,
        SIDE_TEXT("tokenizer_config.json", "{\"additional_special_tokens\":[\"a\"]}"));
    assert_array(&r, "tokenizer.ggml.token_type", "3|1|1|3");
    run_end(&r);
}

/* A role that is no text would be left out in silence, and llama.cpp would take its default. */
static void roles_are_texts(void **state) {
    (void)state;
    static const struct {
        const char *config;
        tare_status status;
    } rows[] = {{"{\"eos_token\":5}", TARE_ERR_CORRUPT},
                {"{\"eos_token\":{\"id\":1}}", TARE_ERR_CORRUPT},
                {"{\"eos_token\":[\"a\"]}", TARE_ERR_CORRUPT},
                {"{\"eos_token\":null}", TARE_OK},
                {"{\"eos_token\":{\"content\":\"a\"}}", TARE_OK},
                {"{\"add_bos_token\":\"yes\"}", TARE_ERR_CORRUPT},
                {"{\"add_bos_token\":1}", TARE_ERR_CORRUPT},
                {"{\"add_bos_token\":null}", TARE_OK}};
    const side_file json = SIDE_TEXT("tokenizer.json", BPE(S));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        key_run r;
        RUN(&r, NULL, json, SIDE_TEXT("tokenizer_config.json", rows[i].config));
        if (r.status != rows[i].status) fail_msg("%s: status %d", rows[i].config, (int)r.status);
        if (r.status != TARE_OK) assert_int_equal(r.err.offset, strcspn(rows[i].config, ":") + 1);
        run_end(&r);
    }
}

static void ends_beyond_the_vocabulary_are_named(void **state) {
    (void)state;
    const side_file json = SIDE_TEXT("tokenizer.json", BPE(S));
    key_run r;
    RUN(&r, NULL, json, SIDE_TEXT("generation_config.json", "{\"eos_token_id\":[1,99]}"));
    assert_run(&r);
    assert_number(&r, "tokenizer.ggml.eos_token_id", 1);
    assert_true(has_finding(&r, "tokenizer.special-id"));
    run_end(&r);
}

/* A role's id is the libraries', too, and what a post_processor says of a name is compared with it. */
static void roles_have_the_ids_of_the_libraries(void **state) {
    (void)state;
    static const char around[] = "{\"version\":\"1.0\",\"added_tokens\":[" ADDED(
        1, "<s>", true) "],\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
                        "\"use_regex\":true},\"post_processor\":{\"type\":"
                        "\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<s>\"}},{"
                        "\"Sequence\":{\"id\":\"A\"}}],\"pair\":[],\"special_tokens\":{\"<s>\":{"
                        "\"id\":\"<s>\",\"ids\":[%d],\"tokens\":[\"<s>\"]}}},\"model\":{\"type\":"
                        "\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}}";
    for (int id = 2; id < 4; id++) {
        char json[1024];
        key_run r;
        snprintf(json, sizeof json, around, id);
        RUN(&r, NULL, SIDE_TEXT("tokenizer.json", json),
            SIDE_TEXT("tokenizer_config.json", "{\"bos_token\":\"<s>\"}"));
        assert_run(&r);
        assert_number(&r, "tokenizer.ggml.bos_token_id", 3);
        assert_true(has_finding(&r, "tokenizer.added-id"));
        assert_int_equal(has_finding(&r, "tokenizer.template-id"), id == 2);
        assert_false(has_finding(&r, "tokenizer.not-applied"));
        run_end(&r);
        /* llama.cpp puts the BOS there, whatever the template has */
        RUN(&r, NULL, SIDE_TEXT("tokenizer.json", json),
            SIDE_TEXT("tokenizer_config.json", "{\"bos_token\":\"a\"}"));
        assert_run(&r);
        assert_true(has_finding(&r, "tokenizer.not-applied"));
        run_end(&r);
    }
}

static void members_of_another_kind_are_errors(void **state) {
    (void)state;
    static const char *const configs[] = {"{\"added_tokens_decoder\":[1]}",
                                          "{\"added_tokens_decoder\":{\"3\":{\"content\":\"<s>\","
                                          "\"special\":\"true\"}}}"};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        key_run r;
        RUN(&r, NULL, SIDE_TEXT("tokenizer.json", BPE(S)),
            SIDE_TEXT("tokenizer_config.json", configs[i]));
        assert_int_equal(r.status, TARE_ERR_CORRUPT);
        run_end(&r);
    }
}

/* An id of config.json that is a text is said to be left out; below 0 there is no token. */
static void ids_of_another_kind_are_named(void **state) {
    (void)state;
    static const char *const configs[] = {"{\"eos_token_id\":-1}", "{\"eos_token_id\":\"1\"}",
                                          "{\"eos_token_id\":1.0}", "{\"eos_token_id\":[true]}"};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        key_run r;
        RUN(&r, NULL, SIDE_TEXT("tokenizer.json", BPE(S)), SIDE_TEXT("config.json", configs[i]));
        assert_run(&r);
        assert_int_equal(has_finding(&r, "tokenizer.special-id"), i > 0);
        run_end(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_another_kind_are_named),
        cmocka_unit_test(roles_have_the_ids_of_the_libraries),
        cmocka_unit_test(members_of_another_kind_are_errors),
        cmocka_unit_test(a_template_in_two_files),
        cmocka_unit_test(a_map_names_further_tokens),
        cmocka_unit_test(roles_are_texts),
        cmocka_unit_test(ends_beyond_the_vocabulary_are_named),
        cmocka_unit_test(ids_follow_the_order),
        cmocka_unit_test(a_vocabulary_with_gaps_keeps_its_tokens),
        cmocka_unit_test(tokens_of_an_older_file_are_added),
        cmocka_unit_test(named_tokens_are_special),
        cmocka_unit_test(a_map_of_names_is_the_last_word),
        cmocka_unit_test(templates_lie_in_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
