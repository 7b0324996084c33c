/* SPDX-License-Identifier: MIT
 *
 * Objects that are written: a session as a store for outputs (base/outfile_store.h). */
#ifndef TARE_REMOTE_UPLOAD_H
#define TARE_REMOTE_UPLOAD_H

#include <tare/experimental/remote.h>

#include "base/outfile_store.h"

/* Where outputs of a session go; it lives as long as the session. NULL of NULL. */
const tare_store *tare_remote_store(tare_remote *remote);
/* Fills a new session's in. */
void tare_upload_store(tare_store *out, tare_remote *remote);

#endif
