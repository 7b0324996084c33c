/* SPDX-License-Identifier: MIT
 *
 * Files of other kinds that people mistake for a model or for one of its side files, recognised by
 * content, and what to do about each. `head`: the first bytes of a file of `size` bytes, a few
 * thousand or all. Texts are static, for tare_error.what. */
#ifndef TARE_MODEL_FOREIGN_H
#define TARE_MODEL_FOREIGN_H

#include "base/status.h"

/* What stands where any file should be: a Git LFS pointer, AppleDouble, an HTML page, an error of a
 * server in JSON. NULL: none of them. */
const char *tare_not_the_file(tare_str head, uint64_t size);
/* A text that is not in UTF-8, as its first bytes say. NULL: they do not. */
const char *tare_other_unicode(tare_str head);
/* What a file that is no model is ("a PyTorch pickle"), the above included. NULL: unknown. */
const char *tare_foreign_file(tare_str head, uint64_t size);
/* What a zip archive is that is no folder of files but one thing of another program (Keras). NULL:
 * nothing that is known. */
const char *tare_foreign_archive(tare_str head);
/* After a failure to read a file as a model, or, with is_json, as the JSON that its name says: if it
 * is something else that is known, that becomes the error. Returns the error's status. */
tare_status tare_name_foreign(tare_status status, tare_str head, uint64_t size, bool is_json,
                              tare_error *err);
/* Whether the first bytes are those of a .dat importance matrix of llama.cpp, which has no magic:
 * checks that the numbers of its first entry are plausible. */
bool tare_is_importance_dat(tare_str head);

#endif
