/* SPDX-License-Identifier: MIT
 *
 * What an edit does not do without being told to. Some keys describe the layout of the file: an
 * edit never changes these. Others describe the tensors, or list the vocabulary: if they are
 * changed, a program that loads the model stops or computes nonsense, so such a change has to be
 * forced. docs/edit.md has the table. */
#include <string.h>

#include "base/str.h"
#include "ops/edit/edit_state.h"

/* Keys under the architecture's prefix that repeat what the shapes of the tensors say. */
static const char *const shapes[] = {
    "block_count",
    "embedding_length",
    "feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "vocab_size",
    "attention.value_length",
    "expert_count",
    "attention.q_lora_rank",
    "attention.kv_lora_rank",
    "attention.key_length_mla",
    "attention.value_length_mla",
    "expert_feed_forward_length",
    "ssm.conv_kernel",
    "ssm.inner_size",
    "ssm.state_size",
    "ssm.time_step_rank",
};

static bool is_shape(tare_str architecture, tare_str key) {
    if (!architecture.len || !tare_str_starts(key, architecture)) return false;
    const tare_str rest = tare_str_cut(key, architecture.len);
    for (size_t i = 0; rest.len && rest.ptr[0] == '.' && i < sizeof shapes / sizeof *shapes; i++)
        if (tare_str_is(tare_str_cut(rest, 1), shapes[i])) return true;
    return false;
}

/* Keys that describe the file: an edit does not change what they describe. */
static bool is_of_file(tare_str key) {
    return tare_str_is(key, "general.alignment") || tare_str_is(key, "split.no") ||
           tare_str_is(key, "split.count") || tare_str_is(key, "split.tensors.count") ||
           tare_str_starts(key, TARE_STR("tare."));
}

static bool is_vocabulary(const tare_metadata *m) {
    return tare_str_starts(m->key, TARE_STR("tokenizer.ggml.")) &&
           (m->value.type == TARE_VALUE_ARRAY || tare_str_is(m->key, "tokenizer.ggml.model"));
}

static bool is_token_number(tare_str key) {
    return tare_str_starts(key, TARE_STR("tokenizer.ggml.")) &&
           tare_str_ends(key, TARE_STR("_token_id"));
}

/* Keys that programs look for, and in one type only. */
static bool is_read_by_programs(const tare_model *model, tare_str key) {
    const tare_str architecture = tare_model_architecture(model);
    const bool is_of_architecture = architecture.len && tare_str_starts(key, architecture) &&
                                    key.len > architecture.len && key.ptr[architecture.len] == '.';
    return is_of_architecture || tare_str_starts(key, TARE_STR("tokenizer."));
}

/* Why a change of a key is refused; NULL: it is not. */
static const char *why_not(const tare_edit *e, const tare_metadata *m, const tare_metadata *now) {
    const tare_model *model = e->parts[0].model;
    uint64_t number, n_tokens;
    if (tare_str_is(m->key, "general.architecture"))
        return "the architecture decides which keys and tensors a program looks for";
    if (is_shape(tare_model_architecture(model), m->key))
        return "the key must agree with the shapes of the tensors";
    if (is_vocabulary(m)) return "the vocabulary belongs to the tensors";
    if (now && m->value.type != now->value.type && is_read_by_programs(model, m->key))
        return "programs that load the model expect the type that the key has";
    if (now && is_token_number(now->key) && tare_value_u64(&number, &now->value) &&
        tare_model_param(&n_tokens, model, TARE_PARAM_VOCAB_SIZE) && number >= n_tokens)
        return "the vocabulary has no token of this number";
    return NULL;
}

static tare_status refuse(tare_error *err, const char *what, tare_str key, bool is_final) {
    tare_fail(err, TARE_ERR_ARG, what);
    if (!is_final) tare_error_code(err, TARE_CODE_EDIT_REFUSED);
    tare_error_item(err, TARE_ITEM_KEY, -1, key);
    return TARE_ERR_ARG;
}

/* A set that states its number of tensors has it updated when some are dropped. */
static bool is_recounted(const tare_edit *e, const tare_metadata *m) {
    return e->n_parts > 1 && tare_str_is(m->key, "split.tensors.count");
}

static bool is_asked_for(const tare_edit *e, tare_str key) {
    for (size_t i = 0; i < e->n_steps; i++)
        if (e->steps[i].kind == TARE_EDIT_SET_KEY && tare_str_equal(e->steps[i].name, key))
            return true;
    return false;
}

tare_status tare_edit_guard(const tare_edit *e, tare_error *err) {
    for (size_t i = 0; i < e->summary.n_changes; i++) {
        const tare_edit_change *c = &e->changes[i];
        const tare_metadata *both[] = {c->old_key, c->new_key};
        if (c->kind != TARE_ITEM_KEY) continue;
        for (size_t k = 0; k < 2; k++) {
            const tare_metadata *m = both[k];
            if (!m || m->space != TARE_KEYS_MODEL) continue;
            if (is_of_file(m->key) && !(is_recounted(e, m) && !is_asked_for(e, m->key)))
                return refuse(err,
                              "the key describes the file's layout, which edit does not change",
                              m->key, true);
            const char *why = e->options.output->force ? NULL : why_not(e, m, c->new_key);
            if (why) return refuse(err, why, m->key, false);
        }
    }
    return TARE_OK;
}
