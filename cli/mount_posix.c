/* SPDX-License-Identifier: MIT
 *
 * The process behind a mount, and ending one. The child opens everything itself, so that its messages
 * are those of the command, and says with a byte that it has mounted. */
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready_fd = -1; /* of the child; -1: in the foreground, or said */

static int exit_code_of(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return CLI_IO;
    return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_IO;
}

bool cli_mount_begin(int *code, const cli_mount *mount) {
    int fds[2];
    char byte;
    ssize_t n;
    if (mount->in_foreground) return true;
    if (pipe(fds) != 0) {
        *code = cli_fail_text(CLI_IO, "no process can be started: %s", strerror(errno));
        return false;
    }
    const pid_t child = fork();
    if (child == 0) {
        close(fds[0]);
        ready_fd = fds[1];
        return true;
    }
    close(fds[1]);
    if (child < 0)
        *code = cli_fail_text(CLI_IO, "no process can be started: %s", strerror(errno));
    else {
        while ((n = read(fds[0], &byte, 1)) < 0 && errno == EINTR) continue;
        *code = n == 1 ? CLI_YES : exit_code_of(child);
    }
    close(fds[0]);
    return false;
}

/* Who waits may be gone, which is no signal here but an error. */
bool cli_mount_is_ready(void) {
    ssize_t n;
    if (ready_fd < 0) return true;
    const int nothing = open("/dev/null", O_RDWR);
    setsid();
    signal(SIGPIPE, SIG_IGN);
    do n = nothing < 0 ? -1 : write(ready_fd, "", 1);
    while (n < 0 && errno == EINTR);
    if (n != 1) {
        cli_fail_text(CLI_IO, "the mount ends: its process cannot be left alone: %s",
                      strerror(errno));
        return false;
    }
    for (int fd = 0; fd <= STDERR_FILENO; fd++) dup2(nothing, fd);
    if (nothing > STDERR_FILENO) close(nothing);
    close(ready_fd);
    ready_fd = -1;
    return true;
}

#if defined(__linux__)
/* What unmounts for a user who is not root. */
static int run_fusermount(const char *how, const char *folder) {
    const pid_t child = fork();
    if (child == 0) {
        execlp("fusermount3", "fusermount3", how, "--", folder, (char *)NULL);
        fprintf(stderr, "tare: fusermount3: %s\n", strerror(errno));
        _exit(CLI_IO);
    }
    if (child < 0) return cli_fail_text(CLI_IO, "no process can be started: %s", strerror(errno));
    return exit_code_of(child) == 0 ? CLI_YES : CLI_IO;
}
#endif

bool cli_mount_detach(const char *folder) {
#if defined(__linux__)
    if (umount2(folder, MNT_DETACH) == 0) return true;
    return errno == EPERM && run_fusermount("-uz", folder) == CLI_YES;
#else
    (void)folder;
    return false;
#endif
}

int cli_mount_end(const char *folder) {
#if defined(__linux__)
    if (umount2(folder, 0) == 0) return CLI_YES;
    if (errno == EPERM) return run_fusermount("-u", folder);
#else
    errno = ENOTSUP;
#endif
    char *safe = cli_escape_path(folder);
    const int code =
        errno == EINVAL ? cli_fail_text(CLI_USAGE, "%s: nothing is mounted there", safe)
        : errno == EBUSY
            ? cli_fail_text(CLI_IO, "%s: in use: files in it are open", safe)
            : cli_fail_text(CLI_IO, "%s: cannot be unmounted: %s", safe, strerror(errno));
    free(safe);
    return code;
}
