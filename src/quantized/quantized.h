/* SPDX-License-Identifier: MIT
 *
 * A model whose tensors are weights, whatever they are stored in. The model as its files have it is
 * behind it (tare_model.stored), for those who move parts as they are. */
#ifndef TARE_QUANTIZED_QUANTIZED_H
#define TARE_QUANTIZED_QUANTIZED_H

#include "model/catalog.h"

/* Recognises the packed weights of a model that a driver or a builder has finished: its parts get
 * notes, and where `stored` does not ask for them as they are, its tensors become the weights.
 * Settings that are no JSON, parts that do not fit, and schemes that are known by name only do not
 * prevent that a model is opened: reading such numbers fails, and names them. */
tare_status tare_quantized_open(tare_model *m, bool stored, tare_error *err);
/* Tells the first of the weights that cannot be decoded, and of what looks like a part of one and is none, and
 * how many there are; NULL: nobody. */
void tare_quantized_report(const tare_model *m, tare_report *report);
/* The same weights as llama.cpp has them: microscaling codes stay blocks, and so do whole numbers,
 * if they are asked for and blocks hold the same ones; experts lie apart. *out NULL: there is no
 * difference. Its tensors are those of `in`, which must outlive it. */
tare_status tare_quantized_for_llama(tare_model **out, const tare_model *in, bool whole_numbers,
                                     const tare_context *open, tare_error *err);
/* Whether the rows of a tensor are those of a packed weight. */
bool tare_quantized_is_weight(const tare_model *m, size_t tensor);
/* The blocks of ggml that have the codes and scales of a packed weight as they are; NULL: there are
 * none, or a tensor is none. */
const tare_encoding *tare_quantized_blocks(const tare_model *m, size_t tensor);
/* Blocks [first, first + n) of it. They lack the factor of the whole. */
tare_status tare_quantized_blocks_read(void *out, const tare_model *m, size_t tensor,
                                       uint64_t first, uint64_t n, tare_error *err);
/* That factor, of one matrix of a stack, and what its activations are scaled by; 1: there is none. */
tare_status tare_quantized_factor(float *out, float *input, const tare_model *m, size_t tensor,
                                  uint64_t matrix, tare_error *err);
/* The factor of a weight as it is stored, and whether scales are divided by it; 1: there is none. */
tare_status tare_quantized_stored_factor(float *out, bool *divides, const tare_model *m,
                                         size_t tensor, tare_error *err);
/* What scales its input; 0: nothing is known. */
tare_status tare_quantized_input_scale(float *out, const tare_model *m, size_t tensor,
                                       tare_error *err);
/* Whether all packed weights are stored as this type, but for a factor. */
bool tare_quantized_are(const tare_model *m, const tare_encoding *type);
/* How many weights are decoded. */
size_t tare_quantized_count(const tare_model *m);
/* Of which schemes, as text: "gptq", or "gptq: 12, fp8: 2" where there are several; cut where the room
 * ends. Returns out. */
const char *tare_quantized_schemes(char *out, size_t size, const tare_model *m);
/* Whether all of them are numbers of a narrower type. */
bool tare_quantized_is_exact(const tare_model *m, tare_encoding_id type);
/* Looks at zero points: warns of those that are not stored as the settings say, or of which no settings
 * say how they are, and says which ones cannot be what was meant. Reads them all. */
tare_status tare_quantized_check(const tare_model *m, tare_report *report, tare_error *err);

/* config.json of a model whose weights are plain: without settings of their packing, with this name
 * of a type, if one is given. *out is in the arena; ptr NULL: nothing has to change, or the text is
 * no JSON. */
tare_status tare_quantized_plain_config(tare_str *out, tare_str text, const char *dtype,
                                        tare_arena *arena, tare_error *err);
/* The same, but its settings stay. */
tare_status tare_quantized_retyped_config(tare_str *out, tare_str text, const char *dtype,
                                          tare_arena *arena, tare_error *err);
/* Whether a side file only says how weights are packed. */
bool tare_quantized_is_settings(tare_str name);
/* Whether a quantization_config may call its method so, be it decoded or refused. */
bool tare_quantized_is_method(tare_str name);

#endif
