/* SPDX-License-Identifier: MIT
 *
 * Loading libfuse3: the file by its SONAME, its functions by their names. */
#include "fuse_library.h"

#if TARE_HAS_FUSE
#include <dlfcn.h>
#include <string.h>

static bool find(void *library, const char *name, void *function, size_t size) {
    void *found = dlsym(library, name);
    memcpy(function, &found, size);
    return found != NULL;
}

static tare_status fail(tare_error *err, const char *what) {
    *err = (tare_error){
        .status = TARE_ERR_UNSUPPORTED, .item = -1, .offset = TARE_NO_OFFSET, .what = what};
    return TARE_ERR_UNSUPPORTED;
}

tare_status cli_fuse_load(cli_fuse *out, tare_error *err) {
    bool is_complete = true;
    void *library = dlopen("libfuse3.so.3", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libfuse3.so.4", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(err, "mounting needs libfuse3, which is not installed (Debian: fuse3)");
#define FIND(name, result, arguments)                                                              \
    is_complete = is_complete && find(library, "fuse_" #name, &out->name, sizeof out->name);
    CLI_FUSE_FUNCTIONS(FIND)
#undef FIND
    find(library, "fuse_set_log_func", &out->set_log_func, sizeof out->set_log_func);
    return is_complete ? TARE_OK : fail(err, "libfuse3 is too old: version 3.1 or newer is needed");
}
#else
typedef int tare_no_fuse; /* a source may not be empty */
#endif
