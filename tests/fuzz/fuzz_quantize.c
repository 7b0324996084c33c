/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: a mix over any model. Whatever names, shapes and keys say, a plan is made or refused
 * with words; what it writes opens again and has the types that the plan says. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "open_input.h"
#include "support/memory_source.h"

#define MOST_ELEMENTS (1 << 16) /* the IQ formats take microseconds each */
#define LARGEST       (1 << 24)

/* The mix, and how it is applied, follow from the input. */
static tare_mix_options choose(const uint8_t *data, size_t size) {
    tare_mix_options mix = tare_mix_options_default();
    size_t n_mixes = 0;
    unsigned sum = 0;
    while (tare_mix_at(n_mixes)) n_mixes++;
    for (size_t i = 0; i < size; i++) sum = sum * 31 + data[i];
    mix.mix = tare_mix_at(sum % n_mixes);
    mix.is_pure = sum & 1 << 16;
    mix.leave_output = sum & 1 << 17;
    mix.allow_requantize = sum & 1 << 18;
    if (sum & 1 << 19) mix.embedding = tare_encoding_get(TARE_ENCODING_Q8_0);
    return mix;
}

static void ignore_error(void *ctx, size_t i, const tare_tensor_error *error) {
    (void)i;
    *(bool *)ctx |= error->relative_rmse < 0 || error->max_abs < 0;
}

static void check_types(const tare_plan *plan, const uint8_t *bytes, size_t size) {
    const tare_source source = memory_source(bytes, size);
    tare_model *m;
    tare_error err;
    const tare_plan_tensor *t;
    FUZZ_CHECK(tare_model_open(&m, &source, NULL, &err) == TARE_OK);
    for (size_t i = 0; (t = tare_plan_tensor_at(plan, i)) != NULL; i++)
        if (t->action == TARE_ACTION_ENCODE) FUZZ_CHECK(tare_model_tensor(m, i)->encoding == t->to);
    tare_model_free(m);
}

static void write_and_check(const tare_plan *plan) {
    tare_error err;
    int fd = memfd_create("tare-quantize", 0);
    FUZZ_CHECK(fd >= 0);
    FUZZ_CHECK(tare_plan_run_fd(NULL, plan, fd, &err) == TARE_OK);
    size_t size = (size_t)lseek(fd, 0, SEEK_END);
    uint8_t *bytes = malloc(size ? size : 1);
    FUZZ_CHECK(bytes != NULL);
    FUZZ_CHECK(pread(fd, bytes, size, 0) == (ssize_t)size);
    close(fd);
    check_types(plan, bytes, size);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tare_model *m = fuzz_open(data, size, NULL);
    if (m == NULL) return 0;
    if (fuzz_is_damaged(m, data, size)) {
        tare_model_free(m);
        return 0;
    }
    const tare_mix_options mix = choose(data, size);
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_model_summary model;
    tare_plan_summary out;
    tare_plan *plan;
    tare_error err;
    bool is_odd = false;
    options.to = "gguf";
    context.threads = 1;
    options.opaque = true;
    options.mix = &mix;
    options.measured = ignore_error;
    options.measured_ctx = &is_odd;
    model = *tare_model_summarize(m);
    tare_status status = tare_plan_new(&plan, NULL, m, &options, &err);
    if (status == TARE_OK) {
        out = *tare_plan_summarize(plan);
        if (model.n_parameters <= MOST_ELEMENTS && out.write_bytes <= LARGEST)
            write_and_check(plan);
        FUZZ_CHECK(!is_odd);
    } else {
        fuzz_check_error(status, &err);
    }
    tare_plan_free(plan);
    tare_model_free(m);
    return 0;
}
