/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a PEFT adapter. The input is u16 (little-endian) size of adapter_config.json, its
 * text; the rest is adapter_model.safetensors. It is refused with a place, or has pairs of factors
 * whose shapes fit and whose scales are numbers. */
#include <math.h>

#include <tare/experimental/adapter.h>

#include "open_input.h"
#include "scratch.h"

static void check_pair(const tare_adapter *p) {
    FUZZ_CHECK(p->a && isfinite(p->scale));
    if (p->kind != TARE_ADAPTER_PAIR) return;
    FUZZ_CHECK(p->b);
    FUZZ_CHECK(p->a->n_dims == 2 && p->b->n_dims == 2);
    FUZZ_CHECK(p->a->n_elements == p->rows * p->rank);
    FUZZ_CHECK(p->b->n_elements == p->rank * p->cols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const tare_limits limits = fuzz_limits();
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_adapter_set *set;
    tare_error err;
    if (size < 2) return 0;
    size_t n = (size_t)(data[0] | data[1] << 8);
    if (n > size - 2) n = size - 2;
    scratch_clear();
    scratch_write("adapter_config.json", data + 2, n);
    scratch_write("adapter_model.safetensors", data + 2 + n, size - 2 - n);
    context.limits = &limits;
    tare_status status = tare_adapters_open_path(&set, scratch_folder(), &options, &err);
    if (status != TARE_OK) {
        fuzz_check_error(status, &err);
        return 0;
    }
    for (size_t i = 0; i < tare_adapters_count(set); i++) check_pair(tare_adapters_at(set, i));
    FUZZ_CHECK(tare_adapters_at(set, tare_adapters_count(set)) == NULL);
    tare_adapters_free(set);
    return 0;
}
