/* SPDX-License-Identifier: MIT
 *
 * What edit_journal.c and edit_recover.c share: the files that an interrupted edit leaves. */
#ifndef TARE_OPS_EDIT_EDIT_RECOVER_H
#define TARE_OPS_EDIT_EDIT_RECOVER_H

#include "base/os_path.h"
#include "ops/edit/edit_journal.h"

#define TARE_EDIT_JOURNAL_SUFFIX ".tare-edit"

/* Executes a journal, however much of it was done before. */
tare_status tare_edit_journal_finish(const tare_edit_journal *journal, int dir_fd, tare_error *err);
/* Locks an open journal; false: another is at work with it, or has removed it. */
tare_status tare_edit_journal_lock(int fd, int dir_fd, const char *name, tare_error *err);
/* Whether an edit in this directory, by this user, made the journal that is open as `fd`, and all
 * files that it names are those of that edit. Only then its names mean anything. */
bool tare_edit_journal_is_ours(const tare_edit_journal *journal, int dir_fd, int fd);
/* Removes the journal of that name (NULL: none), and the files that were to be renamed into place.
 */
tare_status tare_edit_journal_discard(const tare_edit_journal *journal, int dir_fd,
                                      const char *name, tare_error *err);

#endif
