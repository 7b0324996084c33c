/* SPDX-License-Identifier: MIT
 *
 * What verbs see of an open .wcodec apart from its bytes (format/packed.h). */
#include "format/wcodec/wcodec_virtual.h"

tare_packed_contents tare_packed_describe(const tare_packed *store) {
    const tare_wcodec_index *x = tare_wcodec_store_index(store);
    return (tare_packed_contents){.digest = x->digest,
                                  .n_layers = x->n_layers,
                                  .n_bases = x->n_bases,
                                  .n_files = x->n_files,
                                  .bases = x->bases,
                                  .files = x->files,
                                  .is_directory = x->files_form == 2};
}

tare_packed_part tare_packed_describe_layer(const tare_packed *store, uint32_t layer) {
    const tare_wcodec_layer *l = &tare_wcodec_store_index(store)->layers[layer];
    return (tare_packed_part){.name = l->name,
                              .is_tensor = l->kind == TARE_WCODEC_TENSOR,
                              .has_data = l->coded.size != 0,
                              .lacks_base = tare_wcodec_store_lacks_base(store, layer),
                              .base = l->base};
}

tare_status tare_packed_check(const tare_packed *store, uint32_t layer, tare_error *err) {
    const tare_wc_opened o = {.file = tare_packed_source(store),
                              .layer = &tare_wcodec_store_index(store)->layers[layer].coded};
    return tare_wc_check_layer(&o, err);
}
