/* SPDX-License-Identifier: MIT
 *
 * Tokens that end a text besides EOS. generation_config.json may list several, or name one other than
 * the tokenizer's, and so does config.json where there is no such file; llama.cpp finds the usual ones by their text, and has keys for two more. */
#include "base/str.h"
#include "llama/tensor_names.h"
#include "llama/tokenizer/specials.h"

/* What llama.cpp takes for the end of a text wherever the vocabulary has it. */
static const char found_by_text[] =
    "<|eot_id|> <|im_end|> <|end|> <|return|> <|call|> <|flush|> <|calls|> <end_of_turn> "
    "<|endoftext|> <|eom_id|> <EOT> _<EOT> [EOT] [EOS] <|end_of_text|> <end_of_utterance> <eos>";

static bool is_end(const tare_llama_tokenizer *t, uint64_t id) {
    if (!tare_llama_has_id(t, TARE_LLAMA_EOS)) return false;
    for (size_t i = 0; i < t->n_ids; i++)
        if (t->ids[i].id == id &&
            (t->ids[i].special == TARE_LLAMA_EOS || t->ids[i].special == TARE_LLAMA_EOT ||
             t->ids[i].special == TARE_LLAMA_EOM))
            return true;
    return tare_llama_is_one_of(t->vocab.tokens[id].text, found_by_text);
}

/* The first end is EOS. */
static void offer_end(tare_llama_tokenizer *t, const tare_llama_file *file,
                      const tare_json_value *v) {
    uint64_t id;
    if (!tare_json_u64(v, &id)) {
        tare_llama_note_no_id(t, file, "eos", v);
        return;
    }
    if (id >= t->vocab.n_tokens) {
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.special-id", file->name,
                        "eos_token_id %llu is left out: the vocabulary has %zu tokens",
                        (unsigned long long)id, t->vocab.n_tokens);
        return;
    }
    if (is_end(t, id)) return;
    if (!tare_llama_has_id(t, TARE_LLAMA_EOS))
        tare_llama_set_id(t, TARE_LLAMA_EOS, (uint32_t)id, false);
    else if (!tare_llama_has_id(t, TARE_LLAMA_EOT))
        tare_llama_set_id(t, TARE_LLAMA_EOT, (uint32_t)id, false);
    else if (!tare_llama_has_id(t, TARE_LLAMA_EOM))
        tare_llama_set_id(t, TARE_LLAMA_EOM, (uint32_t)id, false);
    else
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.end-left-out", file->name,
                        "eos_token_id %llu is left out: llama.cpp has keys for three ends",
                        (unsigned long long)id);
}

/* A list of config.json; a single number there is often that of a class. */
static tare_status read_config(tare_llama_file *file, tare_json_value *ends,
                               tare_llama_tokenizer *t, tare_error *err) {
    TARE_TRY(tare_llama_file_read_json(file, t, "config.json", err));
    const tare_json_value text = tare_json_span_member(&file->root, "text_config");
    *ends = tare_json_span_member(&file->root, "eos_token_id");
    if (ends->type != TARE_JSON_ARRAY && text.type == TARE_JSON_OBJECT)
        *ends = tare_json_span_member(&text, "eos_token_id");
    if (ends->type != TARE_JSON_ARRAY) ends->type = TARE_JSON_END;
    return TARE_OK;
}

tare_status tare_llama_find_ends(tare_llama_tokenizer *t, tare_error *err) {
    tare_llama_file file;
    tare_json j;
    TARE_TRY(tare_llama_file_read_json(&file, t, "generation_config.json", err));
    tare_json_value v = tare_json_span_member(&file.root, "eos_token_id"), item;
    if (!file.text.ptr) TARE_TRY(read_config(&file, &v, t, err));
    if (v.type != TARE_JSON_ARRAY) {
        offer_end(t, &file, &v);
        return TARE_OK;
    }
    tare_json_span_array(&j, &v);
    while (tare_json_span_next(&j, &item) != TARE_JSON_END) offer_end(t, &file, &item);
    return TARE_OK;
}
