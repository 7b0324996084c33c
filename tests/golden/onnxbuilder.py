# SPDX-License-Identifier: MIT
"""Models of ONNX put together field by field, so that any of them can be wrong."""
import struct


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """a number, or bytes; a list is one after the other"""
    if isinstance(value, list):
        return b"".join(field(number, v) for v in value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(**fields):
    """_NUMBER=value, in this order"""
    return b"".join(field(int(name.strip("_")), value) for name, value in fields.items())


def tensor(name="w", kind=1, dims=(2, 3), **more):
    """raw data of the right length, unless there is more"""
    more = more or {"_9": struct.pack("<6f", *range(6))}
    return message(_1=list(dims), _2=kind, _8=name, **more)


def external(name, **pairs):
    return tensor(name, _13=[message(_1=k, _2=str(v)) for k, v in pairs.items()], _14=1)


def model(*tensors, nodes=(), **more):
    return message(_1=8, _2="by hand", _8=message(_1="", _2=17), **more, _7=message(_1=list(nodes), _5=list(tensors)))
