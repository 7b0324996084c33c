/* SPDX-License-Identifier: MIT
 *
 * Output sets whose members are objects of a store. What a directory would be is a folder of keys; all of
 * its objects are there in full before the first one appears. */
#include <string.h>

#include "base/arith.h"
#include "base/os_file.h"
#include "base/outfile_set.h"

bool tare_outset_is_stored(const char *path, const tare_out_options *options) {
    return options->store && options->store->has(path);
}

bool tare_outset_can_read(const tare_outset *set) {
    return !set->store;
}

tare_status tare_outset_begin_store(tare_outset *set, const char *path, tare_error *err) {
    set->store = set->options.store;
    set->path = tare_outset_text(set->allocator, path, strlen(path), &set->path_size);
    if (!set->path) return tare_fail(err, TARE_ERR_NOMEM, "output path");
    set->final_name = set->path;
    return set->store->check(set->store->ctx, path, &set->options, err);
}

tare_status tare_outset_add_object(tare_outset *set, const char *name, uint64_t size,
                                   uint32_t *index, tare_error *err) {
    tare_out_member m = {.size = size, .fd = -1, .is_made = true};
    TARE_TRY(tare_outset_add_member(set, &m, name, index, err));
    return set->store->begin(set->store->ctx, &set->members[*index].object, set->path, name, size,
                             &set->options, err);
}

tare_status tare_outset_copy_to_object(const tare_outset *set, uint32_t index, uint64_t offset,
                                       int in_fd, uint64_t in_offset, uint64_t n, void *scratch,
                                       size_t scratch_size, tare_error *err) {
    for (uint64_t at = 0; at < n;) {
        const size_t part = (size_t)tare_min_u64(n - at, scratch_size);
        size_t got;
        const int failed = tare_fd_read(&got, in_fd, in_offset + at, scratch, part);
        if (failed) return tare_fail_errno(err, failed, "read");
        if (got != part)
            return tare_fail_at(err, TARE_ERR_TRUNCATED, in_offset + at + got,
                                "the file ends too early");
        TARE_TRY(set->store->write(set->members[index].object, offset + at, scratch, part, err));
        at += part;
    }
    return TARE_OK;
}

tare_status tare_outset_commit_objects(tare_outset *set, tare_error *err) {
    for (size_t i = 0; i < set->n_members; i++)
        TARE_TRY(set->store->settle(set->members[i].object, err));
    for (size_t i = 0; i < set->n_members; i++)
        TARE_TRY(set->store->commit(set->members[i].object, err));
    set->is_committed = true;
    return TARE_OK;
}

tare_status tare_store_fail_rewritten(const char *name, tare_error *err) {
    tare_fail(err, TARE_ERR_UNSUPPORTED,
              "parts of this output are read or written again once they are made, which an object "
              "store does not allow: write a file and upload it");
    tare_error_file(err, name);
    return TARE_ERR_UNSUPPORTED;
}
