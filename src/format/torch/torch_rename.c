/* SPDX-License-Identifier: MIT
 *
 * Names after all of a file has been seen: without the keys that wrap everything, and no two alike.
 * Keys 1 and "1", or a key "a.b" and "b" under "a", lead to one name: those that come later get a
 * number. */
#include "format/same_names.h"
#include "format/torch/torch.h"

/* The length of what all names begin with and wrappers are; with the dot that follows. */
static size_t wrappers(const tare_torch_file *f) {
    const tare_strided_tensor *first = &f->lists.tensors[0];
    size_t cut = first->wrapped;
    for (size_t i = 1; i < f->lists.n_tensors; i++) {
        const tare_strided_tensor *t = &f->lists.tensors[i];
        if (t->wrapped < cut) cut = t->wrapped;
        while (cut && (memcmp(t->name.ptr, first->name.ptr, cut) != 0 ||
                       (first->name.len > cut && first->name.ptr[cut] != '.')))
            cut--;
    }
    return cut && cut < first->name.len ? cut + 1 : 0;
}

tare_status tare_torch_rename(tare_torch_file *f, tare_error *err) {
    const tare_same_names names = {.m = f->m,
                                   .scratch = &f->scratch,
                                   .report = f->report,
                                   .code = "torch.same-name",
                                   .why = "keys of other types lead to one name"};
    const size_t cut = f->lists.n_tensors ? wrappers(f) : 0;
    for (size_t i = 0; i < f->lists.n_tensors; i++)
        f->lists.tensors[i].name = tare_str_cut(f->lists.tensors[i].name, cut);
    TARE_TRY(tare_same_names_number(&names, f->lists.tensors, f->lists.n_tensors,
                                    sizeof *f->lists.tensors, TARE_ITEM_TENSOR, err));
    return tare_same_names_number(&names, f->lists.metadata, f->lists.n_metadata,
                                  sizeof *f->lists.metadata, TARE_ITEM_KEY, err);
}
