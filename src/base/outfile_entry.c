/* SPDX-License-Identifier: MIT
 *
 * What an output directory has in addition to file contents: links, empty folders, permissions and
 * times. All of it comes last, so that nothing is ever written through a link or into a file that
 * is no longer writable. */
#include "base/outfile_set.h"

#include <errno.h>
#include <string.h>

#include "base/os_file.h"
#include "base/outfile_os.h"
#include "base/report.h"
#include "base/str.h"

tare_status tare_outset_add_entry(tare_outset *set, const char *name, const char *target,
                                  uint32_t *index, tare_error *err) {
    if (!tare_outset_is_name(set, name))
        return tare_fail(err, TARE_ERR_ARG, "output file: expected a plain name");
    if (set->store)
        return tare_outset_fail(err, TARE_ERR_UNSUPPORTED,
                                "an object store holds neither links nor empty folders: write a "
                                "directory here",
                                set->path);
    const tare_out_member entry = {.is_entry = true, .fd = -1};
    TARE_TRY(tare_outset_add_member(set, &entry, name, index, err));
    if (!target) return TARE_OK;
    tare_out_member *m = &set->members[*index];
    m->target = tare_outset_text(set->allocator, target, strlen(target), &m->target_size);
    return m->target ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "output files");
}

void tare_outset_stamp(tare_outset *set, uint32_t index, uint16_t mode, int64_t seconds,
                       uint32_t nanoseconds) {
    tare_out_member *m = &set->members[index];
    m->has_stamp = true;
    m->mode = mode;
    m->seconds = seconds;
    m->nanoseconds = nanoseconds;
}

/* 0 or an errno. */
static int make_entry(const tare_outset *set, tare_out_member *m) {
    int failed = tare_outset_make_folders(set, m);
    if (failed) return failed;
    failed = m->target ? tare_link_make(set->temp_fd, m->name, m->target)
                       : tare_folder_make(set->temp_fd, m->name, 0777);
    if (failed && (m->target || failed != EEXIST)) return failed;
    m->is_made = true;
    return 0;
}

/* Permissions that are stated are given as they are: what the source withholds, the directory around
 * them withholds. */
static int stamp(const tare_outset *set, const tare_out_member *m) {
    const tare_file_facts as = {.kind = m->target ? TARE_PATH_LINK : TARE_PATH_FILE,
                                .mode = m->mode,
                                .seconds = m->seconds,
                                .nanoseconds = m->nanoseconds};
    return tare_entry_set(set->temp_fd, m->name, &as);
}

/* File systems without permissions and times of their own, as of sticks and shares. */
static void note_stamp(const tare_outset *set) {
    tare_finding f = TARE_FINDING(WARNING, TARE_OK, "output.stamp");
    f.file = tare_str_of(set->path);
    f.text = TARE_STR("this file system does not take permissions or times of files: those of the "
                      "output are not the ones that were kept");
    tare_report_add(set->options.report, &f);
}

tare_status tare_outset_finish_entries(tare_outset *set, tare_error *err) {
    for (unsigned links = 0; links < 2; links++)
        for (size_t i = 0; i < set->n_members; i++) {
            tare_out_member *m = &set->members[i];
            if (!m->is_entry || m->is_made || (m->target != NULL) != links) continue;
            int failed = make_entry(set, m);
            if (failed)
                return tare_outset_fail_errno(err, failed, "an output file cannot be created",
                                              m->name);
        }
    bool is_refused = false;
    for (size_t i = set->n_members; i > 0; i--) { /* a folder after what lies in it */
        const tare_out_member *m = &set->members[i - 1];
        int failed = m->has_stamp ? stamp(set, m) : 0;
        if (failed == EPERM || tare_os_is_unsupported(failed))
            is_refused = true;
        else if (failed)
            return tare_outset_fail_errno(
                err, failed, "an output file cannot be given its permissions and time", m->name);
    }
    if (is_refused) note_stamp(set);
    return TARE_OK;
}
