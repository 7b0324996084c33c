/* SPDX-License-Identifier: MIT
 *
 * A restoration in progress: what its parts share. */
#ifndef TARE_LLAMA_RESTORE_H
#define TARE_LLAMA_RESTORE_H

#include "base/buffer.h"
#include "llama/mapping.h"

/* A tensor that the restored model is to have. */
typedef struct tare_llama_expected {
    tare_str name;
    uint32_t n_dims;
    uint64_t dims[TARE_LLAMA_DIMS];
    bool is_number; /* of a key of the file, not of a tensor */
    float number;
} tare_llama_expected;

typedef struct tare_llama_restoring {
    const tare_model *gguf;
    tare_model *out; /* memory is its arena */
    const tare_llama_restore_options *options;
    const tare_llama_arch *arch;
    tare_str text_architecture; /* of the text model beside a tower; empty: there is none */
    const tare_encoding *usual; /* of matrices */
    tare_json_node *keys;
    tare_llama_config by_keys; /* formulas over the keys */
    tare_llama_config config;  /* formulas over the restored config.json */
    tare_llama_binding facts[5];
    tare_llama_names names;
    tare_llama_expected *expected;
    size_t n_expected, expected_capacity;
    tare_origin *origins;      /* n_expected: of those that are computed */
    tare_same_rows *same_rows; /* n_expected */
    bool *is_f32;              /* n_expected: made of F32 tensors of the file alone */
    bool *is_rounded;          /* n_expected: computed, and so but for the last bits what it was */
    tare_resource_entry *files;
    size_t n_files, files_capacity;
} tare_llama_restoring;

/* ---- what the file says (restore_keys.c) ------------------------------------------------------------- */

/* Whether a value is one *number, or a list of equal ones. */
bool tare_llama_is_uniform(tare_value *number, const tare_value *value);
/* The keys of the architecture and the tokenizer's as a tree, the architecture's name cut off, and
 * "tensors": of each tensor, blocks counted as one, `rows`, `cols`, how many `blocks` have it, and
 * `in_blocks` which ones they are. */
tare_status tare_llama_keys_tree(tare_json_node **out, const tare_model *gguf,
                                 tare_str architecture, tare_arena *arena, tare_error *err);
/* A key of the file; NULL: it has none such. */
const tare_value *tare_llama_key_of(const tare_model *gguf, const char *key);

/* ---- what is made ---------------------------------------------------------------------------- */

/* A side file; the bytes become the model's, the buffer is freed. */
tare_status tare_llama_add_file(tare_llama_restoring *r, const char *name, tare_buffer *text,
                                tare_error *err);
/* config.json (restore_config.c) and generation_config.json (restore_generation.c). */
tare_status tare_llama_restore_config(tare_llama_restoring *r, tare_error *err);
tare_status tare_llama_restore_generation(tare_llama_restoring *r, tare_error *err);
/* Settings of rotary positions that are tensors in the file: a JSON text for rope_scaling; ptr NULL:
 * there are none, or none of a known kind (restore_rope.c). */
tare_status tare_llama_restore_rope(tare_str *out, tare_llama_restoring *r, tare_error *err);
/* For formulas over the keys: `rope_turning`, the part of a head that those factors let turn, and
 * `rope_slowed`, the first of them. */
tare_status tare_llama_count_turning(tare_llama_restoring *r, tare_error *err);
/* The list of tensors (expected.c), and that of a tower (expected_tower.c). */
tare_status tare_llama_list_expected(tare_llama_restoring *r, tare_error *err);
tare_status tare_llama_list_tower(tare_llama_restoring *r, tare_error *err);
/* Whether a tensor of a tower's file is one of the text model, which has it itself. */
bool tare_llama_is_of_text(const tare_llama_restoring *r, tare_str name);
/* What the architecture says of the shape that a rule's tensor had; NULL: nothing. */
const char *tare_llama_shape_row_of(const tare_llama_restoring *r, const tare_llama_rule *rule);
/* That shape: "d0, 1, d1", formulas of the file's dimensions (`rows`, `cols`, too) and of
 * config.json; or the file's own dimensions from `first` on. CORRUPT: there is none such. */
tare_status tare_llama_shape_was(tare_llama_expected *w, const tare_llama_restoring *r,
                                 size_t tensor, const char *was, tare_error *err);
tare_status tare_llama_shape_kept(tare_llama_expected *w, const tare_llama_restoring *r,
                                  size_t tensor, uint32_t first, tare_error *err);
/* Adds one to the list. */
tare_status tare_llama_expect(tare_llama_restoring *r, const tare_llama_expected *w,
                              tare_error *err);
/* Tensors of a single number that the converter made keys (expected_numbers.c). */
tare_status tare_llama_expect_numbers(tare_llama_restoring *r, tare_error *err);
/* Whether a key is of such numbers. */
bool tare_llama_is_of_numbers(const tare_llama_restoring *r, tare_str key);
/* tokenizer.json and its kin (restore_tokenizer.c). */
tare_status tare_llama_restore_tokenizer(tare_llama_restoring *r, tare_error *err);
/* modules.json and 1_Pooling/config.json (restore_pooling.c). */
tare_status tare_llama_restore_pooling(tare_llama_restoring *r, tare_error *err);
/* Whether tare knows how a name of tokenizer.ggml.pre splits a text (restore_tokenizer_json.c). */
bool tare_llama_has_splitting(tare_str pre);
/* README.md, whose front matter has the general keys (restore_card.c). */
tare_status tare_llama_restore_card(tare_llama_restoring *r, tare_error *err);
/* The tensors of the model, each made of the file's as `m`, which maps the expected ones, says
 * (turned.c). */
tare_status tare_llama_invert(tare_llama_restoring *r, const tare_llama_mapping *m,
                              tare_error *err);

/* ---- models ---------------------------------------------------------------------------------- */

/* One file alone (restore.c). `text_architecture`: of the text model beside a tower, or empty. *arch:
 * its row; may be NULL. */
tare_status tare_llama_restore_one(tare_model **out, const tare_model *in,
                                   const tare_llama_restore_options *options,
                                   tare_str text_architecture, const tare_llama_arch **arch,
                                   tare_error *err);
/* A warning about something that could not be restored, and a loss under `strict`. `why` is static. */
void tare_llama_not_restored(const tare_llama_restoring *r, tare_item_kind kind, tare_str name,
                             const char *why);
void tare_llama_not_restored_in(tare_model *out, tare_report *report, tare_item_kind kind,
                                tare_str name, const char *why);

/* The shortest decimal that is this f32 again, with a point or an exponent. */
size_t tare_llama_f32_text(char *buf, size_t size, double x);

#endif
