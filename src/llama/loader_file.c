/* SPDX-License-Identifier: MIT
 *
 * What llama.cpp's reader of GGUF takes less of than the format allows: it has no arrays of arrays, no
 * long names, and tensors lie one behind the other in the order of their records. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"

#define MOST_DIMS 4
#define MOST_NAME 63

static bool no(tare_error *why, tare_item_kind kind, tare_str item, const char *what) {
    tare_fail(why, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(why, kind, -1, item);
    return false;
}

static bool keys_read(const tare_model *gguf, tare_error *why) {
    for (size_t i = 0; i < gguf->catalog.n_metadata; i++) {
        const tare_metadata *m = &gguf->catalog.metadata[i];
        if (m->value.type == TARE_VALUE_ARRAY && m->value.as.a.type == TARE_VALUE_ARRAY)
            return no(why, TARE_ITEM_KEY, m->key, "llama.cpp reads no arrays of arrays");
    }
    return true;
}

/* Whether a tensor's data is where that of the one before it ends, in the same file. */
static bool follows(const tare_tensor *t, const tare_tensor *before, uint64_t alignment) {
    const tare_plane *p = &before->planes[0], *q = &t->planes[0];
    uint64_t end;
    if (p->file != q->file) return true;
    return tare_align_u64(before->size_bytes, alignment, &end) &&
           tare_add_u64(p->offset, end, &end) && q->offset == end;
}

static bool tensors_read(const tare_model *gguf, uint64_t alignment, tare_error *why) {
    const tare_catalog *c = &gguf->catalog;
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_tensor *t = &c->tensors[i];
        if (t->name.len > MOST_NAME)
            return no(why, TARE_ITEM_TENSOR, t->name, "llama.cpp takes names of 63 bytes at most");
        if (t->n_dims > MOST_DIMS)
            return no(why, TARE_ITEM_TENSOR, t->name, "llama.cpp takes four dimensions at most");
        if (alignment && i && !follows(t, &c->tensors[i - 1], alignment))
            return no(
                why, TARE_ITEM_TENSOR, t->name,
                "its data does not follow that of the tensor before it, as llama.cpp demands");
    }
    return true;
}

bool tare_llama_file_loads(const tare_model *gguf, tare_error *why) {
    const uint64_t alignment = gguf->summary.alignment; /* 0: there is no file yet */
    const tare_layout *layout = gguf->catalog.layout;
    if (layout && layout->version == 1) {
        tare_fail(why, TARE_ERR_UNSUPPORTED, "llama.cpp reads no files of version 1");
        return false;
    }
    if (alignment & (alignment - 1))
        return no(why, TARE_ITEM_KEY, TARE_STR("general.alignment"), "it is not a power of two");
    return keys_read(gguf, why) && tensors_read(gguf, alignment, why);
}
