/* SPDX-License-Identifier: MIT
 *
 * Drafts: small models that guess what a larger one says next, beside which llama.cpp runs them. They
 * have its tokenizer, and often a part of its tokens only. */
#include "base/bytes.h"
#include "base/str.h"
#include "llama/mapping.h"

tare_status tare_llama_add_mask_token(tare_llama_mapping *m, tare_error *err) {
    const tare_str key = TARE_STR("tokenizer.ggml.mask_token_id");
    uint64_t id;
    bool is_there;
    size_t at = 0;
    if (!m->arch->mask_token) return TARE_OK;
    TARE_TRY(tare_llama_formula_u64(&id, &is_there, tare_str_of(m->arch->mask_token), &m->config,
                                    NULL, err));
    if (!is_there) return TARE_OK;
    tare_metadata *keys = TARE_NEW_ARRAY(&m->out->arena, tare_metadata, m->n_vocab + 1);
    if (!keys) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    if (m->n_vocab) memcpy(keys, m->vocab, m->n_vocab * sizeof *keys);
    while (at < m->n_vocab && !tare_str_equal(keys[at].key, key)) at++;
    keys[at] = (tare_metadata){.key = key,
                               .value = {.type = TARE_VALUE_U32, .as.u = id},
                               .space = TARE_KEYS_MODEL,
                               .offset = TARE_NO_OFFSET};
    m->vocab = keys;
    m->n_vocab += at == m->n_vocab;
    return TARE_OK;
}

/* ---- a part of the tokens --------------------------------------------------------------------- */

static tare_status fail_ids(const tare_llama_mapping *m, size_t tensor, const char *what,
                            tare_error *err) {
    return tare_fail_tensor(err, TARE_ERR_CORRUPT, &m->hf->catalog.tensors[tensor], tensor, what);
}

/* Adds to each id its place, as Hugging Face has differences; each is another token. */
static tare_status make_absolute(uint8_t *ids, const tare_llama_mapping *m, size_t tensor,
                                 uint64_t n_tokens, tare_error *err) {
    const uint64_t n = m->hf->catalog.tensors[tensor].n_elements;
    bool *is_taken = tare_alloc(m->out->allocator, (size_t)n_tokens);
    tare_status status = TARE_OK;
    if (!is_taken) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    memset(is_taken, 0, (size_t)n_tokens * sizeof *is_taken);
    for (uint64_t i = 0; i < n && status == TARE_OK; i++) {
        const uint64_t id = tare_load_le64(ids + 8 * i) + i;
        if (id >= n_tokens || is_taken[id]) {
            status = fail_ids(m, tensor,
                              id < n_tokens ? "two tokens of the draft are the same of the model"
                                            : "a token of the draft is none of the model",
                              err);
            tare_error_detail(err, "%llu", (unsigned long long)i);
            break;
        }
        is_taken[id] = true;
        tare_store_le64(ids + 8 * i, id);
    }
    tare_free(m->out->allocator, is_taken, (size_t)n_tokens);
    return status;
}

static tare_status add_ids(tare_llama_mapping *m, size_t tensor, uint64_t n_tokens,
                           tare_error *err) {
    const tare_tensor *t = &m->hf->catalog.tensors[tensor];
    tare_arena *arena = &m->out->arena;
    if (t->encoding->id != TARE_ENCODING_I64)
        return fail_ids(m, tensor, "expected numbers of the type i64", err);
    if (t->n_elements > n_tokens)
        return fail_ids(m, tensor, "it has more tokens than the model", err);
    uint8_t *ids = tare_arena_array(arena, (size_t)t->n_elements, 8);
    tare_llama_target *to = tare_llama_target_new(m, TARE_STR("d2t"), 0);
    if (!ids || !to) return tare_fail(err, TARE_ERR_NOMEM, "tokens");
    if (!m->is_rehearsal) {
        TARE_TRY(tare_tensor_read(ids, m->hf, tensor, 0, 0, (size_t)(8 * t->n_elements), err));
        TARE_TRY(make_absolute(ids, m, tensor, n_tokens, err));
    }
    m->is_read[tensor] = true;
    to->encoding = t->encoding;
    to->bytes = ids;
    to->size = 8 * t->n_elements;
    to->operation = "ids";
    to->n_dims = 1;
    to->dims[0] = t->n_elements;
    return tare_llama_target_add(m, to, err);
}

tare_status tare_llama_draft_ids(tare_llama_mapping *m, tare_error *err) {
    double n_tokens, n_own;
    TARE_TRY(tare_llama_number(&n_tokens, m, "vocab_size", 0, err));
    TARE_TRY(tare_llama_number(&n_own, m, "draft_vocab_size | vocab_size", 0, err));
    const int64_t tensor = tare_model_find_tensor(m->hf, TARE_STR("d2t"));
    if (!(n_tokens >= 1 && n_tokens < 0x1p31))
        return tare_fail(err, TARE_ERR_CORRUPT, "config.json: vocab_size: expected 1 to 2^31 - 1");
    if (tensor >= 0) return add_ids(m, (size_t)tensor, (uint64_t)n_tokens, err);
    return n_own < n_tokens
               ? tare_fail(err, TARE_ERR_CORRUPT,
                           "tensor \"d2t\", which says which tokens of the model the draft has, is "
                           "missing")
               : TARE_OK;
}

tare_status tare_llama_draft_heads(tare_llama_mapping *m, tare_error *err) {
    const bool is_there = tare_llama_has_target(m, TARE_STR("conf_proj.weight"));
    for (size_t i = 0; i < m->hf->n_left_out; i++)
        if (tare_str_is(m->hf->left_out[i].name, "mask_embedding.pt"))
            return tare_fail(err, TARE_ERR_UNSUPPORTED,
                             "mask_embedding.pt: tare does not put it into the embeddings");
    if (tare_llama_has_key(m, "sample_from_anchor"))
        TARE_TRY(tare_llama_set_number(m, "has_confidence_head", TARE_VALUE_BOOL, is_there, err));
    return tare_llama_draft_ids(m, err);
}
