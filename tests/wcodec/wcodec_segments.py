# SPDX-License-Identifier: MIT
"""Segments of .wcodec files, decoded as docs/wcodec.md says (its sections 5 to 9).

Written from that text alone, plain and slow: it says whether the text is enough, and whether the
library does what it says. Whatever breaks a "must" raises Bad.
"""
import math
import struct
import zlib

from wcodec_values import pack_values, unpack_values


class Bad(Exception):
    """The file breaks a rule of the specification."""


def check(condition, what):
    if not condition:
        raise Bad(what)


class Reader:
    """Numbers from bytes, never behind the end."""

    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end
        check(0 <= at <= self.end <= len(data), "a part lies outside the file")

    def take(self, n):
        check(n <= self.end - self.at, "a part is cut short")
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def zeros(self, n):
        check(not any(self.take(n)), "a reserved or padding byte is not 0")

    def varint(self):
        value = shift = 0
        while True:
            byte = self.number(1)
            check(not (shift and byte == 0) and not (shift == 63 and byte > 1), "varint")
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def zigzag(self):
        z = self.varint()
        return -(z + 1) // 2 if z & 1 else z // 2

    def rest(self):
        return self.end - self.at


class Bits:
    """A string of bits, bit 0 of byte 0 first."""

    def __init__(self, data, what):
        self.data, self.what, self.at = data, what, 0

    def take(self, n):
        value = 0
        for i in range(n):
            check(self.at < 8 * len(self.data), "bits run out: " + self.what)
            value |= (self.data[self.at // 8] >> self.at % 8 & 1) << i
            self.at += 1
        return value

    def end(self):
        rest = 8 * len(self.data) - self.at
        check(rest < 8 and not self.take(rest), "bits are left: " + self.what)


def align(a, n):
    return -(-a // n) * n


# ---- 5.2 tables ----------------------------------------------------------------------------------

class Table:
    def __init__(self, reader, size):
        self.size = size
        self.thr, self.alias = reader.take(size), reader.take(size)
        check(all(a < size for a in self.alias), "an alias is beyond the alphabet")
        shift = 2 if size == 64 else 4
        used = [256 if self.alias[b] == b else self.thr[b] for b in range(size)]
        self.adj = [0] * size
        for b in range(size):
            a = self.alias[b]
            if a != b:
                self.adj[b] = ((used[a] - self.thr[b]) << shift) % 65536
                used[a] += 256 - self.thr[b]
        self.freq = [u << shift for u in used]
        check(max(self.freq) < 65536, "one symbol has all slots")


# ---- 5.1 head of a stream ------------------------------------------------------------------------

class Rule:
    def __init__(self, reader, value_bits):
        self.form, self.k, has_map, self.trellis = reader.take(4)
        check(self.form <= 2 and self.k < value_bits and has_map <= 1, "rule")
        check(value_bits >= 8 or not (self.form or self.k or has_map), "rule of a small value")
        check(self.form != 1 or self.k >= 1, "form SIGN needs a bypass bit")
        check(self.form != 2 or (value_bits == 8 and self.k == 2 and not has_map), "form EDGE")
        check(self.trellis in (0, 8, 32), "trellis")
        check(not self.trellis or (value_bits == 8 and not self.form and not self.k and not has_map),
              "trellis beside something else")
        self.map = None
        if has_map:
            width = 1 if value_bits - self.k <= 8 else 2
            self.map = [reader.number(width) for _ in range(64)]
            check(max(self.map) < 1 << (value_bits - self.k), "map")


class Head:
    def __init__(self, data, value_bits):
        self.rules, self.t64, self.t16, self.contexts, self.max_bits = [], [], [], b"", 0
        if not data:
            return
        r = Reader(data)
        n_rules, n64, n16, _ = r.number(1), r.number(1), r.number(1), r.zeros(1)
        n_contexts, _ = r.number(2), r.zeros(2)
        check(n_rules <= 16 and n64 <= 64 and n16 <= 64, "head counts")
        if n_contexts:
            check(n_contexts > 2 and (n_contexts - 2) % 33 == 0, "number of contexts")
            self.max_bits = (n_contexts - 2) // 33
            check(1 <= self.max_bits <= 12, "number of contexts")
        self.rules = [Rule(r, value_bits) for _ in range(n_rules)]
        self.t64 = [Table(r, 64) for _ in range(n64)]
        self.t16 = [Table(r, 16) for _ in range(n16)]
        self.contexts = r.take(n_contexts)
        check(all(c < n16 for c in self.contexts), "a context without table")
        check(r.rest() < 64, "head is too long")
        r.zeros(r.rest())


# ---- 7 the entropy decoder -----------------------------------------------------------------------

class Lanes:
    def __init__(self, reader, n_a, n_b):
        self.x = list(struct.unpack("<64I", reader.take(256)))
        check(min(self.x) >= 65536, "a state is too small")
        self.words = [Reader(reader.take(2 * n)) for n in (n_a, n_b)]
        self.count = 0

    def symbol(self, table):
        """The next symbol: number `count` of the segment, so of lane count mod 64."""
        j = self.count % 64
        self.count += 1
        x = self.x[j]  # stored as A0, B0, A1, B1, ...: lane A(j/2) is at j if j is even
        slot = x % 65536
        b, r = slot % table.size, slot // table.size
        symbol = b
        if slot // 256 >= table.thr[b] and table.alias[b] != b:
            symbol = table.alias[b]
            r = (r + table.adj[b]) % 65536
        x = table.freq[symbol] * (x // 65536) + r
        if x < 65536:
            x = x * 65536 + self.words[j % 2].number(2)
        self.x[j] = x
        return symbol

    def pad(self, table):
        while self.count % 64:
            self.symbol(table)

    def finish(self):
        check(all(x == 65536 for x in self.x), "a state does not end at 65536")
        check(not self.words[0].rest() and not self.words[1].rest(), "words are left")


# ---- 8 DIRECT ------------------------------------------------------------------------------------

def group_widths(k):
    widths = []
    for g in (4, 2, 1):
        while k >= g:
            widths.append(g)
            k -= g
    return widths


def decode_classes(lanes, table, count, n_runs):
    order, classes = list(range(count)), []
    for i in range(align(n_runs, 64)):
        rank = lanes.symbol(table)
        if i >= n_runs:
            continue
        check(rank < count, "a class beyond the last")
        classes.append(order.pop(rank))
        order.insert(0, classes[-1])
    return classes


def trellis_values(symbols, states):
    f, e = (5, 2) if states == 8 else (18, 4)
    t, out = [0] * 64, []
    for i, symbol in enumerate(symbols):
        j = i % 64
        c = symbol - 64 if symbol >= 32 else symbol
        v = 4 * c + 1
        a, p = t[j] % 2, c % 2
        out.append((-v if a else v) % 256)
        t[j] = t[j] // 2 ^ (f if a else 0) ^ (e if p ^ a else 0)
    return out


def decode_direct(r, field, head, value_bits, n_bytes):
    n_values = n_bytes * 8 // value_bits
    check(n_values <= 1 << 20, "too many values")
    tables = head.t16 if value_bits == 4 else head.t64
    n_classes = field["classes"]
    check(field["rule"] < len(head.rules), "no such rule")
    check(n_classes == 0 or 2 <= n_classes <= 16, "number of classes")
    check(field["table"] + max(n_classes, 1) <= len(tables), "no such table")
    check(field["rice"] <= (20 if field["count"] else 0), "distances of patches")
    rule = head.rules[field["rule"]]
    m = 2 * align(n_bytes, 64) if value_bits == 4 else align(n_values, 64)
    lanes = Lanes(r, field["a"], field["b"])
    patch_bytes = r.take(field["extent"])
    r.zeros(align(r.at, 64) - r.at)
    classes = None
    if n_classes:
        check(field["option"] < len(head.t16), "no table of classes")
        classes = decode_classes(lanes, head.t16[field["option"]], n_classes, -(-m // 256))
    else:
        check(field["option"] == 0, "table of no classes")
    symbols = []
    for i in range(m):
        c = classes[i // 256] if classes else 0
        symbols.append(lanes.symbol(tables[field["table"] + c]))
    lanes.finish()
    low = [0] * m
    for g in group_widths(rule.k):
        data = r.take(64 * -(-m * g // 512))
        per_block = 512 // g
        for p in range(m):
            t, rest = divmod(p, per_block)
            j, i = divmod(rest, 64)
            low[p] = low[p] << g | data[64 * t + i] >> (g * j) & ((1 << g) - 1)
    tops = [rule.map[s] if rule.map else s % (1 << (value_bits - rule.k)) for s in symbols]
    values = trellis_values(symbols, rule.trellis) if rule.trellis else \
        [value_of(top, bits, rule, value_bits) for top, bits in zip(tops, low)]
    has_value = [64 * (p // 128) + p % 64 < n_bytes if value_bits == 4 else p < n_values
                 for p in range(m)]
    for p, top in patches(patch_bytes, field["count"], field["rice"], value_bits - rule.k):
        check(p < m and has_value[p], "position of a patch")
        values[p] = value_of(top, low[p], rule, value_bits)
    if value_bits == 4:
        nibbles = [0] * (2 * n_bytes)
        for p in range(m):
            g, h, i = p // 128, p // 64 % 2, p % 64
            if 64 * g + i < n_bytes:
                nibbles[2 * (64 * g + i) + h] = values[p]
        return nibbles
    return values[:n_values]


def patches(data, count, rice, top_bits):
    """Positions and tops, from a string of bits."""
    bits, position = Bits(data, "patches"), -1
    for _ in range(count):
        beyond = 0
        while not bits.take(1):
            beyond += 1
        position += 1 + (beyond << rice | bits.take(rice))
        yield position, bits.take(top_bits)
    bits.end()


def value_of(top, low, rule, value_bits):
    k = rule.k
    w = top << k | low
    if rule.form == 1:
        w = (w >> (k - 1) & 1) << (value_bits - 1) | top << (k - 1) | w % (1 << (k - 1))
    return edge_value(w) if rule.form == 2 else w


def edge_value(w):
    """127 stands at 3, -127 at -4; what lies beyond makes way, but for -128."""
    s = w - 256 if w >= 128 else w
    if s > 3:
        s -= 1
    elif -128 < s < -4:
        s += 1
    elif s in (3, -4):
        s = 127 if s == 3 else -127
    return s % 256


# ---- 9 STRUCTURED --------------------------------------------------------------------------------

ROTATIONS = {
    1: ((0, 7, 3, 5, 1, 6, 2, 4),
        ((0, 7, 1697, -2896), (1, 6, 1697, -2896), (2, 5, 1697, -2896), (3, 4, 1697, -2896),
         (0, 3, 1697, -2896), (1, 2, 1697, -2896), (0, 1, 1697, -2896), (3, 2, 815, -1567),
         (7, 4, 403, -799), (6, 5, 1243, -2276), (7, 6, 1697, -2896), (4, 5, -1697, 2896),
         (6, 5, -1697, 2896))),
    2: ((7, 2, 4, 1, 6, 3, 5, 0),
        ((7, 0, 201, -401), (6, 1, 608, -1189), (5, 2, 1026, -1931), (4, 3, 1466, -2598),
         (7, 4, 1697, -2896), (6, 5, 1697, -2896), (7, 6, 1697, -2896), (4, 5, 815, -1567),
         (0, 3, -1697, 2896), (1, 2, -1697, 2896), (0, 1, -1697, 2896), (3, 2, -815, 1567),
         (4, 2, -1697, 2896), (6, 1, -1697, 2896), (5, 3, 1697, -2896))),
}


def undo(coefficients, kind):
    out, rotations = ROTATIONS[kind]
    x = [0] * 8
    for m in range(8):
        x[out[m]] = coefficients[m]
    for i, j, p, u in reversed(rotations):
        x[i] -= (p * x[j] + 2048) >> 12
        x[j] -= (u * x[i] + 2048) >> 12
        x[i] -= (p * x[j] + 2048) >> 12
    return x


def inverse_transform(block, kind):
    """block: 8 rows of 8."""
    if kind == 0:
        return block
    columns = [undo([block[r][c] for r in range(8)], kind) for c in range(8)]
    return [undo([columns[c][r] for c in range(8)], kind) for r in range(8)]


def zigzag():
    order = []
    for d in range(15):
        diagonal = [(d - c, c) for c in range(d + 1) if d - c < 8 and c < 8]
        order += diagonal if d % 2 == 0 else diagonal[::-1]
    return order


ZIGZAG = zigzag()
SHAPES = ((16, 16), (8, 32), (32, 8), (1, 256))


def read_magnitudes(lanes, head, transforms, n_cells, bits, raw):
    magnitude = [0] * n_cells

    def table(context):
        return head.t16[head.contexts[context]]

    for b in range(bits - 1, -1, -1):
        base = 2 + 33 * b
        members, refined = {}, []
        for i in range(n_cells):
            if magnitude[i] >> (b + 2):
                refined.append(i)
            elif magnitude[i] >> (b + 1):
                members.setdefault(base, []).append(i)
            else:
                sub, z = divmod(i, 64)
                n = sum(1 for y in (z - 2, z - 1, z + 1, z + 2)
                        if 0 <= y < 64 and magnitude[64 * sub + y] >> (b + 1))
                c = 0 if z == 0 else 1 if z < 10 else 2 if z < 36 else 3
                t = 1 if transforms[sub] else 0
                members.setdefault(base + 1 + 16 * t + 4 * c + min(n, 3), []).append(i)
        news = []
        for context in sorted(members):
            group = members[context]
            for start in range(0, len(group), 4):
                symbol = lanes.symbol(table(context))
                for bit, i in enumerate(group[start:start + 4]):
                    if symbol >> bit & 1:
                        news.append(i)
                check(not symbol >> len(group[start:start + 4]), "bits behind a context's end")
        if members:
            lanes.pad(table(max(members)))
        news += [i for i in refined if raw.take(1)]
        for i in news:
            magnitude[i] |= 1 << b
    return magnitude


def edges(matrix, row, col, tile_rows, tile_cols):
    left = [matrix[row + i][col - 1] for i in range(tile_rows)] if col else None
    top = [matrix[row - 1][col + j] for j in range(tile_cols)] if row else None
    return left, top


def slope(edge, i):
    n = len(edge)
    if n == 1:
        return 0
    s = sum((2 * m - n + 1) * v for m, v in enumerate(edge))
    d = n * (n * n - 1) // 3
    return (2 * s * (2 * i - n + 1) + d) // (2 * d)


def predict(kind, left, top, tile_rows, tile_cols):
    known = (left or []) + (top or [])
    dc = (2 * sum(known) + len(known)) // (2 * len(known)) if known else 0
    if (kind in (2, 4, 5) and left is None) or (kind in (3, 4, 5) and top is None):
        kind = 1
    rules = {
        0: lambda i, j: 0,
        1: lambda i, j: dc,
        2: lambda i, j: left[i],
        3: lambda i, j: top[j],
        4: lambda i, j: (left[i] + top[j]) >> 1,
        5: lambda i, j: dc + slope(top, j) + slope(left, i),
    }
    return [[rules[kind](i, j) for j in range(tile_cols)] for i in range(tile_rows)]


def decode_structured(r, field, head, value_bits, n_bytes):
    n_values, w, bits = n_bytes * 8 // value_bits, field["extent"], field["table"]
    check(value_bits <= 8 and n_values <= 1 << 20, "values not for tiles")
    check(field["rule"] < 4 and 1 <= w <= n_values and field["option"] <= 1, "tiles")
    check(head.contexts and bits <= head.max_bits, "bits of magnitude")
    tile_rows, tile_cols = SHAPES[field["rule"]]
    rows, cols = -(-(-(-n_values // w)) // tile_rows), -(-w // tile_cols)
    n_tiles = rows * cols
    n_cells = 256 * n_tiles
    check(n_cells <= 1 << 21, "too many positions")
    lanes = Lanes(r, field["a"], field["b"])
    raw = Bits(r.take(field["count"]), "tiles")
    r.zeros(align(r.at, 64) - r.at)
    t0, t1 = head.t16[head.contexts[0]], head.t16[head.contexts[1]]
    predictors = [lanes.symbol(t0) for _ in range(n_tiles)]
    transforms = [lanes.symbol(t1) for _ in range(4 * n_tiles)]
    lanes.pad(t1)
    check(max(predictors) <= 5 and max(transforms) <= 2, "predictor or transform")
    magnitude = read_magnitudes(lanes, head, transforms, n_cells, bits, raw)
    for i in range(n_cells):
        if magnitude[i] and raw.take(1):
            magnitude[i] = -magnitude[i]
    raw.end()
    lanes.finish()
    matrix = [[0] * (cols * tile_cols) for _ in range(rows * tile_rows)]
    for tile in range(n_tiles):
        row, col = tile // cols * tile_rows, tile % cols * tile_cols
        residual = [[0] * tile_cols for _ in range(tile_rows)]
        for s in range(4):
            block = [[0] * 8 for _ in range(8)]
            for z, (y, x) in enumerate(ZIGZAG):
                block[y][x] = magnitude[256 * tile + 64 * s + z]
            block = inverse_transform(block, transforms[4 * tile + s])
            across = tile_cols // 8
            for y in range(8):
                for x in range(8):
                    if tile_rows == 1:
                        residual[0][64 * s + 8 * y + x] = block[y][x]
                    else:
                        residual[s // across * 8 + y][s % across * 8 + x] = block[y][x]
        expected = predict(predictors[tile], *edges(matrix, row, col, tile_rows, tile_cols),
                           tile_rows, tile_cols)
        for i in range(tile_rows):
            for j in range(tile_cols):
                v = (expected[i][j] + residual[i][j]) % (1 << value_bits)
                if field["option"] and v >> (value_bits - 1):
                    v -= 1 << value_bits
                matrix[row + i][col + j] = v
    return [matrix[i // w][i % w] % (1 << value_bits) for i in range(n_values)]


# ---- 6 segments ----------------------------------------------------------------------------------

def half_float(bits, form, big):
    data = bits.to_bytes(2, "little")
    if form == 2:
        return struct.unpack("<f", b"\0\0" + data)[0]
    return struct.unpack("<e", data)[0]


def rescale(q, base, own):
    product = q * base
    if own == 0:
        v = math.nan if product == 0 or math.isnan(product) else math.copysign(
            math.inf, product) * math.copysign(1, own)
    else:
        v = product / own
    if math.isnan(v):
        return 0
    if v <= -128 or v >= 127:
        return -128 if v <= -128 else 127
    return round(v)  # Python rounds ties to even


def read_fields(r):
    mode, predictor, rule, table = r.take(4)
    crc, a, b, count, extent = struct.unpack("<5I", r.take(20))
    classes, option, rice, zero = r.take(4)
    pattern = r.take(4)
    check(mode <= 4, "unknown mode")
    check(predictor <= (2 if mode in (1, 2, 3) else 0), "predictor")
    check(mode >= 3 or not (rule or table or b or count or extent or option), "unused field")
    check(mode >= 2 or not a, "unused field")
    check(mode == 3 or not (classes or rice), "unused field")
    check(mode == 1 or not any(pattern), "unused field")
    check(zero == 0, "unused field")
    return {"mode": mode, "predictor": predictor, "rule": rule, "table": table, "crc": crc, "a": a,
            "b": b, "count": count, "extent": extent, "classes": classes, "option": option,
            "rice": rice, "pattern": pattern}


def decode_segment(data, stream, index, n_bytes, base, scales, base_scales):
    r = Reader(data)
    field = read_fields(r)
    value_bits, mode = stream.value_bits, field["mode"]
    check(len(data) <= align(32 + n_bytes, 64), "a segment larger than RAW")
    if mode == 0:
        values = unpack_values(r.take(n_bytes), value_bits, stream.flags)
    elif mode == 1:
        width = {4: 1, 6: 3, 8: 1, 16: 2}[value_bits]
        check(not any(field["pattern"][width:]), "pattern")
        values = unpack_values((field["pattern"][:width] * n_bytes)[:n_bytes], value_bits, stream.flags)
    elif mode == 2:
        values = unpack_values(decode_zstd(r.take(field["a"]), n_bytes), value_bits, stream.flags)
    else:
        decode = decode_direct if mode == 3 else decode_structured
        values = decode(r, field, stream.head, value_bits, n_bytes)
    check(r.rest() < 64, "stored size")
    r.zeros(r.rest())
    if field["predictor"]:
        check(base is not None, "needs the base model")
        first = index << stream.s
        at = first * value_bits // 8
        q = unpack_values(base[at:at + n_bytes], value_bits, stream.flags)
        if field["predictor"] == 2:
            check(value_bits == 8 and scales is not None, "REF_SCALED")
            check((first + n_bytes - 1) // stream.per_scale < len(scales), "a value without scale")
            q = [rescale(v - 256 if v > 127 else v,
                         base_scales[(first + i) // stream.per_scale],
                         scales[(first + i) // stream.per_scale]) for i, v in enumerate(q)]
        values = [(d + p) % (1 << value_bits) for d, p in zip(values, q)]
    out = pack_values(values, value_bits, stream.flags)
    check(len(out) == n_bytes, "number of values")
    check(zlib.crc32(out) == field["crc"], "CRC of a segment")
    return out


def decode_zstd(frame, n_bytes):
    import zstandard
    check(frame[:4] == b"\x28\xb5\x2f\xfd", "not a zstd frame")
    decoder = zstandard.ZstdDecompressor().decompressobj()
    try:
        out = decoder.decompress(frame)
    except zstandard.ZstdError as error:
        raise Bad("zstd frame: %s" % error) from error
    check(decoder.eof and not decoder.unused_data and len(out) == n_bytes, "zstd frame")
    return out
