/* SPDX-License-Identifier: MIT
 *
 * Lists of files on a server: no path leads out of the directory, and none occurs twice. */
#include "remote/listing.h"

#include <stdlib.h>

#include "base/files.h"

#define PATH_MOST 4096 /* bytes */

bool tare_listing_is_path(tare_str path) {
    for (size_t i = 0; i < path.len; i++)
        if ((unsigned char)path.ptr[i] < ' ' || path.ptr[i] == 0x7f) return false;
    return path.len <= PATH_MOST && tare_str_is_utf8(path) && tare_is_inner_path(path);
}

bool tare_listing_add(tare_listing *list, const tare_listed *file) {
    void *files = list->files;
    if (!tare_grow(NULL, &files, &list->capacity, list->n + 1, sizeof *file)) return false;
    list->files = files;
    list->files[list->n++] = *file;
    return true;
}

static int by_path(const void *a, const void *b) {
    return tare_str_compare(((const tare_listed *)a)->path, ((const tare_listed *)b)->path);
}

void tare_listing_drop(tare_listing *list) {
    if (list->capacity) tare_free(NULL, list->files, list->capacity * sizeof *list->files);
    *list = (tare_listing){.n = 0};
}

tare_status tare_listing_seal(tare_listing *list, tare_arena *arena, tare_error *err) {
    tare_listed *files = TARE_NEW_ARRAY(arena, tare_listed, list->n);
    if (!files) return tare_fail(err, TARE_ERR_NOMEM, "list of files");
    if (list->n) {
        memcpy(files, list->files, list->n * sizeof *files);
        qsort(files, list->n, sizeof *files, by_path);
    }
    for (size_t i = 1; i < list->n; i++)
        if (tare_str_equal(files[i - 1].path, files[i].path)) {
            tare_fail(err, TARE_ERR_CORRUPT, "list of files: a file is listed twice");
            tare_error_item(err, TARE_ITEM_RESOURCE, -1, files[i].path);
            return TARE_ERR_CORRUPT;
        }
    if (list->capacity) tare_free(NULL, list->files, list->capacity * sizeof *files);
    list->files = files;
    list->capacity = 0;
    return TARE_OK;
}

const tare_listed *tare_listing_find(const tare_listing *list, tare_str path) {
    const tare_listed key = {.path = path};
    return list->n ? bsearch(&key, list->files, list->n, sizeof key, by_path) : NULL;
}
