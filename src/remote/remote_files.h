/* SPDX-License-Identifier: MIT
 *
 * Presents what a URL leads to as files and directories, for drivers, which look for more files in
 * the directory of the one they were given. Used while a model is opened. */
#ifndef TARE_REMOTE_REMOTE_FILES_H
#define TARE_REMOTE_REMOTE_FILES_H

#include "base/files.h"
#include "remote/hub.h"
#include "remote/session.h"

typedef struct tare_remote_files {
    tare_files files; /* first: what drivers are handed */
    tare_remote *remote;
    tare_arena arena;
    const char *root; /* what stands for the URL in paths: nothing in it is secret */
    bool is_directory;
    bool is_hub, is_s3;
    tare_str base;      /* of both: what stands before the paths of files, without the slash */
    tare_hub_name name; /* of the hub */
    tare_str bucket;    /* of a store */
    tare_str prefix;    /* of a store: what keys begin with before the paths of files */
    tare_listing list;  /* of a directory */
    tare_url url;       /* of all others */
    const char *userinfo;
    /* Of the file that is opened next, which is of no list: where reading begins, and what takes it. */
    uint64_t from;
    const tare_remote_sink *sink;
    tare_remote_file *opened;
} tare_remote_files;

/* Looks at a URL; the list of files of a directory is fetched. To be ended whatever comes back. */
tare_status tare_remote_files_begin(tare_remote_files *out, tare_remote *remote, const char *url,
                                    const tare_limits *limits, tare_error *err);
/* `is_opened`: the files now belong to a model, whose tensors will be read. */
void tare_remote_files_end(tare_remote_files *files, bool is_opened);

#endif
