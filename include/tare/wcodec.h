/* SPDX-License-Identifier: MIT
 *
 * tare/wcodec.h: the weight codec on memory, without files. What it makes is, byte for byte, what a
 * .wcodec holds for the same layer (docs/wcodec.md, 5 to 9), with the same options.
 *
 *     tare_coded_field field = {0};
 *     tare_coded_region region = {0};
 *     tare_coded *coded;
 *     field.item = 8;                                  // one int8 a value, one after the other
 *     region.bytes = weights, region.size = n;
 *     if (tare_coded_encode(&coded, &region, 1, &field, 1, NULL, &err) != TARE_OK) ...
 *     tare_coded_decode_region(back, coded, 0, 0, n, NULL, &err);
 *     tare_coded_free(coded);
 *
 * A layer is one to four regions of bytes. A region is a row of equal units (a number, a
 * quantization block). A field takes the same `width` bytes of each unit: these make a stream,
 * which is cut into segments of 2^log2_segment values. A segment decodes alone.
 */
#ifndef TARE_WCODEC_H
#define TARE_WCODEC_H

#include <tare/base.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TARE_CODED_MAX_REGIONS = 4,
    TARE_CODED_MAX_STREAMS = 32,
    TARE_CODED_UNIT = 64, /* heads and segments are multiples of so many bytes */
};

/* How a segment is stored. As a wish, of a field or for all of a file: wherever it can be. A mode
 * that does not fit a segment (DIRECT of more than 2^20 values, ZSTD where nothing shrinks) gives
 * way to RAW. */
typedef enum tare_coded_mode {
    TARE_CODED_SMALLEST = 0, /* the mode that takes fewest bytes */
    TARE_CODED_RAW = 1,
    TARE_CODED_CONSTANT = 2,
    TARE_CODED_ZSTD = 3,
    TARE_CODED_DIRECT = 4,
    TARE_CODED_STRUCTURED = 5,
} tare_coded_mode;

/* Fields whose values lie in two runs of their unit: the low four bits as nibbles, in order, in the
 * 2^(log2_values - 1) bytes that the field's offset says; one or two high bits of each packed in
 * the same way in high_bits * 2^(log2_values - 3) bytes from high_offset on. The high bits of value
 * v, whose number has log2_values bits, have the number in which bit i of v is bit place[i]. */
typedef struct tare_coded_join {
    uint32_t high_offset;
    uint8_t high_bits;   /* 1, 2; 0: the field is not joined */
    uint8_t log2_values; /* of a unit, 3..10 */
    uint8_t place[10];   /* a permutation of 0..log2_values - 1 */
} tare_coded_join;

/* How a stream is cut out of its region. Zero-initialised but for `item` it is the whole of region
 * 0. */
typedef struct tare_coded_field {
    uint8_t region;
    uint8_t item; /* bits of a value: 4 (low nibble first), 6 (four in three bytes), 8, 16 */
    uint8_t log2_segment; /* 14..26; 0: the encoder chooses */
    bool is_big_endian;   /* values of 16 bits */
    uint32_t stride;      /* bytes of a unit; 0: those of the smallest (1; item 6: 3, item 16: 2) */
    uint32_t offset;      /* of the field's bytes in a unit */
    uint32_t width;       /* their number; 0: up to the end of the unit. Item 6: a multiple of 3,
                             item 16: even */
    /* Hints for the encoder; decoding knows nothing of them. */
    bool is_signed;     /* values are two's complement */
    bool is_repetitive; /* text, integers, masks: try zstd also without is_full */
    uint8_t trellis;    /* 8 or 32: the values are steps of a trellis of so many states */
    uint8_t mode;       /* tare_coded_mode */
    uint32_t row;       /* values of a row of the matrix; 0: not known, no tiles */
    /* Scales, for codes of 8 bits that are predicted from a base with other scales. */
    uint8_t scale_stream;      /* 1 + number of an earlier field with item 16; 0: none */
    uint8_t scale_form;        /* 1: IEEE binary16, 2: bfloat16 */
    uint32_t values_per_scale; /* at least 1 where there are scales */
    tare_coded_join join;      /* item 6 only; the stream has its values four in three bytes */
    bool is_packed_scales;     /* item 6 only, 12 bytes of a unit: eight scales and eight minima as
                                  Q4_K and Q5_K have them */
} tare_coded_field;

/* The bytes of a region. */
typedef struct tare_coded_region {
    const void *bytes; /* `size` of them, a whole number of units. Borrowed */
    size_t size;
    const void *base; /* as many bytes of the base model, to be predicted from; NULL: none. All
                         regions of a layer have one, or none. Borrowed */
} tare_coded_region;

typedef struct tare_coded_options {
    size_t size;
    bool is_full;   /* encoding: the smallest form that can be found, else the fast one */
    bool is_coarse; /* decoding: only the first n_groups groups of bypass bits (of 4, 2 or 1 bits,
                       the most significant first) are used, what is missing is in the middle;
                       values that have none come back whole, and coarse ones are not checked */
    unsigned n_groups;
    unsigned threads;          /* 0: what affinity and cgroup allow */
    tare_parallel_fn parallel; /* the caller's pool: runs `threads` bodies. NULL: threads that live
                                  as long as the call */
    void *parallel_ctx;
    /* Asked to stop now and then, from the calling thread; with `parallel` from one of its threads
     * at a time. Counts bytes of regions. */
    tare_progress_fn progress;
    void *progress_ctx;
    const tare_allocator *allocator; /* NULL: malloc. zstd's own memory does not come from it */
    const tare_cancel *cancel;       /* may be NULL */
} tare_coded_options;

#define TARE_CODED_OPTIONS_INIT                                                                    \
    { sizeof(tare_coded_options), false, false, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL }
TARE_API void tare_coded_options_init(tare_coded_options *options, size_t size);

/* An encoded layer, and what is needed to decode it. Immutable: any number of threads may decode
 * from it at once. What getters return lives until tare_coded_free. */
typedef struct tare_coded tare_coded;

/* ---- encoding -------------------------------------------------------------------------------- */

/* Encodes a layer: 1 to 4 regions, cut into up to 32 streams. The streams of a region have the same
 * stride and cover its units, each byte once. The bytes depend on the regions, the fields and
 * is_full alone, not on threads or CPU. Regions are read only during the call, but their bases must
 * live as long as *out. Free with tare_coded_free.
 * ERR_ARG: a field or size that cannot be (err->item: the field's number; -1 where it is what they
 * are together); NOMEM; CANCELLED. */
TARE_API tare_status tare_coded_encode(tare_coded **out, const tare_coded_region *regions,
                                       size_t n_regions, const tare_coded_field *fields,
                                       size_t n_fields, const tare_coded_options *options,
                                       tare_error *err);
TARE_API void tare_coded_free(tare_coded *coded);

/* ---- what was encoded ------------------------------------------------------------------------ */

typedef struct tare_coded_stream {
    tare_coded_field field; /* complete; hints are 0 */
    uint64_t n_bytes;       /* of the stream, decoded; joined, it may be larger than its region */
    uint64_t segment_bytes; /* of a decoded segment; the last has what is left */
    uint64_t n_segments;
    const uint32_t *sizes; /* of each stored segment, in units of 64 bytes */
    uint64_t position;     /* of the head in the layer's data; the segments follow it */
    uint32_t head_bytes;
} tare_coded_stream;

/* All that decoding needs, which a container keeps. */
typedef struct tare_coded_layer {
    const uint8_t *data; /* for each stream its head and segments, zeros to a multiple of 128; NULL:
                            it is in a file that is not in memory: tare_coded_read */
    uint64_t size;       /* of the data */
    uint32_t crc;        /* CRC-32 of heads and of the segments' own CRC-32s */
    unsigned n_regions, n_streams;
    uint64_t region_bytes[TARE_CODED_MAX_REGIONS];
    const tare_coded_stream *streams;
    /* Of a layer in a file (tare_tensor_coded); opening does not read them. */
    const char *file; /* its name; NULL: the layer is in memory */
    uint64_t offset;  /* of the data in it */
    unsigned base;    /* 1 + the base that segments may refer to (tare_model_container_base); 0:
                         none. Bases that were given when a layer in memory was opened have no
                         number. */
} tare_coded_layer;

/* What *coded is made of; keep it to open it again. */
TARE_API const tare_coded_layer *tare_coded_describe(const tare_coded *coded);
/* Opens a layer that was encoded before. `layer->data` is borrowed and must live as long as *out,
 * the rest is copied. Of a stream field, sizes, n_segments and head_bytes are read; the other
 * numbers follow from them. `bases`: for each region the base's bytes, as many as it has, borrowed;
 * NULL: layers that need them are refused when they are decoded. Of `options` the allocator counts.
 * Any bytes and numbers may be given. CORRUPT, CHECKSUM (the layer's), LIMIT, TRUNCATED:
 * err->offset counts from data. */
TARE_API tare_status tare_coded_open(tare_coded **out, const tare_coded_layer *layer,
                                     const void *const *bases, const tare_coded_options *options,
                                     tare_error *err);

/* ---- decoding -------------------------------------------------------------------------------- */

/* All functions write into the caller's memory, exactly so many bytes as they say, and on failure
 * any part of them. (Regions of several MiB are named to the system first, as memory for which large
 * pages pay.) CORRUPT, CHECKSUM: err->offset is the place in the layer's data. ERR_ARG: a
 * range that is not there, or a segment that needs the base. CANCELLED: progress said so. */

/* Bytes offset .. offset + n - 1 of a region. Only the segments that hold them are decoded. */
TARE_API tare_status tare_coded_decode_region(void *dst, const tare_coded *coded, unsigned region,
                                              uint64_t offset, size_t n,
                                              const tare_coded_options *options, tare_error *err);
/* All regions; dst[i] takes region_bytes[i] bytes. */
TARE_API tare_status tare_coded_decode_layer(void *const *dst, const tare_coded *coded,
                                             const tare_coded_options *options, tare_error *err);
/* Segments first .. first + n - 1 of a stream, the stream's bytes in a row: n * segment_bytes, less
 * where the last segment is among them. */
TARE_API tare_status tare_coded_decode_segments(void *dst, const tare_coded *coded, unsigned stream,
                                                uint64_t first, uint64_t n,
                                                const tare_coded_options *options, tare_error *err);

/* ---- compressed access: heads, segments, stored bytes ---------------------------------------- */

/* What a decoder of one's own needs, parsed as docs/wcodec.md says (5, 6, 8, 9) and checked: every
 * number of a rule or table is below their count, every part of a segment lies in its stored bytes.
 * What only decoding shows is left to the decoder: states, ranks of classes, positions of patches,
 * symbols of tiles, the CRC. */

/* How top and bypass bits make a value. */
typedef enum tare_coded_form {
    TARE_CODED_PLAIN = 0,
    TARE_CODED_SIGN = 1, /* the sign is the first of the bypass bits */
    TARE_CODED_EDGE = 2, /* bytes, two's complement: 127 and -127 stand beside 0 */
} tare_coded_form;

typedef struct tare_coded_rule {
    uint8_t form;        /* tare_coded_form */
    uint8_t bypass_bits; /* k */
    uint8_t trellis;     /* states, 8 or 32; 0: none */
    bool has_map;        /* else a symbol is its top, as far as the top has bits */
    uint16_t map[64];    /* the top of each symbol, filled in any case */
} tare_coded_rule;

/* A table of the entropy coder: as many buckets as symbols. A slot of bucket b whose unit (slot /
 * 256) is below threshold[b], or with alias[b] = b, is symbol b; another is symbol alias[b], and
 * adjust[b] is added to its rank modulo 65536. */
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
    const uint8_t *contexts; /* STRUCTURED: of each, its table of 16 symbols */
} tare_coded_head;

/* The head of a stream; NULL: there is no such stream. Lives as long as *coded. */
TARE_API const tare_coded_head *tare_coded_stream_head(const tare_coded *coded, unsigned stream);

typedef enum tare_coded_predictor {
    TARE_CODED_NO_PREDICTOR = 0,
    TARE_CODED_REF = 1,        /* differences from the base's values */
    TARE_CODED_REF_SCALED = 2, /* from those scaled to the layer's scales */
} tare_coded_predictor;

/* A segment. Parts are told by their first byte, counted from that of the segment; what a mode has
 * not is 0. */
typedef struct tare_coded_segment {
    size_t size;                    /* sizeof(tare_coded_segment), set by the caller */
    uint64_t position;              /* in the layer's data */
    uint32_t stored_bytes, n_bytes; /* as stored, a multiple of 64; decoded */
    uint8_t mode;                   /* tare_coded_mode, never SMALLEST */
    uint8_t predictor;              /* tare_coded_predictor */
    uint32_t crc;                   /* CRC-32 of the decoded bytes, after the predictor */
    /* RAW: the bytes; ZSTD: the frame; STRUCTURED: the raw bits. CONSTANT: one value. */
    uint32_t body, body_bytes;
    uint8_t pattern[4];
    /* DIRECT and STRUCTURED: 64 states of 32 bits, A and B in turn, and the words of 16 bits that
     * lanes A and B read. */
    uint32_t states, words[2], n_words[2];
    /* DIRECT. With classes a run of 256 positions has the table first_table + its class, and their
     * ranks are coded with table class_table of 16 symbols. Item 4 has tables of 16 symbols, others
     * of 64. */
    uint8_t rule, first_table, n_classes, class_table;
    uint32_t n_positions; /* that are coded, padding included */
    uint32_t patches, patches_bytes, n_patches;
    uint8_t patch_rice;              /* bits of a distance that stand as they are */
    uint8_t n_groups, group_bits[5]; /* of bypass bits, most significant first */
    uint32_t groups[5], groups_bytes[5];
    /* STRUCTURED */
    uint8_t tile_shape, magnitude_bits;
    bool is_signed;
    uint32_t view_width;
} tare_coded_segment;

#define TARE_CODED_SEGMENT_INIT                                                                    \
    {                                                                                              \
        sizeof(tare_coded_segment), 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, {0}, {0}, {0}, 0, 0, false, 0                                                 \
    }
TARE_API void tare_coded_segment_init(tare_coded_segment *segment, size_t size);

/* Segment number `segment` of a stream; its 32 bytes are read where they are not in memory. Only
 * out->size is read. ERR_ARG: there is no such segment; CORRUPT, UNSUPPORTED, IO: err->offset is
 * its place, in the file if the layer has one, else in its data. */
TARE_API tare_status tare_coded_parse_segment(tare_coded_segment *out, const tare_coded *coded,
                                              unsigned stream, uint64_t segment, tare_error *err);
/* n stored bytes from `position` of the layer's data on, borrowed as long as *coded lives; NULL:
 * they are not in memory. Bytes of a mapped file may change while they are read. */
TARE_API const uint8_t *tare_coded_borrow(const tare_coded *coded, uint64_t position, size_t n);
/* The same, read into the caller's memory. ERR_ARG: they do not lie in the data. */
TARE_API tare_status tare_coded_read(void *dst, const tare_coded *coded, uint64_t position,
                                     size_t n, tare_error *err);

/* ---- segments of a stream that is never in memory as a whole --------------------------------- */

/* The head of a stream, made from the stream or from a part of it, and how to encode with it.
 * Immutable: any number of threads may encode with it at once. */
typedef struct tare_coder tare_coder;

/* Learns from n bytes of a stream, a sample or all of it: those of units without what lies between
 * (field->region, stride, offset, join are not read). `base`: as many bytes of the base; NULL:
 * none. field->log2_segment 0: what suits n bytes. Encoding has the same result as that of the
 * whole layer if the sample is the stream, and that has 700 bytes or more. */
TARE_API tare_status tare_coder_new(tare_coder **out, const tare_coded_field *field,
                                    const void *bytes, size_t n, const void *base,
                                    const tare_coded_options *options, tare_error *err);
TARE_API void tare_coder_free(tare_coder *coder);
/* The head's bytes, a multiple of 64; lives as long as the coder. */
TARE_API const uint8_t *tare_coder_head(const tare_coder *coder, size_t *n);
/* Bytes of a decoded segment. */
TARE_API size_t tare_coder_segment_bytes(const tare_coder *coder);
/* The largest number of bytes that n bytes can become. */
TARE_API size_t tare_coder_bound(const tare_coder *coder, size_t n);
/* Encodes consecutive segments: whole ones, only the stream's last may be shorter. Writes them one
 * behind the other to dst, which has room for tare_coder_bound(coder, n) bytes, and the size of
 * each in units of 64 bytes to sizes[0 .. ceil(n / segment_bytes) - 1]; *written is their sum in
 * bytes. `base` as above; needed if the coder was made with one. */
TARE_API tare_status tare_coder_encode(void *dst, size_t *written, uint32_t *sizes,
                                       const tare_coder *coder, const void *bytes, size_t n,
                                       const void *base, const tare_coded_options *options,
                                       tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
