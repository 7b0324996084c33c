/* SPDX-License-Identifier: MIT
 *
 * A .wcodec as what it was made from: its regions, and files assembled from ranges of them, can be
 * read at any position. Only the segments asked for are decoded; a bounded number of them is kept
 * for reads that go on where the last one stopped. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_VIRTUAL_H
#define TARE_FORMAT_WCODEC_WCODEC_VIRTUAL_H

#include "format/packed.h"
#include "format/wcodec/wcodec_index.h"
#include "format/wcodec/wcodec_salvage.h"
#include "wcodec/layer/coded.h"
#include "wcodec/layer/wc_layer.h"

const tare_wcodec_index *tare_wcodec_store_index(const tare_packed *store);
uint64_t tare_wcodec_store_directory_bytes(const tare_packed *store);
/* Whether a layer refers to a base model that is not set. */
bool tare_wcodec_store_lacks_base(const tare_packed *store, uint32_t layer);
/* While the driver of what is packed reads its directory: it may read ahead, into tensors that are
 * damaged or need a base that has not been set yet. During that time these read as zeros. */
void tare_wcodec_store_opening(tare_packed *store, bool is_opening);
/* One file of several is opened as a model, which the header's digest is not of. */
void tare_wcodec_store_note_part(tare_packed *store);
bool tare_wcodec_store_is_part(const tare_packed *store);
/* A layer with its heads, as the public functions know it; the store must outlive it. */
tare_status tare_wcodec_store_coded(tare_coded **out, const tare_packed *store, uint32_t layer,
                                    const tare_allocator *allocator, tare_error *err);
/* A reader of concatenated ranges; these and the name must live as long as it does. */
tare_status tare_wcodec_store_reader(tare_reader *out, tare_packed *store,
                                     const tare_packed_range *ranges, size_t n, const char *name,
                                     tare_error *err);

#endif
