/* SPDX-License-Identifier: MIT
 *
 * The expectation of one case of the corpus, read from NAME.expect (its form stands in
 * casebook.py). */
#ifndef TARE_GOLDEN_EXPECT_H
#define TARE_GOLDEN_EXPECT_H

#include <tare/tare.h>

#define EXPECT_MAX 16 /* findings, summary fields or reads of one case */

typedef struct expect_item {
    tare_item_kind kind;
    int64_t index;
} expect_item;

typedef struct expect_finding {
    tare_level level;
    char code[64];
    bool has_offset; /* false for findings of tare_verify_data: not compared */
    uint64_t offset;
    expect_item item;
} expect_finding;

typedef struct expect_field {
    char name[32];
    char value[64];
} expect_field;

typedef struct expect_read {
    size_t tensor;
    tare_status status;
} expect_read;

typedef struct expectation {
    char open[512];
    bool one_shard;
    bool is_importance; /* opened as an importance matrix, not as a model */
    tare_status status;
    uint64_t offset; /* TARE_NO_OFFSET: none */
    expect_item item;
    char file[128];
    char what[128];
    expect_finding findings[EXPECT_MAX], deep[EXPECT_MAX];
    size_t n_findings, n_deep;
    expect_field fields[EXPECT_MAX];
    size_t n_fields;
    expect_read reads[EXPECT_MAX];
    size_t n_reads;
} expectation;

/* Reads a file; false, after a message, where it is missing or has a line that is none. */
bool expect_load(expectation *out, const char *path);

const char *expect_item_text(tare_item_kind kind);
const char *expect_level_text(tare_level level);

#endif
