/* SPDX-License-Identifier: MIT */
#include "base/descriptor.h"

#include <errno.h>
#include <unistd.h>

tare_status tare_descriptor_write(int fd, const void *bytes, size_t n, tare_error *err) {
    const uint8_t *at = bytes;
    while (n > 0) {
        ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) {
            tare_status status = tare_fail_errno(err, errno, "the output cannot be written");
            tare_error_code(err, TARE_CODE_OUTPUT_WRITE);
            return status;
        }
        at += done;
        n -= (size_t)done;
    }
    return TARE_OK;
}

void tare_descriptor_close(int fd) {
    close(fd);
}
