/* SPDX-License-Identifier: MIT
 *
 * Sets of adapters: getters, and the shapes of a pair. */
#include "model/adapter_set.h"

#include "base/str.h"
#include "model/lora_dialect.h"
#include "model/peft.h"

void tare_adapters_free(tare_adapter_set *set) {
    if (set) tare_model_free(set->owned);
}

size_t tare_adapters_count(const tare_adapter_set *set) {
    return set ? set->n : 0;
}

const tare_adapter *tare_adapters_at(const tare_adapter_set *set, size_t i) {
    return set && i < set->n ? &set->adapters[i] : NULL;
}

const tare_model *tare_adapter_factors(size_t *a, size_t *b, const tare_adapter_set *set,
                                       size_t i) {
    const tare_adapter *adapter = tare_adapters_at(set, i);
    if (!adapter) return NULL;
    *a = tare_adapter_factor(set, adapter->a);
    *b = adapter->b ? tare_adapter_factor(set, adapter->b) : SIZE_MAX;
    return set->factors;
}

const tare_adapter_set *tare_model_adapters(const tare_model *model) {
    return model ? model->adapters : NULL;
}

tare_str tare_model_adapter_dialect(const tare_model *model) {
    if (!model) return (tare_str){"", 0};
    if (tare_lora_is_llama_cpp(model)) return TARE_STR("llama.cpp");
    const tare_lora_dialect *dialect = tare_lora_dialect_of(model);
    const int64_t config = tare_model_find_resource(model, TARE_STR(TARE_PEFT_CONFIG));
    if (tare_model_is_peft(model) && (!dialect || config >= 0)) return TARE_STR("PEFT");
    const tare_str method = tare_lora_method(model);
    return method.len || !dialect ? method : tare_str_of(dialect->name);
}

bool tare_adapter_is_used(const tare_adapter_use *use, const tare_adapter *adapter) {
    const tare_str name = adapter->name, part = use->name;
    if (part.len == 0 || tare_str_equal(name, part)) return true;
    return tare_str_starts(name, part) && name.ptr[part.len] == '.';
}

tare_status tare_adapter_measure(tare_adapter *adapter, tare_error *err) {
    const tare_tensor *a = adapter->a, *b = adapter->b;
    adapter->rows = adapter->is_transposed ? a->cols : a->n_rows;
    adapter->cols = adapter->is_transposed ? b->n_rows : b->cols;
    adapter->rank = adapter->is_transposed ? a->n_rows : a->cols;
    const uint64_t rank = adapter->is_transposed ? b->cols : b->n_rows;
    if (adapter->rank != rank)
        return tare_fail(err, TARE_ERR_CORRUPT, "the factors have different ranks");
    if (rank == 0 || adapter->rows == 0 || adapter->cols == 0)
        return tare_fail(err, TARE_ERR_CORRUPT, "a factor without elements");
    return TARE_OK;
}

tare_status tare_adapter_fault(const tare_adapter_set *set, const tare_adapter *adapter,
                               tare_status status, tare_error *err) {
    tare_error_item(err, TARE_ITEM_ADAPTER, adapter - set->adapters, adapter->name);
    tare_error_file(err, set->path);
    return status;
}
