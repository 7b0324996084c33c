/* SPDX-License-Identifier: MIT
 *
 * The folder where the hub's tools keep what they download: models--ORG--NAME/refs/REVISION has the
 * name of a commit, models--ORG--NAME/snapshots/COMMIT its files. */
#ifndef TARE_REMOTE_HUB_CACHE_H
#define TARE_REMOTE_HUB_CACHE_H

#include "remote/hub.h"
#include "remote/session.h"

/* For a session that is offline: the path in the cache of what a URL leads to, in the arena; *out
 * NULL: the URL is not one of the hub, or the session is not offline. IO: the cache has nothing of
 * that name. */
tare_status tare_hub_cached(const char **out, const tare_remote *remote, const char *url,
                            tare_arena *arena, tare_error *err);
/* Writes the path in the cache of a file of a commit, as a string; false: there is nothing of that name.
 */
bool tare_hub_put_cached(tare_buffer *out, const tare_remote *remote, const tare_hub_name *name,
                         tare_str commit, tare_str path);
/* What a path stands for, in the arena: of a folder models--ORG--NAME the snapshot that its refs/main names,
 * or the only one; else the path itself. ARG: it has several, and none of them is main's. */
tare_status tare_hub_enter_cache(const char **out, const char *path, tare_arena *arena,
                                 tare_error *err);

#endif
