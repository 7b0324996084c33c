/* SPDX-License-Identifier: MIT
 *
 * Ids of added tokens: an index of texts that grows. */
#include "llama/tokenizer/added_ids.h"

#include "model/names.h"

/* Room for `most` texts; the index is made anew. */
static tare_status grow(tare_llama_added_ids *a, size_t most, tare_error *err) {
    tare_str *texts = TARE_NEW_ARRAY(a->arena, tare_str, most);
    uint64_t *ids = TARE_NEW_ARRAY(a->arena, uint64_t, most);
    if (!texts || !ids) return tare_fail(err, TARE_ERR_NOMEM, "added tokens");
    TARE_TRY(tare_name_index_init(&a->index, a->arena, most, err));
    for (size_t i = 0; i < a->n; i++) {
        texts[i] = a->texts[i];
        ids[i] = a->ids[i];
        tare_name_index_add(&a->index, texts, sizeof *texts, i, NULL);
    }
    a->texts = texts;
    a->ids = ids;
    a->most = most;
    return TARE_OK;
}

static tare_status enter(tare_llama_added_ids *a, tare_str text, uint64_t id, tare_error *err) {
    if (a->n == a->most) TARE_TRY(grow(a, 2 * a->most, err));
    a->texts[a->n] = text;
    a->ids[a->n] = id;
    tare_name_index_add(&a->index, a->texts, sizeof *a->texts, a->n++, NULL);
    return TARE_OK;
}

tare_status tare_llama_added_ids_begin(tare_llama_added_ids *a, const tare_llama_vocab *vocab,
                                       tare_arena *arena, tare_error *err) {
    *a = (tare_llama_added_ids){.arena = arena};
    TARE_TRY(grow(a, vocab->n_tokens + 64, err));
    for (size_t id = 0; id < vocab->n_tokens; id++)
        if (vocab->tokens[id].text.ptr) TARE_TRY(enter(a, vocab->tokens[id].text, id, err));
    a->next = a->n;
    return TARE_OK;
}

int64_t tare_llama_added_ids_find(const tare_llama_added_ids *a, tare_str text) {
    const int64_t at = tare_name_index_find(&a->index, a->texts, sizeof *a->texts, text);
    return at < 0 ? -1 : (int64_t)a->ids[at];
}

void tare_llama_added_ids_expect(tare_llama_added_ids *a, const tare_llama_vocab *vocab,
                                 uint64_t n_new) {
    a->is_as_told = false;
    for (uint64_t i = 0; i < n_new && a->next + i < vocab->n_tokens; i++)
        a->is_as_told |= tare_llama_vocab_at(vocab, a->next + i) != NULL;
}

tare_status tare_llama_added_ids_give(uint64_t *id, tare_llama_added_ids *a, tare_str text,
                                      const tare_llama_vocab *vocab, uint64_t offset,
                                      tare_error *err) {
    if (!a->arena) return TARE_OK;
    const int64_t found = tare_llama_added_ids_find(a, text);
    if (found >= 0) {
        *id = (uint64_t)found;
        return TARE_OK;
    }
    if (!a->is_as_told && !tare_llama_vocab_at(vocab, a->next)) *id = a->next;
    if (tare_llama_vocab_at(vocab, *id))
        return tare_fail_at(err, TARE_ERR_CORRUPT, offset,
                            "an added token has the id of another token");
    if (*id >= a->next) a->next = *id + 1;
    return enter(a, text, *id, err);
}
