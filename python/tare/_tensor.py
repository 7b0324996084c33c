# SPDX-License-Identifier: MIT
"""Tensors and parts of them as arrays."""
from __future__ import annotations

from . import _core
from ._box import Box
from ._dtypes import (BF16, BITS, F16, F32, PLAIN, byte_shape, encoding_of_numpy, encoding_of_torch,
                      numpy_dtype, wanted)
from ._encodings import Encoding, Planes, encoding
from ._errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

    import numpy as np
    from torch import Tensor as TorchTensor

_U8 = _core.find_encoding("u8")
# Dtypes of plain encodings, once numpy is imported: the short way of Tensor.numpy.
_numpy_ready: dict[int, np.dtype[Any]] = {}
_ndarray: Callable[..., np.ndarray[Any, Any]]
# DLPack's code and bits of those that torch takes, and its function: the short way of Tensor.torch.
_torch_ready: dict[int, tuple[int, int]] = {}
_from_dlpack: Callable[[Any], TorchTensor]
_MAPPED = 1 << 20
_LARGE_PAGES = 4 << 20  # from here on numpy asks for them, too: the pages cost more than decoding


def allocate(n: int) -> _core.Memory:
    """Memory of n bytes; of much the pages come from the system and go back to it."""
    return _core.Arena(n, n >= _LARGE_PAGES).part(0, n) if n >= _MAPPED else _core.allocate(n)


def _n_elements(shape: tuple[int, ...]) -> int:
    n = 1
    for d in shape:
        n *= d
    return n


def _over(shape: tuple[int, ...], d: np.dtype[Any], memory: Any) -> np.ndarray[Any, Any]:
    import numpy as np
    return np.ndarray(shape, d, memory)


class _Readable:
    """What tensors and their parts have in common: reading, lazily, into arrays."""

    __slots__ = ()

    # It is no container of numbers: `3 in tensor` would compare parts that are not read.
    __contains__ = None

    if TYPE_CHECKING:
        @property
        def shape(self) -> tuple[int, ...]: ...
        def __getitem__(self, key: Any) -> TensorView: ...
        @property
        def encoding_id(self) -> int: ...

    def _whole(self) -> tuple[_core.Tensor, Box | None]:
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of numpy() and load(): of blocks float32."""
        return numpy_dtype(self.target(None))

    @property
    def ndim(self) -> int:
        """How many dimensions there are."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers there are, n_elements by numpy's name."""
        return _n_elements(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of a number as numpy() gives it; nbytes of a tensor are those that are stored."""
        as_ = self.target(None)
        return PLAIN[as_][3] // 8 if as_ in PLAIN else 1

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a tensor without dimensions")
        return self.shape[0]

    def __iter__(self) -> Iterator[TensorView]:
        if not self.shape:
            raise TypeError("iteration over a tensor without dimensions")
        return (self[i] for i in range(self.shape[0]))

    def __bool__(self) -> bool:
        return True  # whatever its length is: it is there

    def target(self, dtype: Any) -> int:
        """The encoding of the result: as stored, or what blocks are decoded to."""
        own = self.encoding_id
        if dtype is not None:
            as_ = wanted(dtype)
        elif own in PLAIN or own in BITS:
            as_ = own
        else:
            as_ = F32
        if as_ == own:
            return as_
        tensor = self._whole()[0]
        if not tensor.can_decode:
            raise UnsupportedError(f"{tensor.name}: {encoding(own).name} cannot be decoded"
                                   f"{f' ({tensor.scheme})' if tensor.scheme else ''}; raw has its bytes")
        if as_ not in (F32, F16, BF16):
            raise UnsupportedError(f"{tensor.name}: {encoding(own).name} is decoded to float32, "
                                   f"float16 or bfloat16, not to {encoding(as_).name}")
        return as_

    def job(self, as_: int, dst: Any, strides: tuple[int, ...] | None) -> tuple[Any, ...]:
        """What the extension reads: as_ is the encoding of the result; strides those of its axes."""
        tensor, box = self._whole()
        if strides is not None and any(not s and n > 1 for s, n in zip(strides, self.shape)):
            raise ValueError(f"{tensor.name}: several elements of `out` are in one place")
        stored = 0 if as_ == tensor.encoding_id else as_
        if box is None and strides is not None:
            box = Box.whole(tensor.shape)
        if box is None:
            return (tensor.index, stored, 0, 0, 0, None, None, None, dst, None)
        if stored == 0 and tensor.encoding_id in BITS:
            raise UnsupportedError(f"{tensor.name}: parts of {encoding(as_).name} can be read as floats "
                                   "only: dtype=\"float32\"")
        return (tensor.index, stored, 0, 0, 0, tuple(box.start), tuple(box.count), tuple(box.step),
                dst, None if strides is None else box.strides(strides))

    def _read(self, as_: int, dst: Any, strides: tuple[int, ...] | None, threads: int) -> None:
        if _n_elements(self.shape):
            _core.read_many(self._whole()[0], [self.job(as_, dst, strides)], threads, None)

    def result_shape(self, as_: int) -> tuple[int, ...]:
        return byte_shape(as_, self.shape) if as_ in BITS else self.shape

    # ---- numpy

    def numpy(self, dtype: Any = None, *, out: np.ndarray[Any, Any] | None = None,
              threads: int = 1) -> np.ndarray[Any, Any]:
        """The numbers as an array of numpy.

        Plain numbers keep their type (bf16 and fp8 through ml_dtypes) and, if the file is mapped,
        are not copied: the array is read-only then. Blocks are decoded to float32, or to `dtype`:
        float32, float16, bfloat16. F4 and F6 are uint8, as stored, unless a dtype is asked for.
        out: an array of the same shape and any strides, which is filled and returned.

        >>> model["blk.0.attn_norm.weight"].numpy().dtype
        dtype('float32')
        """
        if out is not None:
            return self._numpy_into(dtype, out, threads)
        as_ = self.target(dtype)
        import numpy as np
        global _ndarray
        _ndarray = np.ndarray
        d = numpy_dtype(as_)
        if as_ == self.encoding_id and as_ in PLAIN:
            _numpy_ready[as_] = d
        return self._array(as_, d, threads, False)

    def _array(self, as_: int, d: np.dtype[Any], threads: int, is_writable: bool) -> np.ndarray[Any, Any]:
        """The result under its dtype: of what is mapped a view."""
        tensor, box = self._whole()
        if box is not None and as_ == tensor.encoding_id and as_ in PLAIN:
            memory = tensor.borrowed(0, d.itemsize, is_writable)
            if memory is not None:
                part = _over(tensor.shape, d, memory)[box.key()]  # an array, even of one number
                return box.added_to(part)  # type: ignore[no-any-return]
        return _over(self.result_shape(as_), d, self._bytes(as_, threads, is_writable))

    def _numpy_into(self, dtype: Any, out: np.ndarray[Any, Any], threads: int) -> np.ndarray[Any, Any]:
        if not hasattr(out, "__array_interface__"):
            raise TypeError(f"out: an array of numpy expected, not {type(out).__name__}")
        as_ = self.target(out.dtype)
        if dtype is not None and wanted(dtype) != as_:
            raise ValueError(f"out has the dtype {out.dtype}, not {dtype}")
        if out.shape != self.shape:
            raise ValueError(f"out has the shape {out.shape}, not {self.shape}")
        if not out.flags.writeable:
            raise ValueError("out is read-only")
        self._read(as_, out.__array_interface__["data"][0],
                   None if out.flags.c_contiguous else out.strides, threads)
        return out

    def __array__(self, dtype: Any = None, *, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False and not (self._whole()[0].is_borrowable and self.encoding_id in PLAIN):
            raise ValueError("the numbers have to be read or decoded: that is a copy")
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("another dtype needs a copy")
            return array.astype(dtype)
        return array.copy() if copy and not array.flags.writeable else array

    # ---- torch and DLPack

    def torch(self, dtype: Any = None, device: Any = "cpu", *, out: TorchTensor | None = None,
              pin_memory: bool = False, threads: int = 1) -> TorchTensor:
        """The numbers as a torch.Tensor, writable and with a storage of its own.

        Plain numbers of a mapped file are not copied: what is written to them stays in this process
        (copy on write), and every other torch tensor of the same model sees it. Types as for numpy().
        out: a tensor on the CPU, of the same shape and any strides, which is filled and returned.

        >>> model["blk.0.attn_norm.weight"].torch().dtype
        torch.float32
        """
        import torch
        if out is not None:
            return self._torch_into(dtype, out, threads)
        as_ = self.target(dtype)
        if pin_memory:
            result = torch.empty(self.result_shape(as_), dtype=encoding(as_).torch_dtype(), pin_memory=True)
            self._read(as_, result.data_ptr(), None, threads)
        else:
            result = self._torch(as_, threads)
        return result if device == "cpu" else result.to(device)

    def _torch(self, as_: int, threads: int) -> TorchTensor:
        tensor, box = self._whole()
        if box is not None and as_ == tensor.encoding_id and as_ in PLAIN:
            part = _torch_part(tensor, box, as_)
            if part is not None:
                return part
        return torch_over(self._bytes(as_, threads, True), self.result_shape(as_),
                          _U8 if as_ in BITS else as_)

    def _torch_into(self, dtype: Any, out: TorchTensor, threads: int) -> TorchTensor:
        if not hasattr(out, "data_ptr"):
            raise TypeError(f"out: a torch.Tensor expected, not {type(out).__name__}")
        as_ = self.target(out.dtype)
        if dtype is not None and wanted(dtype) != as_:
            raise ValueError(f"out has the dtype {out.dtype}, not {dtype}")
        if tuple(out.shape) != self.shape:
            raise ValueError(f"out has the shape {tuple(out.shape)}, not {self.shape}")
        if out.device.type != "cpu":
            return out.copy_(self.torch(dtype, threads=threads))
        size = out.element_size()
        self._read(as_, out.data_ptr(),
                   None if out.is_contiguous() else tuple(s * size for s in out.stride()), threads)
        return out

    def _bytes(self, as_: int, threads: int, is_writable: bool) -> _core.Memory:
        """The bytes of the result, contiguous: borrowed if they can be."""
        tensor, box = self._whole()
        item = PLAIN[as_][3] // 8 if as_ in PLAIN else 1
        if box is None and as_ == tensor.encoding_id:
            return tensor.memory(0, item, is_writable)
        memory = allocate(_n_elements(self.shape) * item)
        self._read(as_, memory, None, threads)
        return memory

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        if dl_device is not None and tuple(dl_device) != (1, 0):
            raise BufferError("tensors are on the CPU")
        if stream is not None:
            raise BufferError("there are no streams on the CPU")
        as_ = self.target(None)
        versioned = max_version is not None and max_version[0] >= 1
        # A capsule without a version cannot say that it is read-only.
        memory = self._bytes(as_, 1, bool(copy) or not versioned)
        if copy and not memory_is_own(memory):
            memory = copied(memory)
        code, bits = PLAIN[as_][2:] if as_ in PLAIN else (1, 8)
        return memory.dlpack(self.result_shape(as_), code, bits, 0, versioned)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def memory_is_own(memory: _core.Memory) -> bool:
    return not memory.readonly and not memory.borrowed


def copied(memory: Any) -> _core.Memory:
    out: Any = allocate(len(memory))
    memoryview(out)[:] = memoryview(memory)
    return out  # type: ignore[no-any-return]


def torch_over(memory: _core.Memory, shape: tuple[int, ...], as_: int, offset: int = 0) -> TorchTensor:
    """A torch.Tensor over memory from a byte on, with a storage of exactly these bytes."""
    import torch
    global _from_dlpack
    code, bits = PLAIN[as_][2:]
    try:
        result = torch.from_dlpack(memory.dlpack(shape, code, bits, offset, False))
        _from_dlpack = torch.from_dlpack
        _torch_ready[as_] = code, bits
        return result
    except (RuntimeError, BufferError): # a type that this release cannot take, but may have
        dtype = encoding(as_).torch_dtype()
        n_bytes = _n_elements(shape) * bits // 8
        flat = torch.from_dlpack(memory.dlpack((n_bytes,), 1, 8, offset, False))
        return flat.view(dtype).reshape(shape)


def _torch_part(tensor: _core.Tensor, box: Box, as_: int) -> TorchTensor | None:
    """A part of what is mapped, without a copy: with a storage of its own if it is one run of bytes,
    else a view. None: it has to be read."""
    item = PLAIN[as_][3] // 8
    memory = tensor.borrowed(0, item, True)
    if memory is None or 0 in box.shape or any(step < 1 for step in box.step):
        return None
    at = box.run(tensor.shape)
    if at >= 0:
        return torch_over(memory, box.shape, as_, at * item)
    whole = torch_over(memory, tensor.shape, as_)
    return box.added_to(whole[box.key()])  # type: ignore[no-any-return]


class Tensor(_core.Tensor, _Readable):
    """A tensor of a model: a description, until one of its methods reads.

    name, shape (outermost first), encoding, nbytes, n_elements, index; packed_nbytes: what it takes
    in a .wcodec; scheme: the packed scheme that it is a part of ("gptq codes").

    >>> t = model["blk.0.attn_q.weight"]
    >>> t.shape, t.encoding.name
    ((64, 64), 'q8_0')
    """

    __slots__ = ()

    def _whole(self) -> tuple[_core.Tensor, Box | None]:
        return self, None

    @property
    def encoding(self) -> Encoding:
        """The number format."""
        return encoding(self.encoding_id)

    @property
    def raw(self) -> Planes:
        """The stored bytes, a memoryview for each plane; without a copy where the file is mapped."""
        names = tuple(p.name for p in self.encoding.planes) or ("bytes",)
        return Planes(names, [None] * len(names), lambda i: self.memory(i, 1, False))

    def numpy(self, dtype: Any = None, *, out: np.ndarray[Any, Any] | None = None,
              threads: int = 1) -> np.ndarray[Any, Any]:
        if dtype is None and out is None:
            d = _numpy_ready.get(self.encoding_id)
            if d is not None:
                return _ndarray(self.shape, d, self.memory(0, d.itemsize, False))
        return _Readable.numpy(self, dtype, out=out, threads=threads)

    numpy.__doc__ = _Readable.numpy.__doc__

    def torch(self, dtype: Any = None, device: Any = "cpu", *, out: TorchTensor | None = None,
              pin_memory: bool = False, threads: int = 1) -> TorchTensor:
        if dtype is None and out is None and device == "cpu" and not pin_memory:
            known = _torch_ready.get(self.encoding_id)
            if known is not None:
                memory = self.memory(0, known[1] // 8, True)
                return _from_dlpack(memory.dlpack(self.shape, *known, 0, False))
        return _Readable.torch(self, dtype, device, out=out, pin_memory=pin_memory, threads=threads)

    torch.__doc__ = _Readable.torch.__doc__

    def __getitem__(self, key: Any) -> TensorView:
        """A part of the tensor, not read yet: integers, slices with any step, ... and None.

        >>> model["blk.0.attn_q.weight"][:2, ::16].numpy().shape
        (2, 4)
        """
        return TensorView(self, Box.whole(self.shape).take(key))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Tensor):
            return self.model_key == other.model_key and self.index == other.index
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.model_key, self.index))

    def check(self, *, progress: Any = None) -> None:
        """Reads the tensor and compares it with the digest that the file states, if it states one.
        ChecksumError: they differ."""
        _core.tensor_check(self, {}, _progress(progress))

    def digest(self, *, progress: Any = None) -> bytes:
        """SHA-256 over encoding, shape and bytes: the same in every container."""
        return _core.tensor_digest(self, {}, _progress(progress))

    def __repr__(self) -> str:
        return f"Tensor({self.name!r}, {self.shape}, {self.encoding.name})"


def _progress(progress: Any) -> Any:
    from ._progress import adapt
    return adapt(progress)


class TensorView(_Readable):
    """A part of a tensor, not read yet. It has the methods of Tensor but `raw`.

    name and encoding are those of `tensor`; shape, n_elements those of the part.

    >>> part = model["token_embd.weight"][10:20, 0]
    >>> part.shape, part.tensor.shape, part[::2].numpy().shape
    ((10,), (256, 64), (5,))
    """

    __slots__ = ("tensor", "box")

    def __init__(self, tensor: Tensor, box: Box) -> None:
        self.tensor = tensor
        self.box = box

    def _whole(self) -> tuple[_core.Tensor, Box | None]:
        return self.tensor, self.box

    @property
    def encoding(self) -> Encoding:
        """The number format of the tensor."""
        return self.tensor.encoding

    @property
    def shape(self) -> tuple[int, ...]:
        """Dimensions of the part."""
        return self.box.shape

    @property
    def encoding_id(self) -> int:
        """The library's number of the encoding."""
        return self.tensor.encoding_id

    @property
    def name(self) -> str:
        """The tensor's name."""
        return self.tensor.name

    @property
    def n_elements(self) -> int:
        """How many numbers the part has."""
        return _n_elements(self.shape)

    def __getitem__(self, key: Any) -> TensorView:
        return TensorView(self.tensor, self.box.take(key))

    def __repr__(self) -> str:
        return f"TensorView({self.name!r}, {self.shape}, {self.encoding.name})"
