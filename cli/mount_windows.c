/* SPDX-License-Identifier: MIT
 *
 * Nothing is mounted on Windows. */
#include "mount.h"

tare_status cli_mount_check(tare_error *err) {
    *err = (tare_error){.status = TARE_ERR_UNSUPPORTED,
                        .item = -1,
                        .offset = TARE_NO_OFFSET,
                        .what = "nothing can be mounted on Windows"};
    return err->status;
}

static int fail(void) {
    tare_error err;
    cli_mount_check(&err);
    return cli_fail(&err, NULL);
}

bool cli_mount_begin(int *code, const cli_mount *mount) {
    (void)mount;
    *code = fail();
    return false;
}

bool cli_mount_is_ready(void) {
    return true;
}

int cli_mount_serve(const cli_mount *mount, tare_view *view) {
    (void)mount, (void)view;
    return fail();
}

int cli_mount_end(const char *folder) {
    (void)folder;
    return fail();
}
