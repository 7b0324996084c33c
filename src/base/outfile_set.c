/* SPDX-License-Identifier: MIT
 *
 * What outfile.c and outfile_member.c both need: failures and texts. */
#include "base/outfile_set.h"

#include <string.h>

#include "base/os_file.h"
#include "base/report.h"
#include "base/str.h"

tare_status tare_outset_fail(tare_error *err, tare_status status, const char *what,
                             const char *path) {
    tare_fail(err, status, what);
    tare_error_file(err, path);
    return status;
}

tare_status tare_outset_fail_errno(tare_error *err, int os_error, const char *what,
                                   const char *path) {
    tare_status status = tare_fail_errno(err, os_error, what);
    tare_error_file(err, path);
    return status;
}

tare_status tare_outset_fail_exists(const tare_outset *set, tare_error *err) {
    tare_outset_fail(err, TARE_ERR_ARG, "the output exists", set->path);
    tare_error_code(err, TARE_CODE_OUTPUT_EXISTS);
    return TARE_ERR_ARG;
}

void tare_outset_remove(const tare_outset *set, int folder, const char *name, unsigned depth) {
    tare_file_facts facts;
    tare_remove_tree(folder, name, depth);
    if (tare_entry_stat(&facts, folder, name, false) != 0) return;
    const char *where = folder == set->parent_fd ? NULL : set->temp_parent;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_IO, "output.left");
    f.file = tare_str_of(name);
    tare_report_addf(set->options.report, &f,
                     "cannot be removed, and was left %s%s: nothing needs it",
                     where ? "in " : "beside the output", where ? where : "");
}

void tare_outset_remove_temporary(tare_outset *set, unsigned depth) {
    if (set->temp_name[0]) tare_outset_remove(set, set->temp_parent_fd, set->temp_name, depth);
    set->temp_name[0] = '\0';
}

char *tare_outset_text(const tare_allocator *a, const char *text, size_t n, size_t *size) {
    char *copy = tare_alloc(a, n + 1);
    if (!copy) return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    *size = n + 1;
    return copy;
}

tare_status tare_outset_add_member(tare_outset *set, const tare_out_member *member,
                                   const char *name, uint32_t *index, tare_error *err) {
    tare_out_member m = *member;
    if (!tare_grow(set->allocator, (void **)&set->members, &set->members_capacity,
                   set->n_members + 1, sizeof *set->members))
        return tare_fail(err, TARE_ERR_NOMEM, "output files");
    if (name) m.name = tare_outset_text(set->allocator, name, strlen(name), &m.name_size);
    if (name && !m.name) return tare_fail(err, TARE_ERR_NOMEM, "output files");
    *index = (uint32_t)set->n_members;
    set->members[set->n_members++] = m;
    return TARE_OK;
}
