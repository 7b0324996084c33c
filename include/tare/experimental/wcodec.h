/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/wcodec.h: the weight codec in memory, without files. With the same options its output is
 * byte for byte what a .wcodec stores for the same layer (docs/wcodec.md, 5 to 9).
 *
 *     tare_coded_field field = {0};
 *     tare_coded_region region = {0};
 *     tare_coded *coded;
 *     field.value_bits = 8;                            // one int8 a value, one after the other
 *     region.bytes = weights, region.size = n;
 *     if (tare_coded_encode(&coded, &region, 1, &field, 1, NULL, &err) != TARE_OK) ...
 *     tare_coded_decode_region(back, coded, 0, 0, n, NULL, &err);
 *     tare_coded_free(coded);
 *
 * A layer has one to four regions of bytes. A region is a sequence of units of equal size (a
 * number, a quantization block). A field selects the same `width` bytes of every unit; together
 * these bytes form a stream, which is cut into segments of 2^log2_segment values. Each segment can
 * be decoded on its own.
 */
#ifndef TARE_EXPERIMENTAL_WCODEC_H
#define TARE_EXPERIMENTAL_WCODEC_H

#include <tare/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TARE_CODED_MAX_REGIONS = 4,
    TARE_CODED_MAX_STREAMS = 32,
    TARE_CODED_UNIT = 64, /* sizes of heads and segments are multiples of this */
};

/* How a segment is stored. When requested, for a field or for a whole file, a mode is used wherever
 * possible. Segments that cannot use it (DIRECT with more than 2^20 values, ZSTD where nothing
 * shrinks) are stored as RAW. */
typedef enum tare_coded_mode {
    TARE_CODED_SMALLEST = 0, /* whichever mode takes the fewest bytes */
    TARE_CODED_RAW = 1,
    TARE_CODED_CONSTANT = 2,
    TARE_CODED_ZSTD = 3,
    TARE_CODED_DIRECT = 4,
    TARE_CODED_STRUCTURED = 5,
} tare_coded_mode;

/* Fields whose values are split over two runs of their unit: the low four bits as nibbles, in
 * order, in the 2^(log2_values - 1) bytes at the field's offset; one or two high bits of each
 * value, packed in the same way, in high_bits * 2^(log2_values - 3) bytes at high_offset. An index
 * v has log2_values bits; the high bits of value v are at the index obtained by moving each bit i
 * of v to bit place[i]. */
typedef struct tare_coded_join {
    uint32_t high_offset;
    uint8_t high_bits;   /* 1, 2; 0: the field is not joined */
    uint8_t log2_values; /* of a unit, 3..10 */
    uint8_t place[10];   /* a permutation of 0..log2_values - 1 */
} tare_coded_join;

/* How a stream is cut out of its region. Zero-initialised except for `value_bits`, it is the whole
 * of region 0. */
typedef struct tare_coded_field {
    uint8_t region;
    uint8_t value_bits;   /* 4 (low nibble first), 6 (four in three bytes), 8, 16 */
    uint8_t log2_segment; /* 14..26; 0: the encoder chooses */
    bool is_big_endian;   /* values of 16 bits */
    uint32_t stride;      /* bytes of a unit; 0: the smallest (1; of 6-bit values 3, of 16-bit 2) */
    uint32_t offset;      /* of the field's bytes within a unit */
    uint32_t width; /* how many; 0: up to the end of the unit. Of 6-bit values a multiple of 3,
                        of 16-bit even */
    /* Hints for the encoder; decoding does not use them. */
    bool is_signed;     /* values are two's complement */
    bool is_repetitive; /* text, integers, masks: try zstd even without is_full */
    uint8_t trellis;    /* 8 or 32: the values are steps of a trellis with this many states */
    uint8_t mode;       /* tare_coded_mode */
    uint32_t row;       /* values per row of the matrix; 0: unknown, no tiles */
    /* Scales, for 8-bit codes that are predicted from a base whose scales differ. */
    uint8_t scale_stream;      /* 1 + the index of an earlier field of 16-bit values; 0: none */
    uint8_t scale_form;        /* 1: IEEE binary16, 2: bfloat16 */
    uint32_t values_per_scale; /* at least 1 where there are scales */
    tare_coded_join join;  /* 6-bit values only; the stream packs four values into three bytes */
    bool is_packed_scales; /* 6-bit values only, 12 bytes per unit: eight scales and eight minima in
                              the layout of Q4_K and Q5_K */
} tare_coded_field;

/* The bytes of a region. */
typedef struct tare_coded_region {
    const void *bytes; /* `size` of them, a whole number of units. Borrowed */
    size_t size;
    const void *base; /* as many bytes of the base model, to predict from; NULL: none. Either all
                         regions of a layer have a base or none has. Borrowed */
} tare_coded_region;

/* What STRUCTURED segments are made of, as bits of sets. */
typedef enum tare_tile_shape {
    TARE_TILE_16X16 = 1 << 0, /* rows x columns */
    TARE_TILE_8X32 = 1 << 1,
    TARE_TILE_32X8 = 1 << 2,
    TARE_TILE_1X256 = 1 << 3,
} tare_tile_shape;

typedef enum tare_tile_predictor {
    TARE_TILE_PREDICTOR_NONE = 1 << 0,
    TARE_TILE_PREDICTOR_DC =
        1 << 1, /* also what replaces the others where neighbours are missing */
    TARE_TILE_PREDICTOR_LEFT = 1 << 2,
    TARE_TILE_PREDICTOR_TOP = 1 << 3,
    TARE_TILE_PREDICTOR_AVG = 1 << 4,
    TARE_TILE_PREDICTOR_PLANAR = 1 << 5,
} tare_tile_predictor;

typedef enum tare_tile_transform {
    TARE_TILE_TRANSFORM_NONE = 1 << 0,
    TARE_TILE_TRANSFORM_DCT = 1 << 1,
    TARE_TILE_TRANSFORM_ADST = 1 << 2,
} tare_tile_transform;

/* Limits what the encoder may try in STRUCTURED segments; other modes do not depend on it. A set of
 * 0: all that there is. A bit that has no meaning is ERR_ARG. */
typedef struct tare_tile_limits {
    uint32_t shapes, predictors, transforms;
} tare_tile_limits;

typedef struct tare_coded_options {
    size_t size;
    /* NULL: the defaults. Progress counts bytes of regions. zstd's own memory does not come from
     * the allocator */
    const tare_context *context;
    bool is_full;   /* encoding: the smallest form that can be found, instead of a fast one */
    bool is_coarse; /* decoding: use only the first n_groups groups of bypass bits (of 4, 2 or 1
                       bits, the most significant first) and take the middle of the range that the
                       missing bits leave open. Values without bypass bits are exact; coarse ones
                       are not checked */
    unsigned n_groups;
    tare_tile_limits tiles; /* encoding */
} tare_coded_options;

TARE_DECLARE_INIT(tare_coded_options)

/* An encoded layer and what is needed to decode it. Immutable: any number of threads may decode
 * from it at once. What the getters return is valid until tare_coded_free. */
typedef struct tare_coded tare_coded;

/* ---- encoding -------------------------------------------------------------------------------- */

/* Encodes a layer: 1 to 4 regions, cut into up to 32 streams. The streams of a region have the same
 * stride and together cover every byte of its units exactly once. The output depends only on the
 * regions, the fields, is_full and tiles, not on threads or CPU. Regions are read only during the call,
 * but their bases must live as long as *out. Free with tare_coded_free. ERR_ARG: an impossible
 * field or size (err->item: the index of the field; -1 if only the combination is impossible);
 * NOMEM; CANCELLED. */
TARE_API tare_status tare_coded_encode(tare_coded **out, const tare_coded_region *regions,
                                       size_t n_regions, const tare_coded_field *fields,
                                       size_t n_fields, const tare_coded_options *options,
                                       tare_error *err);
TARE_API void tare_coded_free(tare_coded *coded);

/* ---- what was encoded ------------------------------------------------------------------------ */

typedef struct tare_coded_stream {
    tare_coded_field field; /* complete; hints are 0 */
    uint64_t n_bytes;       /* of the decoded stream; a joined one may be larger than its region */
    uint64_t segment_bytes; /* of a decoded segment; the last one may be shorter */
    uint64_t n_segments;
    const uint32_t *sizes; /* of each stored segment, in units of 64 bytes */
    uint64_t position;     /* of the head in the layer's data; the segments follow it */
    uint32_t head_bytes;
} tare_coded_stream;

/* Everything that decoding needs and a container has to store. */
typedef struct tare_coded_layer {
    const uint8_t *data; /* for each stream its head and segments, padded with zeros to a multiple
                            of 128; NULL: in a file that is not in memory, see tare_coded_read */
    uint64_t size;       /* of the data */
    uint32_t crc;        /* CRC-32 of the heads and of the segments' own CRC-32s */
    unsigned n_regions, n_streams;
    uint64_t region_bytes[TARE_CODED_MAX_REGIONS];
    const tare_coded_stream *streams;
    /* For a layer in a file (tare_tensor_coded); tare_coded_open ignores them. */
    const char *file; /* its name; NULL: the layer is in memory */
    uint64_t offset;  /* of the data in it */
    unsigned base;    /* 1 + the index of the base that segments may refer to
                         (tare_model_container_base); 0: none. Bases passed to tare_coded_open for a
                         layer in memory have no index. */
} tare_coded_layer;

/* What *coded consists of; store this to open it again. */
TARE_API const tare_coded_layer *tare_coded_describe(const tare_coded *coded);
/* Opens a layer that was encoded earlier. `layer->data` is borrowed and must live as long as *out,
 * the rest is copied. Only field, sizes, n_segments and head_bytes of each stream are read; the
 * other members follow from them. `bases`: for each region, as many bytes of the base, borrowed;
 * NULL: decoding a layer that needs them fails. Only the allocator of `options` is used. The input
 * need not be trusted. CORRUPT, CHECKSUM (the layer's), LIMIT, TRUNCATED: err->offset counts from
 * data. */
TARE_API tare_status tare_coded_open(tare_coded **out, const tare_coded_layer *layer,
                                     const void *const *bases, const tare_coded_options *options,
                                     tare_error *err);

/* ---- decoding -------------------------------------------------------------------------------- */

/* All functions write to the caller's memory exactly the number of bytes stated; after a failure
 * any part of them may have been written. (For regions of several MiB the system is first advised
 * to use large pages.) CORRUPT, CHECKSUM: err->offset is relative to the layer's data. ERR_ARG: a
 * range out of bounds, or a segment that needs the base. CANCELLED: as requested by progress. */

/* Bytes offset .. offset + n - 1 of a region. Only the segments that contain them are decoded. */
TARE_API tare_status tare_coded_decode_region(void *dst, const tare_coded *coded, unsigned region,
                                              uint64_t offset, size_t n,
                                              const tare_coded_options *options, tare_error *err);
/* All regions; dst[i] takes region_bytes[i] bytes. */
TARE_API tare_status tare_coded_decode_layer(void *const *dst, const tare_coded *coded,
                                             const tare_coded_options *options, tare_error *err);
/* Segments first .. first + n - 1 of a stream, as consecutive bytes of the stream: n *
 * segment_bytes, fewer if the last segment is included. */
TARE_API tare_status tare_coded_decode_segments(void *dst, const tare_coded *coded, unsigned stream,
                                                uint64_t first, uint64_t n,
                                                const tare_coded_options *options, tare_error *err);

/* ---- compressed access: heads, segments, stored bytes ---------------------------------------- */

/* What a caller with its own decoder needs, parsed as docs/wcodec.md describes (5, 6, 8, 9) and
 * checked: every index of a rule or table is in range, and every part of a segment lies within its
 * stored bytes. What only decoding can reveal is left to the decoder: states, ranks of classes,
 * positions of patches, symbols of tiles, the CRC. */

/* How the top and the bypass bits form a value. */
typedef enum tare_coded_form {
    TARE_CODED_PLAIN = 0,
    TARE_CODED_SIGN = 1, /* the sign is the first of the bypass bits */
    TARE_CODED_EDGE = 2, /* bytes, two's complement: 127 and -127 are next to 0 */
} tare_coded_form;

typedef struct tare_coded_rule {
    uint8_t form;        /* tare_coded_form */
    uint8_t bypass_bits; /* k */
    uint8_t trellis;     /* states, 8 or 32; 0: none */
    bool has_map;        /* else the symbol itself is the top, as far as the top has bits */
    uint16_t map[64];    /* the top of each symbol, always filled in */
} tare_coded_rule;

/* A table of the entropy coder, with as many buckets as symbols. A slot of bucket b is symbol b if
 * its unit (slot / 256) is below threshold[b] or if alias[b] = b; otherwise it is symbol alias[b],
 * and adjust[b] is added to its rank modulo 65536. */
typedef struct tare_coded_table {
    uint8_t n_symbols; /* 64 or 16 */
    uint8_t threshold[64], alias[64];
    uint16_t frequency[64]; /* of each symbol; their sum is 65536 */
    uint16_t adjust[64];
} tare_coded_table;

typedef struct tare_coded_head {
    unsigned n_rules, n_tables64, n_tables16, n_contexts;
    const tare_coded_rule *rules;
    const tare_coded_table *tables64, *tables16;
    const uint8_t *contexts; /* STRUCTURED: for each context, its table of 16 symbols */
} tare_coded_head;

/* The head of a stream; NULL: no such stream. Valid as long as *coded. */
TARE_API const tare_coded_head *tare_coded_stream_head(const tare_coded *coded, unsigned stream);

typedef enum tare_coded_predictor {
    TARE_CODED_NO_PREDICTOR = 0,
    TARE_CODED_REF = 1,        /* differences from the base's values */
    TARE_CODED_REF_SCALED = 2, /* from those values, rescaled to the layer's scales */
} tare_coded_predictor;

/* A segment. Each part is given by the offset of its first byte within the segment; parts that a
 * mode does not have are 0. */
typedef struct tare_coded_segment {
    size_t size;                    /* sizeof(tare_coded_segment), set by the caller */
    uint64_t position;              /* in the layer's data */
    uint32_t stored_bytes, n_bytes; /* as stored, a multiple of 64; decoded */
    uint8_t mode;                   /* tare_coded_mode, never SMALLEST */
    uint8_t predictor;              /* tare_coded_predictor */
    uint32_t crc;                   /* CRC-32 of the decoded bytes, after the predictor */
    /* RAW: the bytes; ZSTD: the frame; STRUCTURED: the raw bits. CONSTANT: `pattern`, a single
     * value. */
    uint32_t body, body_bytes;
    uint8_t pattern[4];
    /* DIRECT and STRUCTURED: 64 states of 32 bits, alternating between lanes A and B, and the
     * 16-bit words that lanes A and B read. */
    uint32_t states, words[2], n_words[2];
    /* DIRECT. With classes, each run of 256 positions uses table first_table + its class; the ranks
     * of the classes are coded with class_table, which has 16 symbols. 4-bit values use tables of
     * 16 symbols, the others tables of 64. */
    uint8_t rule, first_table, n_classes, class_table;
    uint32_t n_positions; /* coded positions, padding included */
    uint32_t patches, patches_bytes, n_patches;
    uint8_t patch_rice;              /* bits of a distance that are stored verbatim */
    uint8_t n_groups, group_bits[5]; /* of bypass bits, most significant first */
    uint32_t groups[5], groups_bytes[5];
    /* STRUCTURED */
    uint8_t tile_shape, magnitude_bits;
    bool is_signed;
    uint32_t view_width;
} tare_coded_segment;

TARE_DECLARE_INIT(tare_coded_segment)

/* Parses the header of a segment; its 32 bytes are read from the file if they are not in memory. Of
 * *out only `size` is read. ERR_ARG: no such segment; CORRUPT, UNSUPPORTED, IO: err->offset is its
 * position, in the file if the layer has one, else in its data. */
TARE_API tare_status tare_coded_parse_segment(tare_coded_segment *out, const tare_coded *coded,
                                              unsigned stream, uint64_t segment, tare_error *err);
/* n stored bytes at `position` of the layer's data, borrowed for as long as *coded lives; NULL: not
 * in memory. Bytes of a mapped file may change while they are read. */
TARE_API const uint8_t *tare_coded_borrow(const tare_coded *coded, uint64_t position, size_t n);
/* The same, read into the caller's memory. ERR_ARG: out of the data's bounds. */
TARE_API tare_status tare_coded_read(void *dst, const tare_coded *coded, uint64_t position,
                                     size_t n, tare_error *err);

/* Bytes of the base of a region, which segments with a predictor refer to. ERR_ARG: out of the
 * region's bounds, or the base is not at hand. */
TARE_API tare_status tare_coded_read_base(void *dst, const tare_coded *coded, unsigned region,
                                          uint64_t offset, size_t n, tare_error *err);

/* ---- segments of a stream that is never entirely in memory ----------------------------------- */

/* The head of a stream, made from all or part of it, and what is needed to encode with it.
 * Immutable: any number of threads may encode with it at once. */
typedef struct tare_coder tare_coder;

/* Learns from n bytes of a stream, a sample or all of it: only the field's bytes, without those in
 * between (field->region, stride, offset, join are ignored). `base`: as many bytes of the base;
 * NULL: none. field->log2_segment 0: chosen to suit n bytes. The encoded result is the same as that
 * of encoding the whole layer if the sample is the whole stream and has at least 700 bytes. */
TARE_API tare_status tare_coder_new(tare_coder **out, const tare_coded_field *field,
                                    const void *bytes, size_t n, const void *base,
                                    const tare_coded_options *options, tare_error *err);
TARE_API void tare_coder_free(tare_coder *coder);
/* The bytes of the head, a multiple of 64; valid as long as the coder. */
TARE_API const uint8_t *tare_coder_head(size_t *n, const tare_coder *coder);
/* Bytes of a decoded segment. */
TARE_API size_t tare_coder_segment_bytes(const tare_coder *coder);
/* The largest possible encoded size of n bytes. */
TARE_API size_t tare_coder_bound(const tare_coder *coder, size_t n);
/* Encodes consecutive whole segments; only the last one of the stream may be shorter. Writes them
 * back to back to dst, which must have room for tare_coder_bound(coder, n) bytes, and the size of
 * each, in units of 64 bytes, to sizes[0 .. ceil(n / segment_bytes) - 1]; *written is their total
 * size in bytes. `base` as above; required if the coder was made with one. */
TARE_API tare_status tare_coder_encode(void *dst, size_t *written, uint32_t *sizes,
                                       const tare_coder *coder, const void *bytes, size_t n,
                                       const void *base, const tare_coded_options *options,
                                       tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
