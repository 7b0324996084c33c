/* SPDX-License-Identifier: MIT
 *
 * Guards against: a mix that gives a tensor another type than llama.cpp's quantizer does; the same
 * model getting other types under its Hugging Face names; fallbacks that do not fit.
 *
 * The tables and digests below were compared with what llama_tensor_get_type of llama.cpp itself
 * says, for every mix, with and without an importance matrix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "mix_shapes.h"

static void choose(tare_mix_choice *out, const built *b, const tare_mix_options *options,
                   bool has_importance, const tare_encoding *const *manual, bool expects_roles) {
    tare_mix_request request = {
        .options = options, .manual = manual, .has_importance = has_importance};
    bool has_roles;
    assert_int_equal(tare_mix_choose(out, &has_roles, b->model, &request, &b->model->arena, NULL),
                     TARE_OK);
    assert_int_equal(has_roles, expects_roles);
}

static const char *type_name(const tare_mix_choice *c) {
    return c->type ? c->type->name : "f16"; /* all of these models are F16 */
}

/* Order does not matter: the sum of the lines' hashes. */
static uint64_t digest(const built *b, bool has_importance) {
    static tare_mix_choice choices[MOST_TENSORS];
    uint64_t sum = 0;
    for (size_t k = 0; tare_mix_at(k); k++) {
        tare_mix_options options = tare_mix_options_default();
        options.mix = tare_mix_at(k);
        if (!options.mix->type) continue;
        choose(choices, b, &options, has_importance, NULL, true);
        for (size_t i = 0; i < b->model->catalog.n_tensors; i++) {
            char line[160];
            tare_str name = b->model->catalog.tensors[i].name;
            snprintf(line, sizeof line, "%d %.*s %s", (int)options.mix->file_type, (int)name.len,
                     name.ptr, type_name(&choices[i]));
            uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
            for (const char *c = line; *c; c++)
                hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
            sum += hash;
        }
    }
    return sum;
}

/* ---- what llama.cpp chooses ------------------------------------------------------------------ */

static const char codes[TARE_ENCODING_COUNT] = {
    [TARE_ENCODING_Q2_K] = '2',    [TARE_ENCODING_Q3_K] = '3',   [TARE_ENCODING_Q4_K] = '4',
    [TARE_ENCODING_Q5_K] = '5',    [TARE_ENCODING_Q6_K] = '6',   [TARE_ENCODING_Q8_0] = '8',
    [TARE_ENCODING_IQ2_XXS] = 'a', [TARE_ENCODING_IQ2_XS] = 'b', [TARE_ENCODING_IQ2_S] = 'c',
    [TARE_ENCODING_IQ3_XXS] = 'd', [TARE_ENCODING_IQ3_S] = 'e',  [TARE_ENCODING_IQ4_NL] = 'f',
    [TARE_ENCODING_IQ4_XS] = 'g',  [TARE_ENCODING_IQ1_S] = 'h',  [TARE_ENCODING_IQ1_M] = 'i',
    [TARE_ENCODING_Q4_0] = '0',    [TARE_ENCODING_Q4_1] = '1',   [TARE_ENCODING_Q5_0] = 'p',
    [TARE_ENCODING_Q5_1] = 'q',    [TARE_ENCODING_MXFP4] = 'M',  [TARE_ENCODING_F16] = '-',
};

/* A name and the types of its tensors, layer after layer; one letter where all are the same. */
static const struct {
    const char *shape, *mix;
    bool has_importance;
    const char *types;
} tables[] = {
    {"llama7b", "Q3_K_M", false,
     "embd 3; out 6; attn_q 3; attn_k 3; attn_v 55444444444444444444444444444444; "
     "attn_output 4; ffn_gate 3; ffn_down 55444444444444444444444444444444"},
    {"llama7b", "Q4_K_M", false,
     "embd 4; out 6; attn_q 4; attn_k 4; attn_v 66664464464464464464464464466666; "
     "attn_output 4; ffn_gate 4; ffn_down 66664464464464464464464464466666"},
    {"llama7b", "Q4_K_S", false,
     "embd 4; out 6; attn_q 4; attn_k 4; attn_v 55554444444444444444444444444444; "
     "attn_output 4; ffn_gate 4; ffn_down 55554444444444444444444444444444"},
    {"llama7b", "Q2_K", false,
     "embd 2; out 6; attn_q 2; attn_k 2; attn_v 3; attn_output 3; ffn_gate 2; ffn_down 3"},
    {"llama7b", "IQ3_XXS", false,
     "embd e; out 5; attn_q c; attn_k c; attn_v e; attn_output e; ffn_gate d; ffn_down "
     "44443333333333333333333333333333"},
    {"llama7b", "Q4_0", true,
     "embd 0; out 6; attn_q 0; attn_k 0; attn_v 0; attn_output 0; ffn_gate 0; ffn_down "
     "11110000000000000000000000000000"},
    {"llama7b", "IQ3_M", false,
     "embd e; out 6; attn_q e; attn_k e; attn_v 4; attn_output 4; ffn_gate e; ffn_down "
     "4444eeeeeeeeeeeeeeeeeeeeeeeeeeee"},
    {"llama7b", "IQ2_S", true,
     "embd e; out 5; attn_q b; attn_k b; attn_v e; attn_output e; ffn_gate b; ffn_down "
     "eeeebbbbbbbbbbbbbbbbbbbbbbbbbbbb"},
    {"llama70b", "Q3_K_S", false,
     "embd 3; out 6; attn_q 3; attn_k 3; attn_v 5; attn_output 3; ffn_gate 3; ffn_down 3"},
    {"llama70b", "Q4_K_M", false,
     "embd 4; out 6; attn_q 4; attn_k 4; attn_v "
     "66666666665565565565565565565565565565565565565565565565565565565565566666666666; "
     "attn_output 4; ffn_gate 4; ffn_down "
     "66666666664464464464464464464464464464464464464464464464464464464464466666666666"},
    {"llama70b", "IQ4_XS", false,
     "embd g; out 6; attn_q g; attn_k g; attn_v 5; attn_output g; ffn_gate g; ffn_down "
     "5555555555gggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggggg"},
    {"mixtral", "Q4_K_M", false,
     "embd 4; out 6; attn_q 4; attn_k 8; attn_v 8; attn_output 5; ffn_gate_exps 4; "
     "ffn_up_exps 4; ffn_down_exps 66664464464464464464464464466666"},
    {"mixtral", "Q3_K_M", false,
     "embd 3; out 6; attn_q 3; attn_k 8; attn_v 8; attn_output 5; ffn_gate_exps 3; "
     "ffn_up_exps 3; ffn_down_exps 55444444444444444444444444444444"},
    {"mixtral", "IQ2_XXS", true,
     "embd 2; out 5; attn_q a; attn_k 4; attn_v 4; attn_output 5; ffn_gate_exps a; "
     "ffn_up_exps a; ffn_down_exps 2222aaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
    {"mixtral", "MXFP4_MOE", false,
     "embd 8; out 8; attn_q 8; attn_k 8; attn_v 8; attn_output 8; ffn_gate_exps M; "
     "ffn_up_exps M; ffn_down_exps M"},
    {"mixtral", "IQ3_M", false,
     "embd e; out 6; attn_q e; attn_k 8; attn_v 8; attn_output 5; ffn_gate_exps e; "
     "ffn_up_exps e; ffn_down_exps 4444ee4ee4ee4ee4ee4ee4ee4ee44444"},
    {"falcon", "Q4_K_M", false,
     "embd 8; attn_qkv 8888pp8pp8pp8pp8pp8pp8pp8pp88888; attn_output p; ffn_gate p; ffn_down "
     "66554454454454454454454454455555"},
    {"falcon", "Q3_K_M", false,
     "embd 8; attn_qkv qqpppppppppppppppppppppppppppppp; attn_output 0; ffn_gate 0; ffn_down "
     "55443343343343343343343343344444"},
    {"falcon", "Q3_K_L", false, "embd 8; attn_qkv q; attn_output p; ffn_gate 0; ffn_down 4"},
    {"qwen2moe", "Q4_K_M", false,
     "embd 4; out 6; attn_q 4; attn_k 4; attn_v 666446446446446446446666; attn_output 4; "
     "ffn_gate_exps 4; ffn_up_exps 4; ffn_down_exps 888pp8pp8pp8pp8pp8pp8888; ffn_down_shexp "
     "888pp8pp8pp8pp8pp8pp8888"},
    {"qwen2moe", "IQ2_S", true,
     "embd e; out 5; attn_q b; attn_k b; attn_v 4; attn_output e; ffn_gate_exps b; "
     "ffn_up_exps b; ffn_down_exps f; ffn_down_shexp f"},
    {"qwen3moe", "Q5_K_M", false,
     "embd 5; out 6; attn_q 5; attn_k 5; attn_v "
     "666666556556556556556556556556556556556556666666; attn_output 5; ffn_gate_exps 5; "
     "ffn_up_exps 5; ffn_down_exps 666666556556556556556556556556556556556556666666"},
    {"qwen3moe", "MXFP4_MOE", false,
     "embd 8; out 8; attn_q 8; attn_k 8; attn_v 8; attn_output 8; ffn_gate_exps M; "
     "ffn_up_exps M; ffn_down_exps M"},
    {"gemma2", "Q4_K_M", false,
     "embd 6; attn_q 4; attn_k 4; attn_v 66644644644644644644646666; attn_output 4; ffn_gate "
     "4; ffn_down 66644644644644644644646666"},
    {"gemma2", "IQ1_S", true,
     "embd 5; attn_q h; attn_k h; attn_v 2; attn_output a; ffn_gate h; ffn_down "
     "222hhhhhhhhhhhhhhhhhhhhhhh"},
    {"gemma2", "IQ3_S", false,
     "embd 6; attn_q e; attn_k e; attn_v e; attn_output e; ffn_gate e; ffn_down e"},
    {"deepseek2", "Q4_K_M", false,
     "embd 4; out 6; attn_kv_b 666446446446446446446446666; attn_q_a 4; attn_output 4; "
     "ffn_gate 4; ffn_gate_exps 4; ffn_up_exps 4; ffn_down 8; ffn_down_exps "
     "88pp8pp8pp8pp8pp8pp8pp8888; ffn_down_shexp 88pp8pp8pp8pp8pp8pp8pp8888"},
    {"deepseek2", "MXFP4_MOE", false,
     "embd 8; out 8; attn_kv_b 8; attn_q_a 8; attn_output 8; ffn_gate 8; ffn_gate_exps M; "
     "ffn_up_exps M; ffn_down 8; ffn_down_exps M; ffn_down_shexp 8"},
    {"deepseek3", "Q3_K_M", false,
     "embd 3; out 6; attn_q_a 3; attn_k_b 0; attn_output 4; ffn_gate 3; ffn_gate_exps 3; "
     "ffn_up_exps 3; ffn_down 5; ffn_down_exps "
     "554444444444444444444444444444444444444444444444444444444444; ffn_down_shexp "
     "554444444444444444444444444444444444444444444444444444444444"},
    {"smol", "Q4_K_M", false,
     "embd 8; attn_q p; attn_k p; attn_v 888pp8pp8pp8pp8pp8pp8pp8pp8888; attn_output p; "
     "ffn_gate p; ffn_down 666446446446446446446446446666"},
    {"smol", "Q6_K", false,
     "embd 8; attn_q 8; attn_k 8; attn_v 8; attn_output 8; ffn_gate 8; ffn_down 6"},
    {"smol", "IQ3_S", false,
     "embd 8; attn_q f; attn_k f; attn_v f; attn_output f; ffn_gate f; ffn_down e"},
};

static char code_of(const tare_mix_choice *choices, const built *b, const char *name) {
    int64_t i = tare_model_find_tensor(b->model, tare_str_of(name));
    if (i < 0) return '\0';
    char code = choices[i].type ? codes[choices[i].type->id] : '-';
    if (!code) fail_msg("%s: no letter for %s", name, choices[i].type->name);
    return code;
}

/* The letters of one kind of tensor, in text[100]. */
static void letters(char *text, const tare_mix_choice *choices, const built *b, const shape *s,
                    const char *kind) {
    size_t n = 0;
    bool are_same = true;
    for (uint64_t layer = 0; layer < s->layers; layer++) {
        char name[96];
        snprintf(name, sizeof name, "blk.%u.%s.weight", (unsigned)layer, kind);
        char code = code_of(choices, b, name);
        if (code) text[n++] = code;
        are_same &= n == 0 || text[n - 1] == text[0];
    }
    if (strcmp(kind, "embd") == 0) text[n++] = code_of(choices, b, gguf.embedding);
    if (strcmp(kind, "out") == 0) text[n++] = code_of(choices, b, gguf.output);
    text[are_same && n ? 1 : n] = '\0';
}

/* Checks "kind letters; kind letters; ...". */
static void check_table(const char *table, const tare_mix_choice *choices, const built *b,
                        const shape *s) {
    char copy[800], *rest = NULL, expected[100], kind[32], found[100];
    snprintf(copy, sizeof copy, "%s", table);
    for (char *part = strtok_r(copy, ";", &rest); part; part = strtok_r(NULL, ";", &rest)) {
        assert_int_equal(sscanf(part, " %31s %99s", kind, expected), 2);
        letters(found, choices, b, s, kind);
        if (strcmp(found, expected) != 0) fail_msg("%s: %s, not %s", kind, found, expected);
    }
}

static tare_mix_options by_name(const char *mix) {
    tare_mix_options options = tare_mix_options_default();
    options.mix = tare_mix_find(tare_str_of(mix));
    assert_non_null(options.mix);
    return options;
}

static void tensors_get_the_types_of_llama_cpp(void **state) {
    (void)state;
    static tare_mix_choice choices[MOST_TENSORS];
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const shape *s = find_shape(tables[i].shape);
        const tare_mix_options options = by_name(tables[i].mix);
        built b;
        print_message("%s %s\n", s->name, tables[i].mix);
        build(&b, s, &gguf, true);
        choose(choices, &b, &options, tables[i].has_importance, NULL, true);
        check_table(tables[i].types, choices, &b, s);
        tare_model_free(b.model);
    }
}

static void all_mixes_agree_with_llama_cpp(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        built b;
        print_message("%s\n", shapes[i].name);
        build(&b, &shapes[i], &gguf, true);
        assert_int_equal(digest(&b, false), shapes[i].digest);
        assert_int_equal(digest(&b, true), shapes[i].digest_with_importance);
        tare_model_free(b.model);
    }
}

/* Without keys, too, where the shapes tell enough. */
static void checkpoints_get_the_same_types(void **state) {
    (void)state;
    static tare_mix_choice a[MOST_TENSORS], b[MOST_TENSORS];
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        built as_gguf, as_hf;
        if (shapes[s].attention == MLA_SPLIT) continue;
        build(&as_gguf, &shapes[s], &gguf, true);
        build(&as_hf, &shapes[s], &hf, shapes[s].attention != SEPARATE);
        for (size_t k = 0; tare_mix_at(k); k++) {
            tare_mix_options options = tare_mix_options_default();
            options.mix = tare_mix_at(k);
            choose(a, &as_gguf, &options, false, NULL, true);
            choose(b, &as_hf, &options, false, NULL, true);
            for (size_t i = 0; i < as_gguf.model->catalog.n_tensors; i++) {
                tare_str name = as_hf.model->catalog.tensors[i].name;
                if (a[i].type != b[i].type)
                    fail_msg("%s %s %.*s: %s, not %s", shapes[s].name, options.mix->name,
                             (int)name.len, name.ptr, type_name(&b[i]), type_name(&a[i]));
            }
        }
        tare_model_free(as_gguf.model);
        tare_model_free(as_hf.model);
    }
}

/* ---- options --------------------------------------------------------------------------------- */

static tare_mix_choice *choose_llama(built *b, const tare_mix_options *options,
                                     const tare_encoding *const *manual) {
    static tare_mix_choice choices[MOST_TENSORS];
    build(b, find_shape("llama7b"), &gguf, true);
    choose(choices, b, options, false, manual, true);
    return choices;
}

static const tare_mix_choice *choice_of(const tare_mix_choice *choices, const built *b,
                                        const char *name) {
    int64_t i = tare_model_find_tensor(b->model, tare_str_of(name));
    assert_true(i >= 0);
    return &choices[i];
}

static void what_a_rule_decides_does_not_count(void **state) {
    (void)state;
    static const tare_encoding *manual[MOST_TENSORS];
    const tare_mix_options options = by_name("Q4_K_M");
    built b;
    char found[100];
    build(&b, find_shape("llama7b"), &gguf, true);
    int64_t first = tare_model_find_tensor(b.model, TARE_STR("blk.0.attn_v.weight"));
    int64_t norm = tare_model_find_tensor(b.model, TARE_STR("blk.0.attn_norm.weight"));
    tare_model_free(b.model);
    manual[first] = manual[norm] = tare_encoding_get(TARE_ENCODING_Q8_0);
    tare_mix_choice *choices = choose_llama(&b, &options, manual);
    letters(found, choices, &b, find_shape("llama7b"), "attn_v");
    assert_string_equal(found, "86666446446446446446446446446666");
    assert_null(choices[norm].type);
    assert_false(choices[norm].is_open);
    tare_model_free(b.model);
}

static void options_come_before_rules(void **state) {
    (void)state;
    tare_mix_options options = by_name("q4_k_m");
    built b;
    options.is_pure = true;
    tare_mix_choice *choices = choose_llama(&b, &options, NULL);
    assert_int_equal(code_of(choices, &b, "output.weight"), '4');
    assert_int_equal(code_of(choices, &b, "blk.0.attn_v.weight"), '4');
    tare_model_free(b.model);
    options.is_pure = false;
    options.leave_output = true;
    options.embedding = tare_encoding_get(TARE_ENCODING_Q8_0);
    choices = choose_llama(&b, &options, NULL);
    assert_false(choice_of(choices, &b, "output.weight")->is_open);
    assert_int_equal(code_of(choices, &b, "output.weight"), '-');
    assert_int_equal(code_of(choices, &b, "token_embd.weight"), '8');
    tare_model_free(b.model);
    options.leave_output = false;
    options.output = tare_encoding_get(TARE_ENCODING_Q5_K);
    choices = choose_llama(&b, &options, NULL);
    assert_int_equal(code_of(choices, &b, "output.weight"), '5');
    tare_model_free(b.model);
}

/* One matrix serves as both: what is said of the output holds, unless the embedding is named. */
static void tied_embeddings_are_the_output(void **state) {
    (void)state;
    static tare_mix_choice choices[MOST_TENSORS];
    tare_mix_options options = by_name("Q4_K_M");
    built b;
    build(&b, find_shape("gemma2"), &gguf, true);
    options.output = tare_encoding_get(TARE_ENCODING_Q5_K);
    choose(choices, &b, &options, false, NULL, true);
    assert_int_equal(code_of(choices, &b, "token_embd.weight"), '5');
    options.embedding = tare_encoding_get(TARE_ENCODING_Q2_K);
    choose(choices, &b, &options, false, NULL, true);
    assert_int_equal(code_of(choices, &b, "token_embd.weight"), '2');
    tare_model_free(b.model);
}

/* ---- shapes and names ------------------------------------------------------------------------ */

static void begin_odd(built *b) {
    memset(b, 0, sizeof *b);
    assert_int_equal(tare_model_new(&b->model, NULL, NULL), TARE_OK);
    b->model->catalog.tensors = TARE_NEW_ARRAY(&b->model->arena, tare_tensor, MOST_TENSORS);
}

static void odd_rows_fall_back(void **state) {
    (void)state;
    static tare_mix_choice choices[MOST_TENSORS];
    static const struct {
        const char *mix;
        uint64_t cols;
        tare_encoding_id type;
    } cases[] = {
        {"Q4_K_M", 320, TARE_ENCODING_Q5_0}, {"Q5_K_S", 320, TARE_ENCODING_Q5_1},
        {"Q6_K", 320, TARE_ENCODING_Q8_0},   {"IQ3_S", 320, TARE_ENCODING_IQ4_NL},
        {"TQ2_0", 320, TARE_ENCODING_Q4_0},  {"Q2_0", 96, TARE_ENCODING_Q4_0},
        {"Q4_K_M", 100, TARE_ENCODING_F16},  {"Q8_0", 100, TARE_ENCODING_F16},
        {"Q1_0", 96, TARE_ENCODING_F16},     {"Q4_0", 320, TARE_ENCODING_Q4_0},
        {"Q4_K_M", 512, TARE_ENCODING_Q4_K},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tare_mix_options options = by_name(cases[i].mix);
        built b;
        begin_odd(&b);
        add(&b, "blk.0.attn_q.weight", cases[i].cols, 7, 1);
        assert_int_equal(tare_model_finish(b.model, NULL, NULL), TARE_OK);
        choose(choices, &b, &options, false, NULL, true);
        assert_int_equal(choices[0].type->id, cases[i].type);
        bool is_fallback = choices[0].type != options.mix->type;
        assert_ptr_equal(choices[0].wanted, is_fallback ? options.mix->type : NULL);
        tare_model_free(b.model);
    }
}

static void unknown_names_get_the_plain_type(void **state) {
    (void)state;
    static tare_mix_choice choices[MOST_TENSORS];
    const tare_mix_options options = by_name("Q4_K_M");
    built b;
    begin_odd(&b);
    add(&b, "encoder.a", 256, 8, 1);
    add(&b, "encoder.norm", 256, 8, 1);
    add(&b, "encoder.b", 256, 1, 1);
    assert_int_equal(tare_model_finish(b.model, NULL, NULL), TARE_OK);
    choose(choices, &b, &options, false, NULL, false);
    assert_int_equal(choices[0].type->id, TARE_ENCODING_Q4_K);
    assert_false(choices[1].is_open);
    assert_false(choices[2].is_open);
    tare_model_free(b.model);
}

/* Norms, routers and what else stays; what sees stays too, but a rule may touch it. */
static void some_tensors_stay(void **state) {
    (void)state;
    static tare_mix_choice choices[MOST_TENSORS];
    static const char *const kept[] = {
        "model.layers.0.mlp.gate.weight",        "model.layers.0.input_layernorm.weight",
        "model.layers.0.mixer.conv1d.weight",    "model.embed_positions.weight",
        "model.layers.0.self_attn.q_proj.scale", "model.visual.blocks.0.attn.proj.weight"};
    const tare_mix_options options = by_name("Q8_0");
    built b;
    begin_odd(&b);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) add(&b, kept[i], 256, 8, 1);
    add(&b, "model.layers.0.self_attn.q_proj.weight", 256, 8, 1);
    assert_int_equal(tare_model_finish(b.model, NULL, NULL), TARE_OK);
    choose(choices, &b, &options, false, NULL, true);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        assert_null(choices[i].type);
        assert_int_equal(choices[i].is_open, i == 5);
    }
    assert_int_equal(choices[6].type->id, TARE_ENCODING_Q8_0);
    tare_model_free(b.model);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void mixes_are_found(void **state) {
    (void)state;
    static const struct {
        const char *text, *name;
    } cases[] = {
        {"Q4_K_M", "Q4_K_M"}, {"q4_k", "Q4_K_M"},        {"15", "Q4_K_M"}, {"0", "F32"},
        {"iq1_m", "IQ1_M"},   {"Copy", "COPY"},          {"39", "NVFP4"},  {"Q3_K", "Q3_K_M"},
        {"41", "Q2_0"},       {"mxfp4_moe", "MXFP4_MOE"}};
    static const char *const none[] = {"",   "4",     "42", "Q4",   "Q4_K_MM",
                                       "-1", "99999", "1x", "Q4_K_"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(tare_mix_find(tare_str_of(cases[i].text))->name, cases[i].name);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(tare_mix_find(tare_str_of(none[i])));
    for (size_t i = 0; tare_mix_at(i); i++) assert_int_equal(tare_mix_id_of(tare_mix_at(i)), i);
}

/* What the table says of a mix is what happens to a model of the usual shape. */
static void mixes_say_whether_they_need_importance(void **state) {
    (void)state;
    static tare_mix_choice choices[MOST_TENSORS];
    built b;
    build(&b, find_shape("llama7b"), &gguf, true);
    for (size_t k = 0; tare_mix_at(k); k++) {
        tare_mix_options options = tare_mix_options_default();
        bool is_needed = false;
        options.mix = tare_mix_at(k);
        choose(choices, &b, &options, false, NULL, true);
        for (size_t i = 0; i < b.model->catalog.n_tensors; i++)
            is_needed |= choices[i].needs_importance;
        print_message("%s\n", options.mix->name);
        assert_int_equal(is_needed, options.mix->needs_importance);
    }
    tare_model_free(b.model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_get_the_types_of_llama_cpp),
        cmocka_unit_test(all_mixes_agree_with_llama_cpp),
        cmocka_unit_test(checkpoints_get_the_same_types),
        cmocka_unit_test(what_a_rule_decides_does_not_count),
        cmocka_unit_test(options_come_before_rules),
        cmocka_unit_test(tied_embeddings_are_the_output),
        cmocka_unit_test(odd_rows_fall_back),
        cmocka_unit_test(unknown_names_get_the_plain_type),
        cmocka_unit_test(some_tensors_stay),
        cmocka_unit_test(mixes_are_found),
        cmocka_unit_test(mixes_say_whether_they_need_importance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
