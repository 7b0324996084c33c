/* SPDX-License-Identifier: MIT
 *
 * Touches everything an opened model has, through the public headers: what a reader that believes
 * a file too much would crash on. For the corpus and the fuzz targets. */
#ifndef TARE_TEST_VISIT_H
#define TARE_TEST_VISIT_H

#include <tare/tare.h>

/* Walks metadata (nested arrays to their last element), looks every name up again, asks for all
 * parameters, and reads the head of every tensor and resource. The first status that is not OK
 * comes back at the end; nothing stops at it. */
tare_status visit_model(const tare_model *m);
/* Reads the first and last bytes of each plane of a tensor and decodes its first row where that is
 * small. */
tare_status visit_tensor(const tare_model *m, size_t tensor);

#endif
