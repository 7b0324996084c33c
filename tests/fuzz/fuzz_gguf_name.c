/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: GGUF file names. What parses is written again and parses; to the same parts where
 * the name states its version, which is then what tells the parts before it from those after. */
#include <tare/tare.h>

#include <stdlib.h>
#include <string.h>

#include "fuzz_check.h"

static bool same(tare_str a, tare_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

static bool has_space(const uint8_t *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (data[i] <= ' ') return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tare_gguf_name name = tare_gguf_name_default(), again = tare_gguf_name_default();
    if (size > 4096) return 0;
    if (!tare_gguf_name_parse(&name, (tare_str){size ? (const char *)data : "", size})) return 0;
    size_t length = tare_gguf_name_format(NULL, 0, &name);
    char *text = malloc(length + 1);
    FUZZ_CHECK(text != NULL);
    FUZZ_CHECK(tare_gguf_name_format(text, length + 1, &name) == length);
    FUZZ_CHECK(strlen(text) == length);
    if (has_space(data, size)) { /* written as dashes, which may part the words in another way */
        free(text);
        return 0;
    }
    FUZZ_CHECK(tare_gguf_name_parse(&again, (tare_str){text, length}));
    if (name.is_version_assumed) {
        free(text);
        return 0;
    }
    FUZZ_CHECK(same(name.sidecar, again.sidecar) && same(name.base_name, again.base_name));
    FUZZ_CHECK(same(name.size_label, again.size_label) && same(name.fine_tune, again.fine_tune));
    FUZZ_CHECK(same(name.version, again.version) && same(name.encoding, again.encoding));
    FUZZ_CHECK(same(name.type, again.type));
    FUZZ_CHECK(name.shard == again.shard && name.n_shards == again.n_shards);
    free(text);
    return 0;
}
