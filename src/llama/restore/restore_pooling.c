/* SPDX-License-Identifier: MIT
 *
 * How a model for embeddings makes one vector of those of all tokens, in the files of
 * sentence-transformers. */
#include "base/str.h"
#include "llama/restore/restore.h"

tare_status tare_llama_restore_pooling(tare_llama_restoring *r, tare_error *err) {
    static const char *const ways[] = {"mean_tokens", "cls_token", "lasttoken"};
    tare_llama_value type, width;
    tare_buffer b;
    TARE_TRY(tare_llama_formula(&type, TARE_STR("pooling_type"), &r->by_keys, NULL, err));
    TARE_TRY(tare_llama_formula(&width, TARE_STR("embedding_length"), &r->by_keys, NULL, err));
    if (type.kind != TARE_LLAMA_NUMBER || !(type.number >= 1 && type.number <= 3)) return TARE_OK;
    tare_buffer_init(&b, r->out->allocator);
    tare_buffer_put_text(&b, "[\n  {\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": "
                             "\"sentence_transformers.models.Transformer\"},\n"
                             "  {\"idx\": 1, \"name\": \"1\", \"path\": \"1_Pooling\", \"type\": "
                             "\"sentence_transformers.models.Pooling\"}\n]\n");
    TARE_TRY(tare_llama_add_file(r, "modules.json", &b, err));
    tare_buffer_init(&b, r->out->allocator);
    tare_buffer_printf(&b, "{\n  \"word_embedding_dimension\": %.0f",
                       width.kind == TARE_LLAMA_NUMBER ? width.number : 0);
    for (size_t i = 0; i < 3; i++)
        tare_buffer_printf(&b, ",\n  \"pooling_mode_%s\": %s", ways[i],
                           type.number == (double)(i + 1) ? "true" : "false");
    tare_buffer_put_text(&b, "\n}\n");
    return tare_llama_add_file(r, "1_Pooling/config.json", &b, err);
}
