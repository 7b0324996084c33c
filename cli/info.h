/* SPDX-License-Identifier: MIT
 *
 * The parts of tare info: the one screen as text and as JSON. */
#ifndef TARE_CLI_INFO_H
#define TARE_CLI_INFO_H

#include "cli.h"

typedef struct info_share {
    const tare_encoding *encoding;
    uint64_t n_tensors, n_elements, n_bytes;
} info_share;

typedef struct info_param {
    tare_param param;
    const char *name, *json_name;
} info_param;

extern const info_param info_params[];
extern const size_t info_n_params;

/* The types of the tensors, most bytes first, into shares[TARE_ENCODING_COUNT]; returns how many.
 */
size_t info_count_types(info_share *shares, const tare_model *model);
/* Whether data of the tensor lies beyond the end of its file. */
bool info_is_cut_short(const tare_model *model, const tare_tensor *tensor);

/* Elements of the tensor that are stored individually in addition to its codes; false: its type has
 * none. */
bool info_outliers(const tare_tensor *tensor, uint64_t *n);
/* The same of all tensors, and how many of them have some. */
bool info_count_outliers(const tare_model *model, uint64_t *n, uint64_t *n_tensors);

/* Where what follows a label begins. */
enum { INFO_LABEL_COLUMN = 16 };
/* Begins a line of the screen; an empty name goes on with the line before. */
void info_label(const char *name);
/* Whether llama.cpp runs a model of a GGUF file, or one that was packed; why->status OK where it is none. */
bool info_llama(tare_error *why, const tare_model *model);
/* Whether it is a Hugging Face model of an architecture that tare convert knows; why->status then says
 * whether it converts, which takes its side files, and is not found out about a model on a server. */
bool info_converts(tare_error *why, const tare_model *model);
/* Where it cannot be told because a file cannot be read: says so; an exit code. */
int info_fault(const char *path);
/* The type of projector of an mmproj file; empty: it is none. */
tare_str info_projector(const tare_model *model);
void info_llama_text(char *buf, size_t size, const tare_error *why);
/* One entry of a list that goes over several lines, each with whole entries; *column is where the
 * line stands, 0 before the first entry. */
void info_put_entry(size_t *column, const char *name, const char *entry);
/* The model's adapters: some on the screen, all as a table, in a document; nothing where it has
 * none. */
bool info_is_loaded_adapter(const tare_model *model); /* it is one, for llama.cpp */
void info_print_adapters(const tare_model *model, const char *path);
void info_list_adapters(const tare_model *model);
void info_json_adapters(tare_json_node *document, const tare_model *model);

/* The container that the model lies packed in, and its bases; nothing where it does not. */
void info_print_container(const tare_model *model);
void info_print_files(const tare_model *model);
void info_json_container(tare_json_node *document, const tare_model *model);
bool info_is_packed(const tare_model *model);
/* Two cells of a table: the bytes that the tensor has packed, and their share of its own. */
void info_put_packed(cli_table *table, const tare_model *model, size_t tensor);

/* How the chosen tensors are stored in a .wcodec: streams, their heads and segments. Returns an
 * exit code. */
int info_print_layers(const tare_model *model, const size_t *chosen, size_t n, const char *path);
/* The same of one tensor; nothing where it has no layer of its own. */
int info_json_layer(tare_json_node *entry, const tare_model *model, size_t tensor,
                    const char *path);

/* The name of the mix of types; nothing where the metadata do not tell. */
void info_print_mix(const tare_model *model);
/* What matters for running the model: tokenizer, memory for `context` tokens (0: what the model was
 * trained for), the name of the file. */
void info_print_use(const tare_model *model, const char *path, uint64_t context);
void info_json_use(tare_json_node *document, const tare_model *model, const char *path,
                   uint64_t context);

/* The statistics of the values of n tensors, reading their data: one for each tensor of the model,
 * those not chosen empty; owned by the caller. *code: 0, or an exit code after saying why. */
tare_tensor_stats *info_read_stats(const tare_model *model, const size_t *chosen, size_t n,
                                   int *code, const char *path);
/* An exit code after saying why the first of them has none, though its type has numbers: parts of a
 * packed weight do not tell them. */
int info_fail_unmeasured(const tare_model *model, const tare_tensor_stats *stats,
                         const size_t *chosen, size_t n, const char *path);
/* The headings of a table, and the seven cells for them. */
#define INFO_STATS_HEADINGS ">MIN|>MAX|>MEAN|>STD DEV|>ZEROS|>NAN/INF|HISTOGRAM"
void info_add_stats(cli_table *table, const tare_tensor_stats *stats);
tare_json_node *info_json_stats(const tare_tensor_stats *stats);

/* Prints the value of a metadata key as it is, or the bytes of a resource; an exit code. Elements
 * of an array get a line each. */
int info_print_raw(const tare_model *model, const char *path, const char *key);

/* The key or resource that a mistyped word may have meant, escaped and owned by the caller; NULL:
 * none is close. */
char *info_guess_key(const tare_model *model, const char *word);

void info_print_screen(const tare_model *model, const char *path, uint64_t context,
                       const tare_report *report);
/* Adds the same facts to a document. */
void info_json_screen(tare_json_node *document, const tare_model *model, const char *path,
                      uint64_t context, const tare_report *report);

#endif
