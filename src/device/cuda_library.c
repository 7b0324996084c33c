/* SPDX-License-Identifier: MIT
 *
 * Loading libtare_cuda. */
#include "device/cuda_library.h"

#include <dlfcn.h>
#include <string.h>

#include "base/status.h"

static const char file_name[] = "libtare_cuda.so.0";

/* What dlsym returns is a function, which ISO C does not let a pointer to an object become. */
static bool find(void *library, const char *name, void *function, size_t size) {
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

tare_status tare_cuda_library_load(tare_cuda_library *out, tare_error *err) {
    bool is_complete = true;
    void *library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "GPUs are used with libtare_cuda, and libtare_cuda.so.0 is not installed");
#define FIND(name, result, arguments)                                                              \
    is_complete = is_complete && find(library, "tare_cuda_" #name, &out->name, sizeof out->name);
    TARE_CUDA_FUNCTIONS(FIND)
#undef FIND
    if (is_complete) return TARE_OK;
    dlclose(library);
    return tare_fail(err, TARE_ERR_UNSUPPORTED, "libtare_cuda.so.0 is of another version");
}
