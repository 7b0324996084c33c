/* SPDX-License-Identifier: MIT
 *
 * libfuse3, loaded when something is mounted: whoever mounts nothing does without it. */
#ifndef TARE_CLI_FUSE_LIBRARY_H
#define TARE_CLI_FUSE_LIBRARY_H

#include <tare/base.h>

/* A build without the header of libfuse3 mounts nothing. */
#if !defined(TARE_NO_FUSE) && defined(__linux__) && defined(__has_include)
#if __has_include(<fuse3/fuse_lowlevel.h>)
#define TARE_HAS_FUSE 1
#endif
#endif
#ifndef TARE_HAS_FUSE
#define TARE_HAS_FUSE 0
#endif

#if TARE_HAS_FUSE
#define FUSE_USE_VERSION 31
#include <stdarg.h>

#include <fuse3/fuse_lowlevel.h>

/* The functions that are used, by name: those that are the same in all versions of the library. */
#define CLI_FUSE_FUNCTIONS(X)                                                                      \
    X(session_new, struct fuse_session *,                                                          \
      (struct fuse_args *, const struct fuse_lowlevel_ops *, size_t, void *))                      \
    X(opt_free_args, void, (struct fuse_args *))                                                   \
    X(session_mount, int, (struct fuse_session *, const char *))                                   \
    X(session_unmount, void, (struct fuse_session *))                                              \
    X(session_fd, int, (struct fuse_session *))                                                    \
    X(session_destroy, void, (struct fuse_session *))                                              \
    X(session_exit, void, (struct fuse_session *))                                                 \
    X(session_exited, int, (struct fuse_session *))                                                \
    X(session_receive_buf, int, (struct fuse_session *, struct fuse_buf *))                        \
    X(session_process_buf, void, (struct fuse_session *, const struct fuse_buf *))                 \
    X(reply_err, int, (fuse_req_t, int))                                                           \
    X(reply_none, void, (fuse_req_t))                                                              \
    X(reply_entry, int, (fuse_req_t, const struct fuse_entry_param *))                             \
    X(reply_attr, int, (fuse_req_t, const struct stat *, double))                                  \
    X(reply_readlink, int, (fuse_req_t, const char *))                                             \
    X(reply_open, int, (fuse_req_t, const struct fuse_file_info *))                                \
    X(reply_buf, int, (fuse_req_t, const char *, size_t))                                          \
    X(reply_statfs, int, (fuse_req_t, const struct statvfs *))                                     \
    X(req_userdata, void *, (fuse_req_t))                                                          \
    X(add_direntry, size_t,                                                                        \
      (fuse_req_t, char *, size_t, const char *, const struct stat *, off_t))                      \
    X(lowlevel_notify_store, int,                                                                  \
      (struct fuse_session *, fuse_ino_t, off_t, struct fuse_bufvec *, enum fuse_buf_copy_flags))

typedef struct cli_fuse {
#define CLI_FUSE_MEMBER(name, result, arguments) result(*name) arguments;
    CLI_FUSE_FUNCTIONS(CLI_FUSE_MEMBER)
#undef CLI_FUSE_MEMBER
    /* where its own messages go; NULL: it is older than 3.7 */
    void (*set_log_func)(void (*log)(int level, const char *format, va_list args));
} cli_fuse;

/* Loads it, for as long as the process lives. UNSUPPORTED: it is not there. */
tare_status cli_fuse_load(cli_fuse *out, tare_error *err);
#endif

#endif
