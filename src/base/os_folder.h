/* SPDX-License-Identifier: MIT
 *
 * Folders of the file system. */
#ifndef TARE_BASE_OS_FOLDER_H
#define TARE_BASE_OS_FOLDER_H

#include "base/files.h"

/* As tare_files_list. */
tare_status tare_folder_visit(const char *path, tare_files_visit visit, void *ctx, tare_error *err);

#endif
