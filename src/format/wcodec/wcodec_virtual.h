/* SPDX-License-Identifier: MIT
 *
 * A .wcodec as what it was made of: its regions, and files put together of ranges of them, are read
 * at any place. Only the segments asked for are decoded; a bounded number of them is kept for
 * reads that go on where the last one stopped. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_VIRTUAL_H
#define TARE_FORMAT_WCODEC_WCODEC_VIRTUAL_H

#include <tare/model.h>
#include <tare/wcodec.h>

#include "format/wcodec/wcodec_index.h"
#include "format/wcodec/wcodec_salvage.h"
#include "wcodec/layer/wc_layer.h"

/* Immutable once opened; any number of threads may read. */
typedef struct tare_wcodec_store tare_wcodec_store;

/* Reads the directory. The reader is taken over, also when this fails. */
tare_status tare_wcodec_store_open(tare_wcodec_store **out, tare_reader *file,
                                   const tare_limits *limits, const tare_allocator *allocator,
                                   tare_error *err);
/* The same of a container whose directory is damaged, as far as there is one. damage->is_unchecked
 * false: nothing is wrong with it. */
tare_status tare_wcodec_store_salvage(tare_wcodec_store **out, tare_wcodec_damage *damage,
                                      tare_reader *file, const tare_limits *limits,
                                      const tare_allocator *allocator, tare_error *err);
void tare_wcodec_store_free(tare_wcodec_store *store);
const tare_wcodec_index *tare_wcodec_store_index(const tare_wcodec_store *store);
const tare_reader *tare_wcodec_store_file(const tare_wcodec_store *store);
uint64_t tare_wcodec_store_directory_bytes(const tare_wcodec_store *store);
/* From how many groups of bypass bits on a layer is read whole, as far as the heads of its planes
 * tell; 0: it is in any case. */
tare_status tare_wcodec_store_groups(tare_wcodec_store *store, uint32_t layer, unsigned *out,
                                     tare_error *err);
/* Before anything is read: who is told what (it must live as long), and how many groups of bypass
 * bits are read of tensors of numbers that may be coarse. */
void tare_wcodec_store_watch(tare_wcodec_store *store, const tare_wc_watch *watch, unsigned groups);
/* Whether its numbers stand for real ones, so that fewer bits of them make sense. */
bool tare_wcodec_may_be_coarse(const tare_wcodec_layer *layer);
/* The model that base record `base` is of, which must outlive the store. */
void tare_wcodec_store_set_base(tare_wcodec_store *store, uint32_t base, const tare_model *model);
/* Whether a layer refers to a base model that is not set. */
bool tare_wcodec_store_lacks_base(const tare_wcodec_store *store, uint32_t layer);
/* While the driver of what is packed reads its directory: it may read ahead, into tensors that are
 * damaged or need a base nobody has named yet. These are zeros as long. */
void tare_wcodec_store_opening(tare_wcodec_store *store, bool is_opening);

/* n bytes of a region from byte `offset` on, which are there. Errors name the container. */
tare_status tare_wcodec_store_read(tare_wcodec_store *store, uint32_t layer, unsigned region,
                                   uint64_t offset, void *buf, size_t n, tare_error *err);
/* Decodes all of a layer for the sake of its checks; `watch`, which must have `lost`, is told what
 * cannot be decoded. Segments that refer to a base which is not set are left out. For any thread,
 * whatever else is read. */
tare_status tare_wcodec_store_survey(tare_wcodec_store *store, uint32_t layer,
                                     const tare_wc_watch *watch, tare_error *err);
/* A layer with its heads, as the public functions know it; the store must outlive it. */
tare_status tare_wcodec_store_coded(tare_coded **out, const tare_wcodec_store *store,
                                    uint32_t layer, const tare_allocator *allocator,
                                    tare_error *err);
/* Bytes of a region that some whole segments reach over: what begins and ends at multiples of it is
 * decoded once, straight into place, and stays in a core's own cache meanwhile. */
uint64_t tare_wcodec_step(const tare_wcodec_layer *layer, unsigned region);
/* A reader of ranges, one behind the other; they and the name must live as long as it does. */
tare_status tare_wcodec_store_reader(tare_reader *out, tare_wcodec_store *store,
                                     const tare_wcodec_range *ranges, size_t n, const char *name,
                                     tare_error *err);
/* The layer and region that bytes offset .. offset + n - 1 of such a reader are of; false: of
 * several, or it is another reader. */
bool tare_wcodec_reader_range(tare_wcodec_range *out, const tare_reader *reader, uint64_t offset,
                              uint64_t n);

#endif
