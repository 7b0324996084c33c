/* SPDX-License-Identifier: MIT
 *
 * Guards against: norms that are quantized because their name was not known, rows of the table that
 * never fit because an earlier one takes their names, layers and experts taken for each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <tare/inspect.h>

#include "base/str.h"
#include "ops/mix/roles.h"

static const struct {
    const char *name;
    tare_role role;
    int layer, expert;
    const char
        *marks; /* g: GGUF, e: expert, s: shared expert, b: bias, =: even, k: kept, t: tower */
} cases[] = {
    {"token_embd.weight", TARE_ROLE_TOKEN_EMBEDDING, -1, -1, "g"},
    {"output.weight", TARE_ROLE_OUTPUT, -1, -1, "g"},
    {"output_norm.weight", TARE_ROLE_NORM, -1, -1, "gk"},
    {"blk.12.attn_q.weight", TARE_ROLE_ATTN_Q, 12, -1, "g"},
    {"blk.12.attn_q_norm.weight", TARE_ROLE_NORM, 12, -1, "gk"},
    {"blk.0.attn_v.bias", TARE_ROLE_ATTN_V, 0, -1, "gb"},
    {"blk.0.attn_output.weight", TARE_ROLE_ATTN_OUTPUT, 0, -1, "g"},
    {"blk.3.ffn_gate_inp.weight", TARE_ROLE_ROUTER, 3, -1, "gk"},
    {"blk.3.ffn_down_exps.weight", TARE_ROLE_FFN_DOWN, 3, -1, "ge"},
    {"blk.3.ffn_down.7.weight", TARE_ROLE_FFN_DOWN, 3, 7, "ge"},
    {"blk.3.ffn_up_shexp.weight", TARE_ROLE_FFN_UP, 3, -1, "gs"},
    {"blk.5.ssm_conv1d.weight", TARE_ROLE_SSM, 5, -1, "gk"},
    {"rope_freqs.weight", TARE_ROLE_ROPE, -1, -1, "gk"},
    {"model.embed_tokens.weight", TARE_ROLE_TOKEN_EMBEDDING, -1, -1, ""},
    {"lm_head.weight", TARE_ROLE_OUTPUT, -1, -1, ""},
    {"model.norm.weight", TARE_ROLE_NORM, -1, -1, "k"},
    {"model.layers.31.input_layernorm.weight", TARE_ROLE_NORM, 31, -1, "k"},
    {"model.layers.31.self_attn.q_proj.weight", TARE_ROLE_ATTN_Q, 31, -1, ""},
    {"model.layers.31.self_attn.o_proj.weight", TARE_ROLE_ATTN_OUTPUT, 31, -1, ""},
    {"model.layers.31.self_attn.k_norm.weight", TARE_ROLE_NORM, 31, -1, "k"},
    {"model.layers.2.mlp.gate_proj.weight", TARE_ROLE_FFN_GATE, 2, -1, ""},
    {"model.layers.2.mlp.experts.63.down_proj.weight", TARE_ROLE_FFN_DOWN, 2, 63, "e"},
    {"model.layers.2.mlp.shared_experts.up_proj.weight", TARE_ROLE_FFN_UP, 2, -1, "s"},
    {"model.layers.2.mlp.gate.weight", TARE_ROLE_ROUTER, 2, -1, "k"},
    {"model.layers.2.block_sparse_moe.experts.5.w2.weight", TARE_ROLE_FFN_DOWN, 2, 5, "e"},
    {"transformer.h.4.attn.c_attn.weight", TARE_ROLE_ATTN_QKV, 4, -1, ""},
    {"transformer.h.4.attn.c_proj.weight", TARE_ROLE_ATTN_OUTPUT, 4, -1, ""},
    {"transformer.h.4.mlp.c_proj.weight", TARE_ROLE_FFN_DOWN, 4, -1, ""},
    {"transformer.h.4.ln_1.weight", TARE_ROLE_NORM, 4, -1, "k"},
    {"transformer.wte.weight", TARE_ROLE_TOKEN_EMBEDDING, -1, -1, ""},
    {"transformer.wpe.weight", TARE_ROLE_POSITION_EMBEDDING, -1, -1, "k"},
    {"bert.encoder.layer.1.attention.self.value.weight", TARE_ROLE_ATTN_V, 1, -1, ""},
    {"bert.encoder.layer.1.attention.output.dense.weight", TARE_ROLE_ATTN_OUTPUT, 1, -1, ""},
    {"bert.encoder.layer.1.attention.output.LayerNorm.weight", TARE_ROLE_NORM, 1, -1, "k"},
    {"bert.encoder.layer.1.output.dense.weight", TARE_ROLE_FFN_DOWN, 1, -1, ""},
    {"bert.embeddings.token_type_embeddings.weight", TARE_ROLE_TYPE_EMBEDDING, -1, -1, "k"},
    /* known to the table of names alone */
    {"transformer.blocks.3.ffn.experts.mlp.w2", TARE_ROLE_FFN_DOWN, 3, -1, "e"}, /* DBRX */
    {"transformer.h.2.mlp.w1.weight", TARE_ROLE_FFN_UP, 2, -1, ""},              /* Qwen 1 */
    {"transformer.layer.0.attention.q_lin.weight", TARE_ROLE_ATTN_Q, 0, -1, ""}, /* DistilBERT */
    {"backbone.layers.1.mixer.in_proj.weight", TARE_ROLE_SSM, 1, -1, ""},
    {"language_model.transformer.wte.weight", TARE_ROLE_TOKEN_EMBEDDING, -1, -1, ""},
    {"blk.2.shortconv.in_proj.weight", TARE_ROLE_UNKNOWN, 2, -1, ""},
    {"head.weight", TARE_ROLE_UNKNOWN, -1, -1, ""}, /* words that may be anything */
    {"layers.0.gate.weight", TARE_ROLE_UNKNOWN, 0, -1, ""},
    {"encoder.block.0.layer.0.SelfAttention.q.weight", TARE_ROLE_ATTN_Q, 0, -1, ""},
    {"gpt_neox.layers.9.mlp.dense_4h_to_h.bias", TARE_ROLE_FFN_DOWN, 9, -1, "b"},
    {"blk.1.attn_q_a.weight", TARE_ROLE_ATTN_Q, 1, -1, "g="},
    {"blk.1.attn_kv_a_mqa.weight", TARE_ROLE_ATTN_QKV, 1, -1, "g="},
    {"blk.1.attn_kv_b.weight", TARE_ROLE_ATTN_QKV, 1, -1, "g"},
    {"blk.1.attn_v_b.weight", TARE_ROLE_ATTN_V, 1, -1, "g="},
    {"dec.blk.1.cross_attn_o.weight", TARE_ROLE_ATTN_OUTPUT, 1, -1, "g="},
    {"enc.blk.0.attn_rel_b.weight", TARE_ROLE_UNKNOWN, 0, -1, "k"},
    {"blk.2.time_mix_w1.weight", TARE_ROLE_UNKNOWN, 2, -1, "k"},
    {"blk.2.laurel_l.weight", TARE_ROLE_UNKNOWN, 2, -1, "k"},
    {"v.patch_embd.weight", TARE_ROLE_UNKNOWN, -1, -1, "k"},
    {"model.layers.1.self_attn.kv_b_proj.weight", TARE_ROLE_ATTN_QKV, 1, -1, ""},
    {"model.layers.1.self_attn.q_b_proj.weight", TARE_ROLE_ATTN_Q, 1, -1, "="},
    {"model.visual.blocks.3.attn.qkv.weight", TARE_ROLE_UNKNOWN, 3, -1, "t"},
    {"vision_tower.layers.3.self_attn.v_proj.weight", TARE_ROLE_ATTN_V, 3, -1, "t"},
    {"conv1.weight", TARE_ROLE_UNKNOWN, -1, -1, ""},
    {"layers.3.linear.weight", TARE_ROLE_UNKNOWN, 3, -1, ""},
    {"plnx.weight", TARE_ROLE_UNKNOWN, -1, -1, ""},
    {"lnx.weight", TARE_ROLE_UNKNOWN, -1, -1, ""},
    {"ln.weight", TARE_ROLE_NORM, -1, -1, "k"},
    {"", TARE_ROLE_UNKNOWN, -1, -1, ""},
    {".", TARE_ROLE_UNKNOWN, -1, -1, ""},
    {".weight", TARE_ROLE_UNKNOWN, -1, -1, ""},
    {"99999999999.lm_head", TARE_ROLE_OUTPUT, -1, -1, ""},
};

static void names_tell_roles(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tare_role_info info = tare_role_of_name(tare_str_of(cases[i].name));
        print_message("%s\n", cases[i].name);
        assert_int_equal(info.role, cases[i].role);
        assert_int_equal(info.layer, cases[i].layer);
        assert_int_equal(info.expert, cases[i].expert);
        assert_int_equal(info.is_gguf, strchr(cases[i].marks, 'g') != NULL);
        assert_int_equal(info.is_expert, strchr(cases[i].marks, 'e') != NULL);
        assert_int_equal(info.is_shared, strchr(cases[i].marks, 's') != NULL);
        assert_int_equal(info.is_bias, strchr(cases[i].marks, 'b') != NULL);
        assert_int_equal(info.is_even, strchr(cases[i].marks, '=') != NULL);
        assert_int_equal(info.is_kept, strchr(cases[i].marks, 'k') != NULL);
        assert_int_equal(info.is_tower, strchr(cases[i].marks, 't') != NULL);
    }
}

/* Longer than the form can hold: an answer, whatever it is, and no byte beyond. */
static void long_names_are_safe(void **state) {
    (void)state;
    static char name[70000];
    memset(name, 'n', sizeof name);
    for (size_t n = 200; n < 600; n++) tare_role_of_name((tare_str){name, n});
    for (size_t i = 0; i < sizeof name; i += 3) name[i] = '.';
    tare_role_of_name((tare_str){name, sizeof name});
    memcpy(name + 1000, ".lm_head.weight", 15);
    assert_int_equal(tare_role_of_name((tare_str){name, 1015}).role, TARE_ROLE_OUTPUT);
}

/* What callers are told: each role has a name of its own, and none is left out. */
static void parts_have_words(void **state) {
    (void)state;
    tare_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tare_tensor_part part = tare_tensor_part_default();
        tare_str name = tare_str_of(cases[i].name);
        assert_int_equal(tare_tensor_part_of_name(&part, name, &err), TARE_OK);
        assert_int_equal(part.role == NULL, cases[i].role == TARE_ROLE_UNKNOWN);
        assert_int_equal(part.layer, cases[i].layer);
        assert_int_equal(part.expert, cases[i].expert);
        assert_int_equal(part.is_bias, strchr(cases[i].marks, 'b') != NULL);
        for (size_t k = 0; k < i; k++) {
            tare_tensor_part other = tare_tensor_part_default();
            tare_tensor_part_of_name(&other, tare_str_of(cases[k].name), &err);
            if (cases[k].role != cases[i].role && part.role && other.role)
                assert_string_not_equal(part.role, other.role);
        }
    }
    tare_tensor_part unset = {.size = 0};
    assert_int_equal(tare_tensor_part_of_name(&unset, TARE_STR("a"), &err), TARE_ERR_ARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_roles),
        cmocka_unit_test(long_names_are_safe),
        cmocka_unit_test(parts_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
