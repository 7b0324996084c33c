/* SPDX-License-Identifier: MIT
 *
 * Width, signedness and kind of numbers, as given by an encoding's fields and its own kind. */
#include <tare/encoding.h>

static const tare_number numbers[] = {
    [TARE_FIELD_U8] = {TARE_NUMBER_INTEGER, 8, false},
    [TARE_FIELD_I8] = {TARE_NUMBER_INTEGER, 8, true},
    [TARE_FIELD_U16] = {TARE_NUMBER_INTEGER, 16, false},
    [TARE_FIELD_I16] = {TARE_NUMBER_INTEGER, 16, true},
    [TARE_FIELD_U32] = {TARE_NUMBER_INTEGER, 32, false},
    [TARE_FIELD_U64] = {TARE_NUMBER_INTEGER, 64, false},
    [TARE_FIELD_F16] = {TARE_NUMBER_FLOAT, 16, true},
    [TARE_FIELD_BF16] = {TARE_NUMBER_FLOAT, 16, true},
    [TARE_FIELD_F32] = {TARE_NUMBER_FLOAT, 32, true},
    [TARE_FIELD_F64] = {TARE_NUMBER_FLOAT, 64, true},
    [TARE_FIELD_E8M0] = {TARE_NUMBER_FLOAT, 8, false},
    [TARE_FIELD_UE4M3] = {TARE_NUMBER_FLOAT, 8, false},
};

tare_number tare_field_number(const tare_field *field) {
    tare_number n = numbers[field->type];
    if (field->bits) n.bits = field->bits;
    return n;
}

/* Fields say what is swapped when the byte order changes, so those of plain types may say less than
 * the type: to them an 8-bit float is a byte. */
static tare_number element_number(const tare_encoding *e) {
    tare_number n = tare_field_number(&e->fields[0]);
    n.bits = (uint8_t)tare_encoding_bits(e);
    switch (e->kind) {
    case TARE_KIND_FLOAT:
        n.kind = TARE_NUMBER_FLOAT;
        n.is_signed = e->id != TARE_ENCODING_F8_E8M0;
        break;
    case TARE_KIND_COMPLEX:
        n.kind = TARE_NUMBER_COMPLEX;
        break;
    default:
        if (e->id == TARE_ENCODING_BOOL) n.kind = TARE_NUMBER_BOOL;
        n.is_signed = e->id == TARE_ENCODING_I8 || e->id == TARE_ENCODING_I16 ||
                      e->id == TARE_ENCODING_I32 || e->id == TARE_ENCODING_I64;
    }
    return n;
}

tare_number tare_plane_number(const tare_encoding *e, uint32_t plane) {
    const tare_number mixed = {TARE_NUMBER_MIXED, 0, false};
    tare_number n = mixed;
    bool is_first = true;
    if (e->kind == TARE_KIND_UNKNOWN || plane >= e->n_planes) return mixed;
    if (e->kind != TARE_KIND_BLOCK) return element_number(e);
    for (unsigned i = 0; i < e->n_fields; i++) {
        if (e->fields[i].plane != plane) continue;
        const tare_number own = tare_field_number(&e->fields[i]);
        if (!is_first && (own.kind != n.kind || own.bits != n.bits || own.is_signed != n.is_signed))
            return mixed;
        n = own;
        is_first = false;
    }
    return n;
}
