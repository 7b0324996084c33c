/* SPDX-License-Identifier: MIT
 *
 * The parts of tare report: the facts as one document, and the page that shows them. */
#ifndef TARE_CLI_REPORT_DOCUMENT_H
#define TARE_CLI_REPORT_DOCUMENT_H

#include "cli.h"

/* What a report is about. */
typedef struct report_input {
    const tare_model *model;
    const char *path;
    const tare_report *findings; /* of opening the model */
    const tare_model *base;      /* what it is compared with; NULL: nothing */
    const tare_model *given;     /* the same before its tensors got the model's names */
    const char *base_path;
    bool is_directory; /* no values are read */
} report_input;

/* Parts of the range from the least to the largest value of a tensor. */
#define REPORT_COLUMNS 64

/* What reading a tensor's values revealed. */
typedef struct report_values {
    tare_tensor_stats stats; /* its histogram stays empty */
    uint64_t columns[REPORT_COLUMNS];
} report_values;

/* Facts about a tensor beyond what the directory says. */
typedef struct report_tensor {
    const report_values *values;      /* NULL: not read */
    const tare_diff_item *difference; /* NULL: none, or there is no base */
    int64_t in_base;                  /* -1: not there */
} report_tensor;

/* What the document of --json, which the page shows, has of one model. The values of the tensors are
 * read, and those of the base. NULL: *code is an exit code, and it was said why. */
tare_json_node *report_document(const report_input *in, int *code);

/* Add their facts to a document. */
void report_add_tensors(tare_json_node *document, const report_input *in,
                        const report_tensor *tensors);
void report_add_base(tare_json_node *document, const report_input *in, const tare_diff *diff);
void report_add_tokenizer(tare_json_node *document, const tare_model *model);
void report_add_metadata(tare_json_node *document, const tare_model *model);

/* The page about a document, in memory to be freed; *n: its bytes. */
char *report_page(tare_json_node *document, size_t *n);

/* The parts of the page before and after the document: strings to be concatenated, up to NULL. Made
 * of cli/report/ by scripts/report-page.py. */
extern const char *const report_page_head[], *const report_page_tail[];

#endif
