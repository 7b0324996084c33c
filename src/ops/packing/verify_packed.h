/* SPDX-License-Identifier: MIT
 *
 * Verifying what only a .wcodec has. */
#ifndef TARE_OPS_PACKING_VERIFY_PACKED_H
#define TARE_OPS_PACKING_VERIFY_PACKED_H

#include <tare/inspect.h>
#include <tare/model.h>

#include "format/packed.h"

/* What has been reported here, and will come up again when the model's tensors are read. */
typedef struct tare_packed_faults {
    bool is_damaged, lacks_base;
} tare_packed_faults;

/* Reports layers whose CRC is wrong ("wcodec.layer"), segments that cannot be decoded ("wcodec.
 * segment"), base models that are missing ("wcodec.base") and, where nothing of the kind is found,
 * a model that is not that of the header ("wcodec.digest"), which a share does not find out: then other
 * shares may have the segments that cannot be read. Other formats have nothing of this. */
tare_status tare_verify_packed(tare_packed_faults *out, const tare_model *model, tare_share share,
                               const tare_context *context, tare_error *err);

/* The first part of it: reports layers that do not have their CRC ("wcodec.layer"). */
tare_status tare_verify_layers(tare_packed *store, const tare_context *context, tare_error *err);

#endif
