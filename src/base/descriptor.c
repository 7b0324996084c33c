/* SPDX-License-Identifier: MIT */
#include "base/descriptor.h"

#include "base/os_file.h"

tare_status tare_descriptor_write(int fd, const void *bytes, size_t n, tare_error *err) {
    const int failed = tare_fd_put(fd, bytes, n);
    if (!failed) return TARE_OK;
    const tare_status status = tare_fail_errno(err, failed, "the output cannot be written");
    tare_error_code(err, TARE_CODE_OUTPUT_WRITE);
    return status;
}
