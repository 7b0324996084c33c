/* SPDX-License-Identifier: MIT
 *
 * Adapters of INFQ packages: reading them, and what their writer needs to know. */
#ifndef TARE_FORMAT_INFQ_INFQ_ADAPTERS_H
#define TARE_FORMAT_INFQ_INFQ_ADAPTERS_H

#include "format/infq/infq_read.h"
#include "model/adapter_set.h"

/* Reads the n entries of "adapters": r->m->adapters, and their texts in the layout. */
tare_status tare_infq_read_adapters(tare_infq_reader *r, const tare_infq_value *array, size_t n,
                                    tare_error *err);
/* The last step: the model of the factors has the files of the package, now that all are open. */
void tare_infq_finish_adapters(tare_model *m);

/* Whether a field of an adapter's entry is one the library knows. */
bool tare_infq_is_adapter_field(const tare_json_value *key);

#endif
