/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: memory that runs out. The input is opened, walked and converted with an allocator
 * whose k-th allocation fails, for each k until everything succeeds: the status is NOMEM or what
 * it is with memory enough, and nothing is left allocated. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "open_input.h"
#include "support/memory_source.h"

#define MAX_FAILURES 400 /* allocations of one input that are let fail, one after the other */

typedef struct scarce {
    long until_failure; /* allocations that still succeed; negative: all */
    bool has_failed;
    size_t in_use;
} scarce;

static bool fails(scarce *s) {
    if (s->until_failure < 0) return false;
    if (s->until_failure-- > 0) return false;
    s->until_failure = -1;
    return s->has_failed = true;
}

static void *scarce_alloc(void *ctx, size_t size) {
    scarce *s = ctx;
    FUZZ_CHECK(size > 0);
    if (fails(s)) return NULL;
    s->in_use += size;
    return malloc(size);
}

static void *scarce_resize(void *ctx, void *old, size_t old_size, size_t size) {
    scarce *s = ctx;
    if (fails(s)) return NULL;
    s->in_use += size - old_size;
    return realloc(old, size);
}

static void scarce_free(void *ctx, void *p, size_t size) {
    scarce *s = ctx;
    if (p != NULL) s->in_use -= size;
    free(p);
}

static tare_status convert(const tare_model *m, const tare_allocator *allocator) {
    const tare_model_summary *summary = tare_model_summarize(m);
    if (summary->is_truncated) return TARE_OK;
    tare_convert_options options = tare_convert_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    options.to = summary->format[0] == 'g' ? "safetensors" : "gguf";
    context.threads = 1;
    options.opaque = true;
    context.allocator = allocator;
    tare_plan *plan;
    tare_status status = tare_plan_new(&plan, NULL, m, &options, NULL);
    if (status != TARE_OK) return status;
    int fd = memfd_create("tare-oom", 0);
    FUZZ_CHECK(fd >= 0);
    status = tare_plan_run_fd(NULL, plan, fd, NULL);
    close(fd);
    tare_plan_free(plan);
    return status;
}

static tare_status attempt(const uint8_t *data, size_t size, scarce *memory) {
    const tare_allocator allocator = {memory, scarce_alloc, scarce_resize, scarce_free};
    const tare_limits limits = fuzz_limits();
    const tare_source source = memory_source(data, size);
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    context.allocator = &allocator;
    context.limits = &limits;
    tare_model *m;
    tare_error err;
    tare_status status = tare_model_open(&m, &source, &options, &err);
    if (status == TARE_OK) {
        status = convert(m, &allocator);
        tare_model_free(m);
    } else {
        fuzz_check_error(status, &err);
    }
    FUZZ_CHECK(memory->in_use == 0);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    scarce enough = {-1, false, 0};
    if (size > 8192) return 0; /* time grows with the square */
    const tare_status expected = attempt(data, size, &enough);
    for (long k = 0; k < MAX_FAILURES; k++) {
        scarce memory = {k, false, 0};
        tare_status status = attempt(data, size, &memory);
        FUZZ_CHECK(status == expected || status == TARE_ERR_NOMEM);
        FUZZ_CHECK(memory.has_failed || status == expected);
        if (!memory.has_failed) break;
    }
    return 0;
}
