/* SPDX-License-Identifier: MIT
 *
 * Which tensors llama.cpp wants as F32 whatever type the others get, and which types the numbers of
 * a made one had. */
#include "base/arith.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "llama/tower.h"

static const char always[] =
    "ffn_gate_inp ffn_gate_inp_shexp position_embd token_types ssm_conv1d ssm_conv1d_q "
    "ssm_conv1d_k ssm_conv1d_v shortconv.conv time_mix_first time_mix_w1 time_mix_w2 "
    "time_mix_decay_w1 time_mix_decay_w2 time_mix_lerp_fused altup_correct_coef "
    "altup_predict_coef indexer.proj indexer.q_proj indexer.k_proj posnet.norm1 posnet.norm2 "
    "v.position_embd a.position_embd hc_attn_fn hc_ffn_fn output_hc_fn indexer_compressor_gate "
    "indexer_compressor_ape";
/* Those whose type follows the one that is asked for only if it is F16. */
static const char convolutions[] = "v.patch_embd mm.patch_merger";

/* The name without what counts blocks: "blk.3.attn_q.weight" -> "attn_q", "posnet.3.norm1.weight" ->
 * "posnet.norm1", "v.sam.blk.3.attn.out.weight" -> "v.sam.attn.out". */
static tare_str stem_of(tare_str name, char *buf, size_t size) {
    const tare_str weight = TARE_STR(".weight"), block = TARE_STR("blk."),
                   posnet = TARE_STR("posnet.");
    size_t begin = 0;
    if (tare_str_ends(name, weight)) name.len -= weight.len;
    const bool is_posnet = tare_str_starts(name, posnet);
    while (!is_posnet && begin < name.len && !tare_str_starts(tare_str_cut(name, begin), block))
        begin++;
    if (begin == name.len) return name;
    const tare_str number = tare_str_cut(name, begin + (is_posnet ? posnet.len : block.len));
    const char *dot = memchr(number.ptr, '.', number.len);
    if (!dot) return name;
    const tare_str head = {name.ptr, is_posnet ? posnet.len : begin},
                   rest = tare_str_cut(number, (size_t)(dot - number.ptr) + 1);
    if (head.len == 0) return rest;
    if (head.len + rest.len > size) return name;
    memcpy(buf, head.ptr, head.len);
    memcpy(buf + head.len, rest.ptr, rest.len);
    return (tare_str){buf, head.len + rest.len};
}

tare_fixed_type tare_llama_fixed_type(tare_str name, uint32_t n_dims, const tare_llama_arch *arch) {
    const tare_str weight = TARE_STR(".weight"), second = TARE_STR(".weight.1");
    const tare_llama_tower *tower = arch->tower;
    char buf[64];
    if (n_dims <= 1 || tare_str_ends(name, TARE_STR("_norm.weight"))) return TARE_FIXED_F32;
    if (arch->quantizes_all) return TARE_FIXED_NONE;
    if (tower && tare_str_ends(name, second)) name.len -= 2;
    const tare_str stem = stem_of(name, buf, sizeof buf);
    if (!tare_str_ends(name, weight)) /* adapters in the model are as weights are */
        return tare_llama_contains(stem, ".lora_") && tare_llama_is_one_of(stem, arch->tensors)
                   ? TARE_FIXED_NONE
                   : TARE_FIXED_F32;
    if (tare_llama_is_one_of(stem, always)) return TARE_FIXED_F32;
    if (!tower) return TARE_FIXED_NONE;
    if (tare_llama_is_one_of(stem, tower->f32)) return TARE_FIXED_F32;
    if (tare_llama_is_one_of(stem, tower->f16)) return TARE_FIXED_F16;
    return tare_llama_is_one_of(stem, convolutions) || tare_llama_is_one_of(stem, tower->f16_or_f32)
               ? TARE_FIXED_F16_OR_F32
               : TARE_FIXED_NONE;
}

/* The stored bytes of n elements of a tensor. */
static uint64_t bytes_of(const tare_tensor *t, uint64_t stored, uint64_t n) {
    if (n == t->n_elements) return stored;
    return (uint64_t)((double)stored / (double)tare_max_u64(t->n_elements, 1) * (double)n);
}

tare_origin tare_llama_origin_of_pieces(const tare_model *source, const tare_piece *pieces,
                                        size_t n_pieces, uint64_t n_elements) {
    tare_origin origin = {.encoding = NULL};
    uint64_t before = 0;
    for (size_t i = 0; i < n_pieces; i++) {
        const uint64_t of_turn = pieces[i].end - before, turn = pieces[n_pieces - 1].end;
        before = pieces[i].end;
        if (pieces[i].source == TARE_PIECE_ZEROS) continue;
        const tare_tensor *t = &source->catalog.tensors[pieces[i].source];
        const tare_origin from = tare_tensor_origin(source, pieces[i].source);
        if (origin.encoding && origin.encoding != from.encoding)
            return (tare_origin){.encoding = NULL};
        origin.encoding = from.encoding;
        origin.size_bytes +=
            bytes_of(t, from.size_bytes, n_elements / tare_max_u64(turn, 1) * of_turn);
    }
    return origin;
}
