/* SPDX-License-Identifier: MIT
 *
 * Loading libtare_cuda. */
#include "device/cuda_library.h"

#include "base/os_system.h"
#include "base/status.h"

static const char file_name[] = "libtare_cuda.so.0";

tare_status tare_cuda_library_load(tare_cuda_library *out, tare_error *err) {
    bool is_complete = true;
    void *library = tare_library_load(file_name);
    if (!library)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "GPUs are used with libtare_cuda, and libtare_cuda.so.0 is not installed");
#define FIND(name, result, arguments)                                                              \
    is_complete = is_complete &&                                                                   \
                  tare_library_find(library, "tare_cuda_" #name, &out->name, sizeof out->name);
    TARE_CUDA_FUNCTIONS(FIND)
#undef FIND
    if (is_complete) return TARE_OK;
    tare_library_drop(library);
    return tare_fail(err, TARE_ERR_UNSUPPORTED, "libtare_cuda.so.0 is of another version");
}
