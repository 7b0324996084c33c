/* SPDX-License-Identifier: MIT
 *
 * Guards against progress in logs, against lines that are wider than the terminal or stay behind
 * when the work is done, and against a ^C that is lost or that kills before cleaning up. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/cli.h"

static int open_terminal(unsigned short columns, int *slave) {
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    *slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(*slave >= 0);
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    assert_int_equal(ioctl(*slave, TIOCSWINSZ, &size), 0);
    return master;
}

/* What half a second of work writes to a stderr that is `fd`. */
static void work_with_stderr(int fd) {
    int saved = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    cli_progress_start("writing");
    assert_false(cli_progress(NULL, 0, 1000));
    nanosleep(&(struct timespec){0, 600 * 1000 * 1000}, NULL);
    assert_false(cli_progress(NULL, UINT64_C(1) << 30, UINT64_C(4) << 30));
    cli_progress_end();
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
}

/* All that was written; a terminal may hand it over in pieces. */
static void read_all(int fd, char *text, size_t size) {
    size_t n = 0;
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    while (n + 1 < size && poll(&wait, 1, 300) > 0) {
        ssize_t got = read(fd, text + n, size - 1 - n);
        if (got <= 0) break;
        n += (size_t)got;
    }
    text[n] = '\0';
}

static void a_terminal_sees_rate_and_time(void **state) {
    (void)state;
    int slave, master = open_terminal(100, &slave);
    char text[1000];
    work_with_stderr(slave);
    read_all(master, text, sizeof text);
    assert_non_null(strstr(text, "\rwriting   25 %  1.07 GB of 4.29 GB  "));
    assert_non_null(strstr(text, "B/s  0:0"));
    assert_string_equal(text + strlen(text) - 4, "\r\033[K");
    close(slave);
    close(master);
}

static void a_narrow_terminal_is_not_overrun(void **state) {
    (void)state;
    int slave, master = open_terminal(20, &slave);
    char text[1000];
    work_with_stderr(slave);
    read_all(master, text, sizeof text);
    assert_string_equal(text, "\rwriting   25 %  ...\033[K\r\033[K");
    close(slave);
    close(master);
}

static void a_pipe_sees_nothing(void **state) {
    (void)state;
    int ends[2];
    char text[1000];
    assert_int_equal(pipe(ends), 0);
    work_with_stderr(ends[1]);
    read_all(ends[0], text, sizeof text);
    assert_string_equal(text, "");
    close(ends[0]);
    close(ends[1]);
}

static void quiet_is_quiet(void **state) {
    (void)state;
    int slave, master = open_terminal(100, &slave);
    char text[1000];
    cli.quiet = true;
    work_with_stderr(slave);
    cli.quiet = false;
    read_all(master, text, sizeof text);
    assert_string_equal(text, "");
    close(slave);
    close(master);
}

/* What a child says on stderr that gets the signal while it does not work; its status. */
static int stopped_between(char *text, size_t size, bool is_ignored) {
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGTERM, is_ignored ? SIG_IGN : SIG_DFL);
        cli_progress_start("planning");
        cli_progress_end();
        raise(SIGTERM);
        _exit(CLI_YES);
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    read_all(ends[0], text, size);
    close(ends[0]);
    return status;
}

static void a_signal_between_two_pieces_of_work_ends_it(void **state) {
    (void)state;
    char text[100];
    int status = stopped_between(text, sizeof text, false);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), CLI_CANCELLED);
    assert_string_equal(text, "tare: cancelled\n");
    status = stopped_between(text, sizeof text, true);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), CLI_YES);
    assert_string_equal(text, "");
}

/* Runs last: the stop stays asked for. */
static void a_signal_asks_to_stop(void **state) {
    (void)state;
    struct sigaction action;
    signal(SIGHUP, SIG_IGN);
    cli_progress_start("writing");
    assert_false(cli_progress(NULL, 0, 1));
    raise(SIGHUP);
    assert_false(cli_progress(NULL, 0, 1));
    raise(SIGINT);
    assert_true(cli_progress(NULL, 0, 1));
    sigaction(SIGINT, NULL, &action);
    assert_true(action.sa_handler == SIG_DFL); /* a second one ends the process */
    cli_progress_end();
    cli_progress_start("writing");
    assert_true(cli_progress(NULL, 0, 1));
    sigaction(SIGINT, NULL, &action);
    assert_true(action.sa_handler == SIG_DFL);
    cli_progress_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_sees_rate_and_time),
        cmocka_unit_test(a_narrow_terminal_is_not_overrun),
        cmocka_unit_test(a_pipe_sees_nothing),
        cmocka_unit_test(quiet_is_quiet),
        cmocka_unit_test(a_signal_between_two_pieces_of_work_ends_it),
        cmocka_unit_test(a_signal_asks_to_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
