/* SPDX-License-Identifier: MIT
 *
 * What the tests of the MCF writer share: a catalog laid out in memory, by the writer alone, and
 * its sections. For cmocka tests, which include cmocka.h before this. */
#ifndef TESTS_UNIT_MCF_OUTPUT_H
#define TESTS_UNIT_MCF_OUTPUT_H

#include "base/bytes.h"
#include "format/mcf/mcf.h"
#include "support/memory_source.h"
#include "unit/convert_help.h"
#include "unit/plan_bytes.h"

typedef struct output {
    tare_arena arena;
    tare_write_plan plan;
    tare_error err;
    tare_status status;
    uint8_t *bytes; /* NULL: planned only */
    size_t size;
} output;

static inline output plan_same(const tare_model *m, const tare_catalog *c, uint32_t alignment,
                               const size_t *same_as) {
    tare_write_options options = {
        .source = m, .limits = &m->limits, .alignment = alignment, .extras = {.same_as = same_as}};
    output o = {.err = TARE_ERROR_NONE};
    tare_arena_init(&o.arena, NULL);
    o.plan.arena = &o.arena; /* for the call: the caller's copy moves */
    o.status = tare_format_mcf.write.plan(&o.plan, c, &options, &o.err);
    return o;
}

static inline output plan_catalog(const tare_model *m, const tare_catalog *c, uint32_t alignment) {
    return plan_same(m, c, alignment, NULL);
}

/* With the tensors of the same bytes stored once; same_as NULL: all of them. */
static inline output write_same(const tare_model *m, uint32_t alignment, const size_t *same_as) {
    output o = plan_same(m, &m->catalog, alignment, same_as);
    if (o.status != TARE_OK) fail_msg("%s", o.err.what);
    assert_int_equal(o.plan.n_files, 1);
    o.size = (size_t)o.plan.files[0].size;
    o.bytes = plan_bytes(&o.plan, m, 0);
    assert_non_null(o.bytes);
    return o;
}

static inline output write_model(const tare_model *m, uint32_t alignment) {
    return write_same(m, alignment, NULL);
}

static inline void free_output(output *o) {
    tare_arena_free(&o->arena);
    free(o->bytes);
}

static inline tare_model *open_output(const output *o, tare_report *report) {
    tare_source source = memory_source(o->bytes, o->size);
    tare_open_options options = tare_open_options_default();
    tare_context context = tare_context_default();
    options.context = &context;
    tare_model *m;
    tare_error err;
    context.report = report;
    if (tare_model_open(&m, &source, &options, &err) != TARE_OK) fail_msg("%s", err.what);
    return m;
}

typedef struct section {
    uint32_t version;
    uint64_t offset, size;
    uint64_t at; /* its record; 0: there is none */
} section;

static inline section find_section(const output *o, uint32_t type) {
    uint32_t n = tare_load_le32(o->bytes + 12);
    uint64_t at = tare_load_le64(o->bytes + 16);
    for (uint32_t i = 0; i < n; i++, at += 24) {
        const uint8_t *r = o->bytes + at;
        if (tare_load_le32(r) == type)
            return (section){tare_load_le32(r + 4), tare_load_le64(r + 8), tare_load_le64(r + 16),
                             at};
    }
    return (section){.at = 0};
}

static inline tare_resource_entry resource(const char *name, const char *text) {
    return (tare_resource_entry){.info = {tare_str_of(name), strlen(text)},
                                 .bytes = (const uint8_t *)text};
}

#endif
