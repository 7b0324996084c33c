/* SPDX-License-Identifier: MIT
 *
 * Guards against: pieces of a SentencePiece model that lose their score, type or id; a damaged
 * protocol buffer that is believed; unigram models whose normalization is lost; added tokens that
 * go to the wrong id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <stdlib.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "tokenizer_help.h"

/* ---- building models ------------------------------------------------------------------------- */

static void put_bytes(tare_buffer *b, unsigned field, const void *bytes, size_t n) {
    assert_true(n < 128);
    tare_buffer_put_u8(b, (uint8_t)(field << 3 | 2));
    tare_buffer_put_u8(b, (uint8_t)n);
    tare_buffer_put(b, bytes, n);
}

static void put_number(tare_buffer *b, unsigned field, uint8_t n) {
    tare_buffer_put_u8(b, (uint8_t)(field << 3));
    tare_buffer_put_u8(b, n);
}

static void put_message(tare_buffer *b, unsigned field, tare_buffer *inner) {
    put_bytes(b, field, inner->data, inner->size);
    tare_buffer_free(inner);
}

static void put_piece(tare_buffer *b, const char *text, float score, uint8_t type) {
    tare_buffer piece;
    tare_buffer_init(&piece, NULL);
    put_bytes(&piece, 1, text, strlen(text));
    tare_buffer_put_u8(&piece, 2 << 3 | 5);
    tare_buffer_put_u32(&piece, tare_f32_bits(score), false);
    if (type) put_number(&piece, 3, type);
    put_message(b, 1, &piece);
}

static void put_trainer(tare_buffer *b, uint8_t model_type) {
    tare_buffer trainer;
    tare_buffer_init(&trainer, NULL);
    put_number(&trainer, 3, model_type);
    put_number(&trainer, 4, 9);
    put_message(b, 2, &trainer);
}

static void put_normalizer(tare_buffer *b, bool has_prefix) {
    tare_buffer normalizer;
    tare_buffer_init(&normalizer, NULL);
    put_bytes(&normalizer, 1, "nmt", 3);
    put_bytes(&normalizer, 2, "\x01\x02\xff", 3);
    put_number(&normalizer, 3, has_prefix);
    put_message(b, 3, &normalizer);
}

static tare_str sample(tare_buffer *b, uint8_t model_type) {
    tare_buffer_init(b, NULL);
    put_piece(b, "<unk>", 0, 2);
    put_piece(b, "<s>", 0, 3);
    put_piece(b, "</s>", 0, 3);
    put_piece(b, "<0x0A>", 0, 6);
    put_piece(b, "\xe2\x96\x81the", -1.5F, 0);
    put_piece(b, "user", -2, 4);
    put_piece(b, "never", -3, 5);
    put_trainer(b, model_type);
    put_normalizer(b, false);
    return (tare_str){(const char *)b->data, b->size};
}

/* ---- what comes of them ---------------------------------------------------------------------- */

static void pieces_become_tokens(void **state) {
    (void)state;
    tare_buffer b;
    key_run r;
    RUN(&r, NULL, {"tokenizer.model", sample(&b, 2)},
        SIDE_TEXT("config.json", "{\"bos_token_id\": 1, \"eos_token_id\": [2, 4]}"));
    assert_run(&r);
    /* llama.cpp would put a blank in front of a text, and this model does not */
    assert_order(&r, "model pre tokens scores token_type add_space_prefix bos_token_id "
                     "eos_token_id eot_token_id");
    assert_str(&r, "tokenizer.ggml.model", "llama");
    assert_str(&r, "tokenizer.ggml.pre", "default");
    assert_array(&r, "tokenizer.ggml.tokens", "<unk>|<s>|</s>|<0x0A>|\xe2\x96\x81the|user|never");
    assert_array(&r, "tokenizer.ggml.scores", "0|0|0|0|-1.5|-1000|-3");
    assert_array(&r, "tokenizer.ggml.token_type", "2|3|3|6|1|4|5");
    assert_number(&r, "tokenizer.ggml.eos_token_id", 2);
    assert_number(&r, "tokenizer.ggml.eot_token_id", 4);
    run_end(&r);
    tare_buffer_free(&b);
}

/* What transformers 5 saves: tokenizer.json alone tells which pieces are special. */
static void added_tokens_that_only_tokenizer_json_has(void **state) {
    (void)state;
    static const tare_llama_tokenizer_options like = {.like_reference = true},
                                              t5 = {.family = TARE_LLAMA_VOCAB_UNIGRAM};
    const side_file json = SIDE_TEXT(
        "tokenizer.json", "{\"added_tokens\":[{\"id\":4,\"content\":\"<turn>\",\"special\":true},"
                          "{\"id\":5,\"content\":\"note\",\"special\":false}]}");
    tare_buffer b;
    key_run r;
    RUN(&r, NULL, {"tokenizer.model", sample(&b, 2)}, json);
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens", "<unk>|<s>|</s>|<0x0A>|<turn>|note|never");
    assert_array(&r, "tokenizer.ggml.token_type", "2|3|3|6|3|4|5");
    run_end(&r);
    tare_buffer_free(&b);
    RUN(&r, &t5, {"spiece.model", sample(&b, 1)}, json); /* unigrams, too */
    assert_array(&r, "tokenizer.ggml.token_type", "2|3|3|6|3|4|5");
    run_end(&r);
    tare_buffer_free(&b);
    /* tokenizer_config.json, where it tells, is the last word */
    RUN(&r, NULL, {"tokenizer.model", sample(&b, 2)}, json,
        SIDE_TEXT("tokenizer_config.json", "{\"added_tokens_decoder\":{\"5\":{\"content\":"
                                           "\"note\",\"special\":true}}}"));
    assert_array(&r, "tokenizer.ggml.token_type", "2|3|3|6|3|3|5");
    run_end(&r);
    tare_buffer_free(&b);
    RUN(&r, &like, {"tokenizer.model", sample(&b, 2)}, json);
    assert_array(&r, "tokenizer.ggml.token_type", "2|3|3|6|1|1|5");
    run_end(&r);
    tare_buffer_free(&b);
}

/* InternLM 2: what its chat models end with is no piece, and pieces may be there for nothing. */
static void an_end_that_is_an_added_token(void **state) {
    (void)state;
    static const tare_llama_special_rule rule = {.special = TARE_LLAMA_EOS, .text = "<|end|>"};
    tare_buffer b;
    key_run r;
    tare_llama_tokenizer_options options = {
        .tells_space_prefix = true, .unused = "us", .rules = &rule, .n_rules = 1};
    RUN(&r, &options, {"tokenizer.model", sample(&b, 2)},
        SIDE_TEXT("config.json", "{\"bos_token_id\": 1, \"eos_token_id\": 2}"),
        SIDE_TEXT("tokenizer_config.json",
                  "{\"unk_token\": \"<unk>\", \"added_tokens_decoder\": {\"4\": {\"content\": "
                  "\"<|end|>\", \"special\": true}}}"));
    assert_run(&r);
    /* <unk> is where llama.cpp takes it to be */
    assert_order(&r, "model pre tokens scores token_type add_space_prefix bos_token_id "
                     "eos_token_id");
    assert_number(&r, "tokenizer.ggml.eos_token_id", 4);
    assert_array(&r, "tokenizer.ggml.token_type", "2|3|3|6|3|5|5");
    run_end(&r);
    tare_buffer_free(&b);
}

/* What is usual comes first, and the files have the last word. */
static void usual_flags_come_first(void **state) {
    (void)state;
    tare_buffer b;
    key_run r;
    tare_llama_tokenizer_options options = {.usual_bos = TARE_LLAMA_FLAG_NO,
                                            .add_space_prefix = TARE_LLAMA_FLAG_NO};
    RUN(&r, &options, {"tokenizer.model", sample(&b, 2)},
        SIDE_TEXT("tokenizer_config.json", "{\"add_bos_token\": true, \"unk_token\": \"<s>\"}"));
    assert_run(&r);
    assert_order(&r, "add_bos_token model pre tokens scores token_type unknown_token_id "
                     "add_space_prefix");
    assert_number(&r, "tokenizer.ggml.add_bos_token", 1);
    assert_number(&r, "tokenizer.ggml.unknown_token_id", 1);
    run_end(&r);
    tare_buffer_free(&b);
}

static void the_models_size_pads_and_drops(void **state) {
    (void)state;
    tare_buffer b;
    key_run r;
    tare_llama_tokenizer_options options = {.vocab_size = 9};
    RUN(&r, &options, {"tokenizer.model", sample(&b, 2)},
        SIDE_TEXT("added_tokens.json", "{\"<extra>\": 7}"),
        SIDE_TEXT("tokenizer_config.json",
                  "{\"added_tokens_decoder\": {\"5\": {\"content\": \"\xe2\x96\x81us\\u00e9\"},"
                  "\"2\": {\"content\": \"<|end|>\", \"special\": false}}}"));
    assert_run(&r);
    assert_array(&r, "tokenizer.ggml.tokens",
                 "<unk>|<s>|<|end|>|<0x0A>|\xe2\x96\x81the| us\xc3\xa9|never|<extra>|[PAD8]");
    assert_array(&r, "tokenizer.ggml.scores", "0|0|-1000|0|-1.5|-1000|-3|-1000|-10000");
    assert_array(&r, "tokenizer.ggml.token_type", "2|3|3|6|1|4|5|4|5");
    assert_true(has_finding(&r, "tokenizer.padded"));
    run_end(&r);
    options.vocab_size = 6;
    RUN(&r, &options, {"tokenizer.model", (tare_str){(const char *)b.data, b.size}});
    assert_run(&r);
    assert_int_equal(key_of(&r, "tokenizer.ggml.tokens")->as.a.count, 6);
    assert_true(has_finding(&r, "tokenizer.tokens-dropped"));
    run_end(&r);
    tare_buffer_free(&b);
}

static void unigram_models_keep_their_normalizer(void **state) {
    (void)state;
    tare_buffer b;
    key_run r;
    const tare_llama_tokenizer_options t5 = {.family = TARE_LLAMA_VOCAB_UNIGRAM};
    const tare_llama_tokenizer_options xlm = {.family = TARE_LLAMA_VOCAB_XLM_R, .token_types = 1};
    tare_str text = sample(&b, 1);
    RUN(&r, &t5, {"spiece.model", text});
    assert_run(&r);
    assert_order(&r, "model pre tokens scores token_type add_space_prefix "
                     "remove_extra_whitespaces precompiled_charsmap eos_token_id unknown_token_id");
    assert_str(&r, "tokenizer.ggml.model", "t5");
    assert_number(&r, "tokenizer.ggml.eos_token_id", 2); /* T5's own is 1 */
    assert_number(&r, "tokenizer.ggml.unknown_token_id", 0);
    assert_number(&r, "tokenizer.ggml.add_space_prefix", 0);
    assert_number(&r, "tokenizer.ggml.remove_extra_whitespaces", 1);
    assert_array(&r, "tokenizer.ggml.precompiled_charsmap", "1|2|255");
    run_end(&r);
    RUN(&r, &xlm, {"sentencepiece.bpe.model", text});
    assert_run(&r);
    assert_order(&r, "model pre tokens scores token_type add_space_prefix token_type_count "
                     "remove_extra_whitespaces precompiled_charsmap eos_token_id padding_token_id "
                     "unknown_token_id");
    assert_number(&r, "tokenizer.ggml.eos_token_id", 2);
    assert_number(&r, "tokenizer.ggml.padding_token_id", 1);
    assert_number(&r, "tokenizer.ggml.unknown_token_id", 3);
    assert_array(&r, "tokenizer.ggml.tokens",
                 "<s>|<pad>|</s>|<unk>|<0x0A>|\xe2\x96\x81the|user|never");
    assert_array(&r, "tokenizer.ggml.token_type", "3|3|3|2|6|1|4|5");
    run_end(&r);
    RUN(&r, NULL, {"tokenizer.model", text});
    assert_run(&r);
    assert_str(&r, "tokenizer.ggml.model", "llama");
    assert_true(has_finding(&r, "tokenizer.unigram-as-llama"));
    run_end(&r);
    tare_buffer_free(&b);
}

/* Found before a text is split where llama.cpp puts no blank behind them, and where merges do not lead to
 * them. */
static void user_defined_pieces(void **state) {
    (void)state;
    for (unsigned prefix = 0; prefix < 2; prefix++) {
        tare_buffer b;
        key_run r;
        tare_buffer_init(&b, NULL);
        put_piece(&b, "<unk>", 0, 2);
        put_piece(&b, "he", -1, 4);
        put_piece(&b, "<tok>", -2, 4);
        put_piece(&b, "\xe2\x96\x81\xe2\x96\x81", -3, 4);
        put_trainer(&b, 2);
        put_normalizer(&b, prefix);
        RUN(&r, NULL, {"tokenizer.model", {(const char *)b.data, b.size}});
        assert_run(&r);
        assert_array(&r, "tokenizer.ggml.token_type", prefix ? "2|1|4|1" : "2|4|4|4");
        assert_array(&r, "tokenizer.ggml.tokens",
                     prefix ? "<unk>|he|<tok>|\xe2\x96\x81\xe2\x96\x81" : "<unk>|he|<tok>|  ");
        assert_int_equal(has_finding(&r, "tokenizer.not-applied"),
                         true); /* remove_extra_whitespaces */
        assert_true(has_finding(&r, "tokenizer.no-bytes"));
        run_end(&r);
        tare_buffer_free(&b);
    }
}

/* What llama.cpp's splitting cannot do, and what it does otherwise. */
static void what_trainers_were_told(void **state) {
    (void)state;
    const tare_llama_tokenizer_options t5 = {.family = TARE_LLAMA_VOCAB_UNIGRAM};
    for (unsigned field = 24; field <= 35; field += 11) {
        tare_buffer b, trainer;
        key_run r;
        tare_buffer_init(&b, NULL);
        put_piece(&b, "<unk>", 0, 2);
        tare_buffer_init(&trainer, NULL);
        put_number(&trainer, 3, 1);
        tare_buffer_put_u8(&trainer, (uint8_t)((field << 3 & 0x7f) | 0x80));
        tare_buffer_put_u8(&trainer, (uint8_t)(field >> 4));
        tare_buffer_put_u8(&trainer, 1);
        put_message(&b, 2, &trainer);
        RUN(&r, &t5, {"spiece.model", {(const char *)b.data, b.size}});
        if (field == 24) {
            assert_int_equal(r.status, TARE_ERR_UNSUPPORTED);
            assert_non_null(strstr(r.err.what, "treat_whitespace_as_suffix"));
        } else {
            assert_run(&r);
            assert_true(has_finding(&r, "tokenizer.not-applied")); /* byte_fallback */
        }
        run_end(&r);
        tare_buffer_free(&b);
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Cut anywhere, a model is refused, or its last fields are missing; never anything else. */
static void cut_at_every_byte(void **state) {
    (void)state;
    tare_buffer b;
    tare_str whole = sample(&b, 2);
    for (size_t n = 1; n < whole.len; n++) {
        char *copy = malloc(n); /* so that reading beyond is seen */
        memcpy(copy, whole.ptr, n);
        key_run r;
        RUN(&r, NULL, {"tokenizer.model", {copy, n}});
        if (r.status != TARE_OK) {
            assert_int_equal(r.status, TARE_ERR_TRUNCATED);
            assert_string_equal(r.err.item_name, "tokenizer.model");
            assert_true(r.err.offset <= n);
        }
        run_end(&r);
        free(copy);
    }
    tare_buffer_free(&b);
}

static void flipped_bytes_never_pass_for_more(void **state) {
    (void)state;
    tare_buffer b;
    tare_str whole = sample(&b, 2);
    for (size_t i = 1; i < whole.len; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            key_run r;
            b.data[i] ^= (uint8_t)(1U << bit);
            RUN(&r, NULL, {"tokenizer.model", whole});
            if (r.status == TARE_OK)
                assert_true(key_of(&r, "tokenizer.ggml.tokens")->as.a.count <= 8);
            else
                assert_true(r.err.offset <= whole.len);
            run_end(&r);
            b.data[i] ^= (uint8_t)(1U << bit);
        }
    tare_buffer_free(&b);
}

static void faults_have_a_place(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        tare_status status;
        uint64_t offset;
        const char *words;
    } rows[] = {
        {"\x0a\x05\x0a\x01x\x18\x07", 7, TARE_ERR_CORRUPT, 5, "pieces.type"},
        {"\x0a\x03\x0d\x00\x00", 5, TARE_ERR_TRUNCATED, 3, "32 bits"},
        {"\x0a\x02\x08\x01", 4, TARE_ERR_CORRUPT, 2, "pieces.piece"},
        {"\x0a\x00\x0b", 3, TARE_ERR_CORRUPT, 2, "wire type"},
        {"\x0a\x00\x02\x00", 4, TARE_ERR_CORRUPT, 2, "field number"},
        {"\x0a\x00\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", 12, TARE_ERR_CORRUPT, 2, "64 bits"},
        {"\x0a\x00\x12\x02\x18\x03", 6, TARE_ERR_UNSUPPORTED, 4, "model_type"},
        {"\x0a\x00\x1a\x02\x10\x01", 6, TARE_ERR_CORRUPT, 4, "precompiled_charsmap"},
        {"\x0a\xff\xff\xff\xff\x0f", 6, TARE_ERR_TRUNCATED, 6, "bytes of a field"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        key_run r;
        RUN(&r, NULL, {"tokenizer.model", {rows[i].bytes, rows[i].n}});
        assert_fault(&r, rows[i].status, "tokenizer.model", rows[i].offset, rows[i].words);
        run_end(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_become_tokens),
        cmocka_unit_test(added_tokens_that_only_tokenizer_json_has),
        cmocka_unit_test(an_end_that_is_an_added_token),
        cmocka_unit_test(usual_flags_come_first),
        cmocka_unit_test(the_models_size_pads_and_drops),
        cmocka_unit_test(unigram_models_keep_their_normalizer),
        cmocka_unit_test(user_defined_pieces),
        cmocka_unit_test(what_trainers_were_told),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(flipped_bytes_never_pass_for_more),
        cmocka_unit_test(faults_have_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
