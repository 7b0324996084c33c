/* SPDX-License-Identifier: MIT
 *
 * Types that a tensor has for the program that runs the output, whatever is requested: those that
 * the model was mapped with, else those in which the format's program loads a tensor of its name. */
#include "ops/convert/plan.h"

const tare_model_types *tare_plan_types(const tare_plan *p) {
    const tare_model_types *types = p->in->types;
    const tare_format_program program = p->format->stored.program;
    if (!types || types->program == program) return types;
    return types->program == TARE_PROGRAM_TRANSFORMERS && program == TARE_PROGRAM_ANY ? types
                                                                                      : NULL;
}

tare_fixed_type tare_plan_fixed(const tare_plan *p, size_t i) {
    const tare_model_types *types = tare_plan_types(p);
    const tare_tensor *t = &p->in->catalog.tensors[i];
    if (types && types->fixed) return types->fixed[i];
    return p->format->caps->fixed_type ? p->format->caps->fixed_type(t->name, t->n_dims)
                                       : TARE_FIXED_NONE;
}
