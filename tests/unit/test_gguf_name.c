/* SPDX-License-Identifier: MIT
 *
 * Guards against a GGUF file name whose parts are told apart wrongly: a size taken into the base,
 * an encoding for fine tuning, a version for either. The first eight cases are the examples and
 * test cases of the GGUF specification. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <tare/experimental/gguf_name.h>
#include <tare/model.h>
#include <tare/private/synth.h>

#include "made_model.h"

typedef struct name_case {
    const char *name;
    /* sidecar, base, size, fine tuning, version, encoding, type; base NULL: no such name */
    const char *sidecar, *base, *size, *fine_tune, *version, *encoding, *type;
    uint32_t shard, n_shards;
    bool is_version_assumed;
} name_case;

static const name_case cases[] = {
    {"Mixtral-8x7B-v0.1-KQ2.gguf", "", "Mixtral", "8x7B", "", "v0.1", "KQ2", "", 0, 0, false},
    {"Grok-100B-v1.0-Q4_0-00003-of-00009.gguf", "", "Grok", "100B", "", "v1.0", "Q4_0", "", 3, 9,
     false},
    {"Hermes-2-Pro-Llama-3-8B-v1.0-F16.gguf", "", "Hermes-2-Pro-Llama-3", "8B", "", "v1.0", "F16",
     "", 0, 0, false},
    {"Phi-3-mini-3.8B-ContextLength4k-instruct-v1.0.gguf", "", "Phi-3-mini", "3.8B-ContextLength4k",
     "instruct", "v1.0", "", "", 0, 0, false},
    {"not-a-known-arrangement.gguf", .base = NULL},
    {"mtp-Qwen3-27B-v1.0-Q4_K_M.gguf", "mtp", "Qwen3", "27B", "", "v1.0", "Q4_K_M", "", 0, 0,
     false},
    {"mmproj-Qwen2-VL-7B-v1.0-F16.gguf", "mmproj", "Qwen2-VL", "7B", "", "v1.0", "F16", "", 0, 0,
     false},
    {"Hermes-2-Pro-Llama-3-8B-F16.gguf", "", "Hermes-2-Pro-Llama-3", "8B", "", "v1.0", "F16", "", 0,
     0, true},
    /* every part at once */
    {"mtp-My Base-2-8x1.5T-Active12b-fine-tune-2-v1.2.3-IQ2_XXS-LoRA-00001-of-00001.gguf", "mtp",
     "My Base-2", "8x1.5T-Active12b", "fine-tune-2", "v1.2.3", "IQ2_XXS", "LoRA", 1, 1, false},
    {"A-1K-v1-vocab.gguf", "", "A", "1K", "", "v1", "", "vocab", 0, 0, false},
    /* the later of two versions is it, unless the earlier one cannot be fine tuning */
    {"A-7B-v1-v2.gguf", "", "A", "7B", "v1", "v2", "", "", 0, 0, false},
    {"A-7B-v1.0-v2.gguf", "", "A", "7B", "", "v1.0", "v2", "", 0, 0, false},
    {"A-7B-chat-v1.0-v2.gguf", "", "A", "7B", "chat", "v1.0", "v2", "", 0, 0, false},
    /* without a version only what is surely an encoding is one */
    {"A-7B-chat-q4_k_m.gguf", "", "A", "7B", "chat", "v1.0", "q4_k_m", "", 0, 0, true},
    {"A-7B-Q4K.gguf", "", "A", "7B", "", "v1.0", "Q4K", "", 0, 0, true},
    {"A-7B-Q4K-v1.gguf", "", "A", "7B-Q4K", "", "v1", "", "", 0, 0, false},
    {"A-7B-chat.gguf", "", "A", "7B", "chat", "v1.0", "", "", 0, 0, true},
    {"A-7B-chat-LoRA-00002-of-00002.gguf", "", "A", "7B", "chat", "v1.0", "", "LoRA", 2, 2, true},
    {"A-7B.gguf", "", "A", "7B", "", "v1.0", "", "", 0, 0, true},
    /* the side car's name alone is a base */
    {"mtp-7B-v1.0.gguf", "", "mtp", "7B", "", "v1.0", "", "", 0, 0, false},
    {"mtpx-A-7B-v1.0.gguf", "", "mtpx-A", "7B", "", "v1.0", "", "", 0, 0, false},
    {"7B-8B-v1.0.gguf", "", "7B", "8B", "", "v1.0", "", "", 0, 0, false},
    {"A-8x-v1.gguf", "", "A", "8x", "", "v1", "", "", 0, 0, false},
    /* not of the convention */
    {"", .base = NULL},
    {".gguf", .base = NULL},
    {"A-7B-v1.0", .base = NULL},
    {"A-7B-v1.0.bin", .base = NULL},
    {"A-v1.0.gguf", .base = NULL},
    {"A-8B-BF688B-.gguf", .base = NULL}, /* the attribute is no encoding with parts after it */
    {"A--v1.0.gguf", .base = NULL},
    {"-7B-v1.0.gguf", .base = NULL},
    {"A_B-7B-v1.0.gguf", .base = NULL},
    {"A-7.B-v1.0.gguf", .base = NULL},
    {"A-7BB-v1.0.gguf", .base = NULL},
    {"A-7B--v1.0.gguf", .base = NULL},
    {"A-7B-my_tune-v1.0.gguf", .base = NULL},
    {"A-7B-v1.0-Q4_0-extra.gguf", .base = NULL},
    {"A-7B-v1-F16-extra.gguf", .base = NULL},
    {"A-7B-v1.-F16.gguf", .base = NULL},
    {"A-7B-v1.0-LoRAx.gguf", .base = NULL},
    {"A-7B-v1.0-Q4_0-00000-of-00009.gguf", .base = NULL},
    {"A-7B-v1.0-Q4_0-00010-of-00009.gguf", .base = NULL},
    {"A-7B-v1.0-Q4_0-0001-of-00009.gguf", .base = NULL},
    {"00001-of-00002.gguf", .base = NULL},
};

static tare_str text(const char *s) {
    return (tare_str){s, strlen(s)};
}

static void expect(tare_str part, const char *expected) {
    assert_int_equal(part.len, strlen(expected));
    assert_memory_equal(part.ptr, expected, part.len);
}

static void parses_each_case(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const name_case *c = &cases[i];
        tare_gguf_name n = tare_gguf_name_default();
        bool is_name = tare_gguf_name_parse(&n, text(c->name));
        if (is_name != (c->base != NULL)) fail_msg("%s: parsed as %d", c->name, is_name);
        if (!is_name) continue;
        expect(n.sidecar, c->sidecar);
        expect(n.base_name, c->base);
        expect(n.size_label, c->size);
        expect(n.fine_tune, c->fine_tune);
        expect(n.version, c->version);
        expect(n.encoding, c->encoding);
        expect(n.type, c->type);
        assert_int_equal(n.shard, c->shard);
        assert_int_equal(n.n_shards, c->n_shards);
        assert_int_equal(n.is_version_assumed, c->is_version_assumed);
    }
}

/* What is written back is the name itself, with the version that was assumed and dashes for
 * spaces. */
static void formats_each_case(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const name_case *c = &cases[i];
        tare_gguf_name n = tare_gguf_name_default(), again = tare_gguf_name_default();
        char name[200], expected[200];
        if (!c->base) continue;
        assert_true(tare_gguf_name_parse(&n, text(c->name)));
        size_t length = tare_gguf_name_format(name, sizeof name, &n);
        assert_int_equal(length, strlen(name));
        for (size_t k = 0; k <= strlen(c->name); k++)
            expected[k] = c->name[k] == ' ' ? '-' : c->name[k];
        if (!c->is_version_assumed) assert_string_equal(name, expected);
        assert_true(tare_gguf_name_parse(&again, text(name)));
        assert_false(again.is_version_assumed);
    }
}

static void format_keeps_to_its_buffer(void **state) {
    (void)state;
    tare_gguf_name n = tare_gguf_name_default();
    char whole[100], part[100];
    assert_true(tare_gguf_name_parse(&n, text("Grok-100B-v1.0-Q4_0-00003-of-00009.gguf")));
    size_t length = tare_gguf_name_format(whole, sizeof whole, &n);
    for (size_t size = 0; size <= length + 1; size++) {
        memset(part, '#', sizeof part);
        assert_int_equal(tare_gguf_name_format(part, size, &n), length);
        assert_int_equal(part[size], '#');
        if (size == 0) continue;
        assert_int_equal(strlen(part), size - 1);
        assert_memory_equal(part, whole, size - 1);
    }
}

/* Metadata is a stranger's: no part may name a directory or hold control characters. */
static void format_makes_a_plain_name(void **state) {
    (void)state;
    tare_gguf_name n = {
        .size = sizeof n, .base_name = text("../a\tb c\n"), .size_label = text("7B")};
    char name[100];
    tare_gguf_name_format(name, sizeof name, &n);
    assert_string_equal(name, "..-a-b-c--7B-v1.0.gguf");
}

/* Any bytes, up to the largest number of parts and beyond. */
static void any_bytes_are_harmless(void **state) {
    (void)state;
    char name[400];
    tare_gguf_name n = tare_gguf_name_default();
    uint32_t random = 1;
    static const char alphabet[] = "-----Av17B.x_ \xff\0";
    for (int round = 0; round < 20000; round++) {
        size_t length = (size_t)round % 90;
        for (size_t i = 0; i < length; i++) {
            random = random * 1664525 + 1013904223;
            name[i] = alphabet[(random >> 16) % sizeof alphabet];
        }
        memcpy(name + length, ".gguf", 5);
        tare_gguf_name_parse(&n, (tare_str){name, length + 5});
    }
    memset(name, '-', sizeof name);
    memcpy(name + sizeof name - 5, ".gguf", 5);
    assert_false(tare_gguf_name_parse(&n, (tare_str){name, sizeof name}));
}

/* ---- from models ----------------------------------------------------------------------------- */

typedef struct key_value {
    const char *key, *text; /* text NULL: the number */
    uint64_t number;
} key_value;

static void name_of(char name[200], made_model *made, const key_value *keys, size_t n) {
    char buf[64];
    tare_gguf_name parts = tare_gguf_name_default();
    tare_catalog *c = &made->model->catalog;
    c->metadata = TARE_NEW_ARRAY(&made->model->arena, tare_metadata, n + 1);
    for (size_t i = 0; i < n; i++) {
        tare_metadata *m = &c->metadata[c->n_metadata++];
        m->key = text(keys[i].key);
        m->value.type = keys[i].text ? TARE_VALUE_STRING : TARE_VALUE_U32;
        if (keys[i].text)
            m->value.as.s = text(keys[i].text);
        else
            m->value.as.u = keys[i].number;
    }
    tare_gguf_name_of_model(&parts, buf, sizeof buf, made_finish(made, false, NULL, 0));
    tare_gguf_name_format(name, 200, &parts);
    made_free(made);
}

static void metadata_names_a_model(void **state) {
    (void)state;
    static const key_value keys[] = {
        {"general.architecture", "llama", 0},     {"general.basename", "Hermes 2 Pro", 0},
        {"general.name", "ignored", 0},           {"general.size_label", "8B", 0},
        {"general.finetune", "Chat Instruct", 0}, {"general.version", "1.2", 0},
        {"general.file_type", NULL, 15}};
    static const key_value adapter[] = {{"general.type", "adapter", 0},
                                        {"general.name", "A", 0},
                                        {"general.size_label", "7B", 0},
                                        {"general.version", "v3", 0}};
    static const key_value projector[] = {{"general.architecture", "clip", 0},
                                          {"general.size_label", "7B", 0}};
    made_model made;
    char name[200];
    made_begin(&made, 0, 0, 0);
    name_of(name, &made, keys, 7);
    assert_string_equal(name, "Hermes-2-Pro-8B-Chat-Instruct-v1.2-Q4_K_M.gguf");
    made_begin(&made, 0, 0, 0);
    name_of(name, &made, adapter, 4);
    assert_string_equal(name, "A-7B-v3-LoRA.gguf");
    made_begin(&made, 0, 0, 0);
    name_of(name, &made, projector, 2);
    assert_string_equal(name, "mmproj-clip-7B-v1.0.gguf");
}

/* What metadata does not say is counted: parameters (those of one expert), the main type. */
static void tensors_name_a_model(void **state) {
    (void)state;
    static const struct {
        uint64_t shared, experts, n_experts;
        const char *expected;
    } models[] = {
        {1100, 0, 0, "m-1.1K-v1.0-F16.gguf"},     {32 * 1000, 0, 0, "m-32K-v1.0-F16.gguf"},
        {6738, 0, 0, "m-6.7K-v1.0-F16.gguf"},     {9940, 0, 0, "m-9.9K-v1.0-F16.gguf"},
        {9950, 0, 0, "m-10K-v1.0-F16.gguf"},      {2049, 0, 0, "m-2K-v1.0-F16.gguf"},
        {999999, 0, 0, "m-1M-v1.0-F16.gguf"},     {1000000, 0, 0, "m-1M-v1.0-F16.gguf"},
        {1000, 48000, 8, "m-8x7K-v1.0-F16.gguf"},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char name[200];
        made_model made;
        const key_value keys[] = {{"general.architecture", "m", 0},
                                  {"m.expert_count", NULL, models[i].n_experts}};
        made_begin(&made, 1 << 22, 3, 0);
        made_add(&made, TARE_STR("a"), TARE_ENCODING_F16, &models[i].shared, 1);
        if (models[i].experts)
            made_add(&made, TARE_STR("blk.0.ffn_up_exps.weight"), TARE_ENCODING_F16,
                     &models[i].experts, 1);
        name_of(name, &made, keys, models[i].n_experts ? 2 : 1);
        assert_string_equal(name, models[i].expected);
    }
    tare_model *m;
    tare_gguf_name parts = tare_gguf_name_default();
    char name[200], buf[64];
    assert_int_equal(tare_synth_open(&m, "llama-1b:bf16", NULL, NULL), TARE_OK);
    tare_gguf_name_of_model(&parts, buf, sizeof buf, m);
    tare_gguf_name_format(name, sizeof name, &parts);
    assert_string_equal(name, "llama-1.1B-v1.0-BF16.gguf");
    assert_true(parts.is_version_assumed);
    tare_model_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_each_case),           cmocka_unit_test(formats_each_case),
        cmocka_unit_test(format_keeps_to_its_buffer), cmocka_unit_test(format_makes_a_plain_name),
        cmocka_unit_test(any_bytes_are_harmless),     cmocka_unit_test(metadata_names_a_model),
        cmocka_unit_test(tensors_name_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
