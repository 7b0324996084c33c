/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: the journal of an edit, as a stranger may leave it beside a model. The input is all
 * but its digest. What is accepted names files of the directory only, and writes inside of them. */
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "fuzz_check.h"
#include "ops/edit/edit_journal.h"

static void check_name(const char *name) {
    FUZZ_CHECK(*name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
}

static void check(const tare_edit_journal *j) {
    FUZZ_CHECK(j->n_ops > 0);
    for (size_t i = 0; i < j->n_ops; i++) {
        const tare_edit_op *op = &j->ops[i];
        check_name(op->name);
        if (op->temporary) check_name(op->temporary);
        for (size_t k = 0; k < op->n_runs; k++)
            FUZZ_CHECK(op->runs[k].size <= op->new_size &&
                       op->runs[k].offset <= op->new_size - op->runs[k].size);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t digest[32];
    tare_sha256 h;
    tare_buffer b;
    tare_arena arena;
    tare_edit_journal j;
    tare_error err = {0};
    tare_sha256_init(&h);
    tare_sha256_update(&h, data, size);
    tare_sha256_final(&h, digest);
    tare_buffer_init(&b, NULL);
    tare_arena_init(&arena, NULL);
    tare_buffer_put(&b, data, size);
    tare_buffer_put(&b, digest, sizeof digest);
    if (!b.failed && tare_edit_journal_parse(&j, b.data, b.size, &arena, &err) == TARE_OK)
        check(&j);
    else
        FUZZ_CHECK(b.failed || err.what);
    tare_arena_free(&arena);
    tare_buffer_free(&b);
    return 0;
}
