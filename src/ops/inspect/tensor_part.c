/* SPDX-License-Identifier: MIT
 *
 * What a tensor is for, in words: the roles by which mixes choose types, for display. */
#include <tare/inspect.h>

#include "base/status.h"
#include "ops/mix/roles.h"

static const char *const role_names[] = {
    [TARE_ROLE_UNKNOWN] = NULL,
    [TARE_ROLE_NORM] = "norm",
    [TARE_ROLE_TOKEN_EMBEDDING] = "token embedding",
    [TARE_ROLE_POSITION_EMBEDDING] = "position embedding",
    [TARE_ROLE_TYPE_EMBEDDING] = "type embedding",
    [TARE_ROLE_OUTPUT] = "output",
    [TARE_ROLE_ATTN_Q] = "attention query",
    [TARE_ROLE_ATTN_K] = "attention key",
    [TARE_ROLE_ATTN_V] = "attention value",
    [TARE_ROLE_ATTN_QKV] = "attention QKV",
    [TARE_ROLE_ATTN_OUTPUT] = "attention output",
    [TARE_ROLE_FFN_UP] = "feed-forward up",
    [TARE_ROLE_FFN_GATE] = "feed-forward gate",
    [TARE_ROLE_FFN_DOWN] = "feed-forward down",
    [TARE_ROLE_FFN_GATE_UP] = "feed-forward gate and up",
    [TARE_ROLE_ROUTER] = "router",
    [TARE_ROLE_SSM] = "recurrent",
    [TARE_ROLE_ROPE] = "rotary embedding",
};

tare_status tare_tensor_part_of_name(tare_tensor_part *out, tare_str name, tare_error *err) {
    TARE_REQUIRE(out && (name.ptr || name.len == 0), err);
    TARE_TRY(tare_result_check(out, err));
    const tare_role_info info = tare_role_of_name(name);
    const tare_tensor_part part = {.role = role_names[info.role],
                                   .layer = info.layer,
                                   .expert = info.expert,
                                   .is_expert = info.is_expert,
                                   .is_shared = info.is_shared,
                                   .is_bias = info.is_bias};
    tare_result_write(out, &part, sizeof part);
    return TARE_OK;
}
