/* SPDX-License-Identifier: MIT
 *
 * Loading libcurl: the file by its SONAME, its functions by their names. */
#include "remote/curl_library.h"

#if TARE_HAS_TRANSPORT
#include "base/os_system.h"

/* The OpenSSL flavour, which all systems have under this name, then Debian's GnuTLS flavour; that of macOS. */
static const char *const file_names[] = {"libcurl.so.4", "libcurl-gnutls.so.4",
                                         "/usr/lib/libcurl.4.dylib"};

tare_status tare_curl_load(tare_curl *out, tare_error *err) {
    *out = (tare_curl){.library = NULL};
    /* It stays loaded: texts of its errors may be kept by the caller. */
    for (size_t i = 0; !out->library && i < sizeof file_names / sizeof *file_names; i++)
        out->library = tare_library_load(file_names[i]);
    if (!out->library)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "URLs are opened with libcurl, and libcurl.so.4 is not installed");
    bool is_complete = true;
#define FIND(name, result, arguments)                                                              \
    is_complete = is_complete &&                                                                   \
                  tare_library_find(out->library, "curl_" #name, &out->name, sizeof out->name);
    TARE_CURL_FUNCTIONS(FIND)
#undef FIND
    if (is_complete && out->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK) return TARE_OK;
    tare_library_drop(out->library);
    *out = (tare_curl){.library = NULL};
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     is_complete ? "libcurl cannot be started"
                                 : "libcurl is too old: version 7.68 or newer is needed");
}

void tare_curl_unload(tare_curl *curl) {
    if (!curl->library) return;
    curl->global_cleanup();
    tare_library_drop(curl->library);
    *curl = (tare_curl){.library = NULL};
}
#else
typedef int tare_no_curl; /* a source may not be empty */
#endif
