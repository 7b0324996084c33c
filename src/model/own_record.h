/* SPDX-License-Identifier: MIT
 *
 * Records that tare leaves in a file's metadata: JSON objects with a version, to which a later tare
 * may add members. */
#ifndef TARE_MODEL_OWN_RECORD_H
#define TARE_MODEL_OWN_RECORD_H

#include "base/json.h"

/* Reads the value of a member, or passes it. */
typedef bool (*tare_own_record_member)(void *ctx, tare_json *j, const tare_json_value *key);

/* CORRUPT: the text is not an object, or `member` failed. */
tare_status tare_own_record_read(tare_str text, tare_own_record_member member, void *ctx,
                                 tare_error *err);
/* The next value, a list of objects; `entry` reads the rest of each. `what` names the list in
 * errors. */
bool tare_own_record_list(tare_json *j,
                          bool (*entry)(void *ctx, tare_json *j, const tare_json_value *at),
                          void *ctx, const char *what);
/* Passes over the next value, which a later version may have added. */
bool tare_own_record_pass(tare_json *j);

#endif
