/* SPDX-License-Identifier: MIT
 *
 * Gemma 3n's last layers compute with the keys and values of earlier ones, and transformers saves no matrices for
 * them. llama.cpp's loader asks for these, and then does without: those of the last layer before stand there. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/mapping.h"

static tare_status add_copy(tare_llama_mapping *m, uint64_t layer, const char *word,
                            tare_error *err) {
    char own[48], shared[48];
    snprintf(own, sizeof own, "blk.%d.%s.weight", TARE_LLAMA_OWN_KV_LAYERS - 1, word);
    snprintf(shared, sizeof shared, "blk.%llu.%s.weight", (unsigned long long)layer, word);
    const tare_llama_target *from = tare_llama_target_named(m, tare_str_of(own));
    if (!from || tare_llama_has_target(m, tare_str_of(shared))) return TARE_OK;
    const tare_str name = tare_arena_str(&m->out->arena, tare_str_of(shared));
    tare_llama_target *to = TARE_NEW(&m->out->arena, tare_llama_target);
    if (!name.ptr || !to) return tare_fail(err, TARE_ERR_NOMEM, "tensor");
    *to = *from;
    to->name = name;
    return tare_llama_target_add(m, to, err);
}

tare_status tare_llama_add_shared_kv(tare_llama_mapping *m, tare_error *err) {
    static const char *const words[] = {"attn_k", "attn_v", "attn_k_norm"};
    if (!tare_str_is(tare_str_of(m->arch->name), "gemma3n") || m->is_rehearsal ||
        m->options->like_reference)
        return TARE_OK;
    for (uint64_t i = TARE_LLAMA_OWN_KV_LAYERS; i < m->n_layers; i++)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            TARE_TRY(add_copy(m, i, words[k], err));
    return TARE_OK;
}
