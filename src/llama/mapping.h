/* SPDX-License-Identifier: MIT
 *
 * A mapping in progress: what the parts of the converter share. */
#ifndef TARE_LLAMA_MAPPING_H
#define TARE_LLAMA_MAPPING_H

#include "llama/arch.h"
#include "llama/program.h"
#include "llama/tensor_names.h"
#include "quantized/made.h"

/* A tensor of the output while it is put together. */
typedef struct tare_llama_target {
    tare_str name;
    uint32_t n_dims;
    uint64_t dims[TARE_LLAMA_DIMS]; /* of all; of one slice while slices are collected */
    const tare_encoding *encoding;
    tare_piece *pieces;
    size_t n_pieces, n_there;
    tare_llama_joint joint;
    const uint8_t *bytes; /* of a generated one; NULL: pieces */
    uint64_t size;        /* of `bytes` */
    const char *operation;
} tare_llama_target;

/* A key whose elements are numbers that the input has as tensors: one of each block, or a single
 * one outside of all. */
typedef struct tare_llama_collected {
    const char *key;
    double *numbers;
    uint64_t n_there; /* of `numbers` */
    bool is_single;
    const uint8_t *whole; /* instead: all numbers of one tensor, u64; NULL: those */
    size_t n_whole;
} tare_llama_collected;

/* A rule that makes what the table of names has in the same place, without the operation. */
typedef struct tare_llama_guard {
    const tare_llama_rule *rule;
    tare_str stem; /* of the place: "blk.#.ffn_down_exps" */
} tare_llama_guard;

typedef struct tare_llama_mapping {
    const tare_model *hf;
    tare_model *out; /* memory is its arena */
    const tare_llama_options *options;
    const tare_llama_arch *arch;
    tare_llama_config config, target;   /* `target`: of the model that it drafts for */
    const tare_llama_arch *target_arch; /* NULL: it drafts for none, or tare does not know it */
    tare_str hf_class;
    uint64_t n_layers; /* blocks, extra ones too */
    uint64_t n_extra_layers;
    tare_llama_nextn nextn; /* what becomes of the layers that predict more tokens */
    uint64_t n_left_layers; /* behind them, which the input has and the output is to be without */
    tare_llama_binding facts[12]; /* what formulas call layers, tokens, file_type, nextn or token,
                                    is_classifier, like_reference; embedding_rows, extra layers that are there,
                                    rope.factor where it is null */
    tare_llama_names names;
    tare_llama_guard *guards; /* n_guards */
    size_t n_guards;

    tare_metadata *keys;
    size_t n_keys, keys_capacity;
    tare_metadata *vocab; /* tokenizer.*: made first, appended last */
    size_t n_vocab;

    tare_llama_target **targets; /* complete, in the order of the output */
    size_t n_targets, targets_capacity;
    tare_llama_collected collected[4];
    size_t n_collected;
    bool *is_read; /* of each tensor of the input: its numbers are in a key or a generated tensor */
    struct tare_llama_join **joins; /* by hash of the name; tensors that parts of are collected */
    size_t n_join_slots;
    tare_hash_key join_key;
    tare_encoding_id usual_type;         /* what --outtype auto comes to */
    const struct tare_llama_tower *told; /* these were reported as left out; NULL: none was */
    size_t n_of_tower;       /* tensors left out for what is no part of the text model */
    size_t tied_head;        /* the input's tensor that is the embeddings as well */
    uint64_t embedding_rows; /* 0: it has none */
    bool copies_head;        /* llama.cpp has no tied head here: the embeddings are it, too */
    const char *tied_name;   /* what it would be called as such; NULL: there is none */
    bool is_rehearsal; /* the input has names and shapes only, and nothing is left out for what its
                          numbers are */
} tare_llama_mapping;

/* All but the catalog's tensors: `hf`, `out` and `options` are set. Targets and keys live as long as
 * `out`; their lists are freed with tare_llama_mapping_free, after a failure, too. */
tare_status tare_llama_mapping_fill(tare_llama_mapping *m, tare_error *err);
void tare_llama_mapping_free(tare_llama_mapping *m);

/* ---- keys ------------------------------------------------------------------------------------ */

/* Sets a key: in the place it had, or at the end. Empty texts and arrays are left out. The name is
 * completed with the architecture where it has no "general." or "tokenizer." before it. */
tare_status tare_llama_set(tare_llama_mapping *m, const char *name, const tare_value *value,
                           tare_error *err);
tare_status tare_llama_set_number(tare_llama_mapping *m, const char *name, tare_value_type type,
                                  double number, tare_error *err);
tare_status tare_llama_set_text(tare_llama_mapping *m, const char *name, tare_str text,
                                tare_error *err);
/* Whether a key of the architecture, named without it, was set. */
bool tare_llama_has_key(const tare_llama_mapping *m, const char *name);
/* n numbers: I32, F32 or BOOL; texts. */
tare_status tare_llama_set_numbers(tare_llama_mapping *m, const char *name, tare_value_type type,
                                   const double *numbers, size_t n, tare_error *err);
tare_status tare_llama_set_texts(tare_llama_mapping *m, const char *name, const tare_str *texts,
                                 size_t n, tare_error *err);
/* The rows of a list. */
tare_status tare_llama_set_rows(tare_llama_mapping *m, const tare_llama_key *rows, tare_error *err);
/* All keys of the architecture. */
tare_status tare_llama_arch_keys(tare_llama_mapping *m, tare_error *err);
/* The Dense modules of sentence-transformers behind it (dense_modules.c). */
tare_status tare_llama_add_dense_modules(tare_llama_mapping *m, tare_error *err);
/* pooling_type, where the model says it (pooling.c). */
tare_status tare_llama_pooling_keys(tare_llama_mapping *m, tare_error *err);
/* What BERT's family has before the keys of each: all tokens see all, pooling, labels of classes. */
tare_status tare_llama_bert_keys(tare_llama_mapping *m, tare_error *err);
/* What all architectures without rows of their own have, before and behind rope.dimension_sections. */
extern const tare_llama_key tare_llama_common_keys[];
extern const tare_llama_key tare_llama_base_keys[];
extern const tare_llama_key tare_llama_scaling_keys[];
extern const tare_llama_key tare_llama_common_rest_keys[];
/* A setting of generation_config.json, and a text of the model card; NULL beyond the end. */
typedef struct tare_llama_sampling {
    const char *key, *member;
    tare_value_type type;
} tare_llama_sampling;
const tare_llama_sampling *tare_llama_sampling_at(size_t i);
typedef struct tare_llama_card_key {
    const char *key, *card; /* names in the card, one blank between them; empty: it has none */
    size_t field;           /* of tare_llama_model_id; SIZE_MAX: none */
    bool is_title;
} tare_llama_card_key;
const tare_llama_card_key *tare_llama_card_key_at(size_t i);
/* general.*: sampling, name, licence and so on (general.c). Needs the tensors for the size. */
tare_status tare_llama_general_keys(tare_llama_mapping *m, tare_error *err);
/* A formula as a number; `otherwise` where it is absent. CORRUPT: it is a text. */
tare_status tare_llama_number(double *out, const tare_llama_mapping *m, const char *formula,
                              double otherwise, tare_error *err);

/* Whether a formula holds: where it names `layer`, in all layers, or in one of them. Absent: no. */
tare_status tare_llama_holds(bool *out, const tare_llama_mapping *m, const char *formula,
                             bool in_all, tare_error *err);

/* "name = formula" for all architectures: rope.theta and other settings that go by many names. */
extern const char *const tare_llama_common_defaults[];

/* Lets formulas know a number, also instead of a member of config.json. */
void tare_llama_add_fact(tare_llama_mapping *m, const char *name, double number);

/* ---- layers that predict more tokens (nextn.c) ------------------------------------------------ */

/* How many the tensors are of. */
double tare_llama_nextn_layers(const tare_llama_mapping *m);
/* Blocks beyond `n_layers` that are written. UNSUPPORTED: the options ask for something else of a model
 * that has none. */
tare_status tare_llama_count_extra_layers(tare_llama_mapping *m, double n_layers, double *extra,
                                          tare_error *err);
/* Whether the options leave out a tensor that llama.cpp has under the name `target` (ptr NULL: none)
 * in block `layer` (-1: beside them). */
bool tare_llama_is_beside(const tare_llama_mapping *m, tare_str target, int64_t layer);
/* The same of a tensor of the input. */
tare_status tare_llama_is_unwanted(bool *out, const tare_llama_mapping *m, size_t tensor,
                                   tare_error *err);

/* ---- drafts (draft.c) -------------------------------------------------------------------------- */

/* mask_token_id, behind the other keys of the tokenizer. */
tare_status tare_llama_add_mask_token(tare_llama_mapping *m, tare_error *err);
/* d2t, behind the other tensors: which token of the model each of the draft's is. */
tare_status tare_llama_draft_ids(tare_llama_mapping *m, tare_error *err);
/* The same, and whether DSpark's draft says how sure it is. */
tare_status tare_llama_draft_heads(tare_llama_mapping *m, tare_error *err);

/* ---- tensors --------------------------------------------------------------------------------- */

/* All tensors of the model, put under their names (tensors.c). */
tare_status tare_llama_map_tensors(tare_llama_mapping *m, tare_error *err);
/* The members of config.json that say how many layers there are. */
#define TARE_LLAMA_LAYERS                                                                          \
    "n_layers | num_hidden_layers | n_layer | num_layers | num_transformer_layers"
/* The first of several members of config.json ("a | b") that has the number. */
tare_str tare_llama_config_name(const tare_llama_mapping *m, const char *members, uint64_t count,
                                const char *otherwise);
/* CORRUPT where a size in config.json is not that of the tensors: llama.cpp would refuse the file
 * (config_check.c). After keys and tensors. */
tare_status tare_llama_check_config(const tare_llama_mapping *m, tare_error *err);
/* Members of config.json with a word for each layer: UNSUPPORTED where a word is not known, CORRUPT
 * where they are too short. */
tare_status tare_llama_check_lists(const tare_llama_mapping *m, tare_error *err);
/* Warns of norms and biases that are in one block and not in another of the same matrices. */
tare_status tare_llama_note_uneven(tare_llama_mapping *m, tare_error *err);
/* Words that decide nothing, as llama.cpp has one way or tensors tell: UNSUPPORTED where one is not
 * known. */
tare_status tare_llama_check_words(const tare_llama_mapping *m, tare_error *err);
/* What activations are called, by transformers or a model's own code; any other word is a fault. Those
 * of the second list are all GELU. */
#define TARE_LLAMA_ACTIVATIONS                                                                     \
    "silu/swish/swiglu gelu gelu_10 gelu_accurate gelu_fast gelu_new gelu_python "                 \
    "gelu_python_tanh gelu_pytorch_tanh geglu gegelu quick_gelu relu reglu relu2/relu_squared "    \
    "relu6 leaky_relu prelu elu selu celu hardswish hardsigmoid hardtanh softplus mish laplace "   \
    "linear/identity sigmoid tanh sin xielu glu situ"
#define TARE_LLAMA_GELUS                                                                           \
    "gelu gelu_new gelu_fast gelu_python gelu_python_tanh gelu_accurate gelu_pytorch_tanh geglu"
/* Warns of what config.json asks for, and neither keys nor tensors say (unapplied.c). After both. */
tare_status tare_llama_note_unapplied(tare_llama_mapping *m, tare_error *err);
/* The blocks of NVFP4 that a piece can stay in, since llama.cpp takes its factor beside it; NULL: none
 * (scaled_blocks.c). */
const tare_encoding *tare_llama_scaled_blocks(const tare_llama_mapping *m,
                                              const tare_llama_draft *draft, tare_str target);
/* These factors. After all tensors that have a name in the input. */
tare_status tare_llama_add_scales(tare_llama_mapping *m, tare_error *err);
/* Zeros where the loader asks for a bias that the model has not (biases.c). After tensors. */
tare_status tare_llama_add_biases(tare_llama_mapping *m, tare_error *err);
/* What layers that share keys and values do not compute with, where the loader asks for it. */
tare_status tare_llama_add_shared_kv(tare_llama_mapping *m, tare_error *err);
/* Tells of tensors that config.json speaks of and that are not there (lost.c). */
tare_status tare_llama_note_lost(tare_llama_mapping *m, tare_error *err);
/* The same of an encoder, which llama.cpp does not run without them. */
void tare_llama_note_lost_of_tower(tare_llama_mapping *m);
/* Whether the class in config.json is a body, which has no head. */
bool tare_llama_is_body(const tare_llama_mapping *m);
/* Finds `tied_head`: a head that was stored instead of the embeddings it is tied to (head.c). */
tare_status tare_llama_find_tied(tare_llama_mapping *m, tare_error *err);
/* Warns where config.json and the tensors differ about whether the head is tied. After tensors. */
tare_status tare_llama_note_head(const tare_llama_mapping *m, tare_error *err);
/* The name of a tensor of the input that names and rules are held against, before it is normal. */
tare_str tare_llama_source_name(const tare_llama_mapping *m, size_t tensor);
/* Puts one behind the others (targets.c). */
tare_status tare_llama_target_add(tare_llama_mapping *m, tare_llama_target *t, tare_error *err);
/* The one of that name; NULL: there is none. */
const tare_llama_target *tare_llama_target_named(const tare_llama_mapping *m, tare_str name);
bool tare_llama_has_target(const tare_llama_mapping *m, tare_str name);
/* One of so many pieces, which has no shape yet; NULL: memory is out. */
tare_llama_target *tare_llama_target_new(tare_llama_mapping *m, tare_str name, size_t n_pieces);
/* A tensor of F32 that is computed here, before all others: a vector, or of a shape, slowest dimension first. */
tare_status tare_llama_generate(tare_llama_mapping *m, const char *name, const float *values,
                                size_t n, tare_error *err);
tare_status tare_llama_generate_shaped(tare_llama_mapping *m, const char *name, const float *values,
                                       const uint64_t *dims, uint32_t n_dims, tare_error *err);
/* The positions in a tensor, a square of them, as those of so many to a side (drawn.c). */
tare_status tare_llama_draw(tare_llama_mapping *m, const char *name, size_t tensor, uint64_t wanted,
                            tare_error *err);
/* Vision and audio encoders, projectors, and buffers that are no weights. */
bool tare_llama_is_left_out(tare_str name);
/* These buffers alone. */
bool tare_llama_is_buffer(tare_str name);
bool tare_llama_contains(tare_str text, const char *part);
/* ptr NULL: memory is out. */
tare_str tare_llama_joined(tare_str a, tare_str b, tare_arena *arena);
/* The name that rules are held against. ptr NULL: memory is out. */
tare_str tare_llama_normal_name(const tare_llama_mapping *m, tare_str name);
/* A name with what the row's `cut` takes out or replaces. ptr NULL: memory is out. */
tare_str tare_llama_cut_name(const tare_llama_mapping *m, tare_str name);
/* "eh_proj.weight" -> "fc.": how a tensor beside the layers that predict more tokens begins there; ptr
 * NULL: it is in a layer. */
tare_str tare_llama_nextn_shared(tare_str name);
/* The numbers of the first and of the last dotted part that is one; -1: none. */
void tare_llama_numbers_of(tare_str name, int64_t *first, int64_t *last);
/* Whether a tensor matches the pattern of a rule, by its name or by the one that llama.cpp has for it
 * (`target`; ptr NULL: none); *tail: where what stands after the pattern's last '*' begins, *suffix:
 * what its '@' stands for. */
bool tare_llama_rule_matches(const tare_llama_rule *rule, tare_str name, tare_str target,
                             size_t *tail, tare_str *suffix);
/* Every occurrence of `from` replaced; ptr NULL: memory is out. */
tare_str tare_llama_replaced(tare_str name, const char *from, const char *to, tare_arena *arena);
/* What llama.cpp wants a tensor to be, whatever type is asked for. */
tare_fixed_type tare_llama_fixed_type(tare_str name, uint32_t n_dims, const tare_llama_arch *arch);
/* How the pieces of a tensor of n_elements are stored in the source; encoding NULL: in several ways. */
tare_origin tare_llama_origin_of_pieces(const tare_model *source, const tare_piece *pieces,
                                        size_t n_pieces, uint64_t n_elements);
/* The mean of all numbers of a tensor of the input, or of their magnitudes; reads them. */
tare_status tare_llama_mean(double *out, const tare_model *hf, size_t tensor, bool of_magnitudes,
                            tare_error *err);
/* What is computed of a vector and those beside it: of the weight of a batch norm and what has "bias",
 * "running_mean", "running_var" for its "weight", or of what has "norm.weight" and "proj.weight". `out`
 * has as many numbers as the tensor. */
tare_status tare_llama_fold_vectors(float *out, tare_llama_mapping *m, size_t tensor,
                                    tare_llama_fold fold, tare_error *err);
/* Whether all numbers of a tensor of the input are 0; whether two have the same bytes. Both read
 * them. */
tare_status tare_llama_is_zero(bool *out, const tare_model *hf, size_t tensor, tare_error *err);
tare_status tare_llama_is_equal(bool *out, const tare_model *hf, size_t a, size_t b,
                                tare_error *err);
/* rope_freqs and rope_factors tensors (rope.c). */
tare_status tare_llama_rope_tensors(tare_llama_mapping *m, tare_error *err);
/* The settings of rotary positions in config.json (rope_settings.c). CORRUPT: what their type needs is
 * not there, or is no number above 0. Warns where two objects with settings differ. */
tare_status tare_llama_check_rope(tare_llama_mapping *m, tare_error *err);
/* CORRUPT, about a setting by its name. */
tare_status tare_llama_fail_rope(const char *member, const char *what, tare_error *err);

#endif
