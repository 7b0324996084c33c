/* SPDX-License-Identifier: MIT
 *
 * Long text on a terminal goes through a pager, as git does it: $PAGER, else less, which then shows
 * a text of one screen as it is (LESS=FRX). What is piped is never paged. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

static bool is_on_path(const char *name) {
    const char *path = getenv("PATH");
    char file[1024];
    for (const char *at = path ? path : ""; *at;) {
        const size_t n = strcspn(at, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)n, at, name);
        if (n && access(file, X_OK) == 0) return true;
        at += n + (at[n] == ':');
    }
    return false;
}

/* NULL: none is wanted, or there is none. */
static const char *pager(void) {
    const char *own = getenv("PAGER"), *term = getenv("TERM");
    if (!isatty(STDOUT_FILENO) || !term || strcmp(term, "dumb") == 0) return NULL;
    if (!own) return is_on_path("less") ? "less" : NULL;
    return *own && strcmp(own, "cat") != 0 ? own : NULL;
}

/* The process that reads from `fd`; -1: there is none. */
static pid_t start(const char *command, const int fds[2]) {
    const pid_t child = fork();
    if (child != 0) return child;
    dup2(fds[0], STDIN_FILENO);
    close(fds[0]);
    close(fds[1]);
    setenv("LESS", "FRX", 0);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

void cli_page(void (*print)(FILE *out, const void *what), const void *what) {
    const char *command = pager();
    int fds[2];
    cli_flush();
    if (!command || pipe(fds) != 0) {
        print(stdout, what);
        return;
    }
    const pid_t child = start(command, fds);
    close(fds[0]);
    FILE *out = child > 0 ? fdopen(fds[1], "w") : NULL;
    if (!out) {
        close(fds[1]);
        print(stdout, what);
        return;
    }
    signal(SIGPIPE, SIG_IGN); /* a pager that is left early */
    signal(SIGINT, SIG_IGN);  /* which is the pager's: it says when the help is over */
    signal(SIGQUIT, SIG_IGN);
    cli_terminal_is(out);
    print(out, what);
    fclose(out);
    cli_terminal_is(NULL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) print(stdout, what); /* no such pager */
}
