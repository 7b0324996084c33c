/* SPDX-License-Identifier: MIT
 *
 * The rules of architectures that have nothing but Llama's order of rotary halves. */
#include "llama/arch/rows.h"

const tare_llama_rule tare_llama_permute[] = {RULES_PERMUTE, END_OF_RULES};
