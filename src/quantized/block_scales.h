/* SPDX-License-Identifier: MIT
 *
 * How scales in a tensor of their own are laid over the numbers of a weight. */
#ifndef TARE_QUANTIZED_BLOCK_SCALES_H
#define TARE_QUANTIZED_BLOCK_SCALES_H

#include "quantized/scheme.h"

/* Sets a weight's shape to that of its codes, each row `per_byte` times as long. */
void tare_weight_shape_of(tare_weight *w, const tare_tensor *codes, uint64_t times);
/* Lays scales, or zero points, over a weight that has its shape: one for all, for each row, for
 * blocks, for groups of a row. */
tare_status tare_weight_lay_scales(bool *fits, tare_weight *w, const tare_weight_search *s,
                                   const tare_tensor *scales, tare_error *err);
/* The same, false where they do not fit, for scales of whole groups of each row. */
bool tare_weight_lay_groups(tare_weight *w, uint64_t lines, uint64_t groups);
/* The same, for groups of `length` columns, of which the last may have fewer. */
void tare_weight_lay_parts(tare_weight *w, uint64_t groups, uint64_t length);
/* Whether a tensor may hold the group of each column. */
bool tare_weight_is_index(const tare_tensor *t);
/* The columns of a group, if a row has so many groups: as the settings say, or the shapes. 0: it
 * cannot be told. */
uint64_t tare_weight_group_length(const tare_weight_search *s, uint64_t cols, uint64_t groups);

#endif
