# SPDX-License-Identifier: MIT
"""A GGUF in llama.cpp, through llama-cpp-python: tokens, logits, embeddings, inputs of matrices."""
import ctypes
import os

import llama_cpp
import numpy as np
from llama_cpp._ggml import libggml

libggml.ggml_op_name.restype = ctypes.c_char_p
_quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
llama_cpp.llama_log_set(_quiet, None)


class Tensor(ctypes.Structure):
    """ggml_tensor of the pinned version, as far as it is read here."""


Tensor._fields_ = [("type", ctypes.c_int), ("buffer", ctypes.c_void_p), ("ne", ctypes.c_int64 * 4),
                   ("nb", ctypes.c_size_t * 4), ("op", ctypes.c_int), ("params", ctypes.c_int32 * 16),
                   ("flags", ctypes.c_int32), ("src", ctypes.POINTER(Tensor) * 10),
                   ("view_src", ctypes.c_void_p), ("view_offset", ctypes.c_size_t),
                   ("data", ctypes.c_void_p), ("name", ctypes.c_char * 64)]


def array(tensor, dtype):
    """A tensor's values, with ggml's dimensions in numpy's order; a view, valid until the callback returns."""
    shape, strides = tuple(tensor.ne)[::-1], tuple(tensor.nb)[::-1]
    size = sum((n - 1) * s for n, s in zip(shape, strides)) + np.dtype(dtype).itemsize
    raw = (ctypes.c_byte * size).from_address(tensor.data)
    return np.ndarray(shape, dtype, buffer=raw, strides=strides)


class Model:
    """One context over one model. on_product(name, inputs, chosen, n_experts) sees the inputs of each
    product with a matrix of a layer, (..., columns), and which experts were chosen, or None."""

    def __init__(self, path, context=512, embeddings=False, on_product=None):
        p = llama_cpp.llama_model_default_params()
        p.n_gpu_layers = 0
        p.use_extra_bufts = on_product is None
        self.model = llama_cpp.llama_model_load_from_file(os.fsencode(path), p)
        if not self.model:
            raise SystemExit(f"{path}: llama.cpp does not load it")
        c = llama_cpp.llama_context_default_params()
        c.n_ctx = c.n_batch = c.n_ubatch = context
        c.n_threads = c.n_threads_batch = int(os.environ.get("THREADS", "1"))
        c.type_k = c.type_v = llama_cpp.GGML_TYPE_F32    # the cache shall not round what weights compute
        c.flash_attn_type = llama_cpp.LLAMA_FLASH_ATTN_TYPE_ENABLED     # in F32, too: a fifth of the time less
        c.embeddings = embeddings
        if on_product:
            self._callback = llama_cpp.ggml_backend_sched_eval_callback(self._watch)
            c.cb_eval = self._callback
        self.on_product = on_product
        self.context = llama_cpp.llama_init_from_model(self.model, c)
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)
        self.n_vocab = llama_cpp.llama_vocab_n_tokens(self.vocab)
        self.width = llama_cpp.llama_model_n_embd(self.model)
        self.batch = llama_cpp.llama_batch_init(context, 0, 1)

    def close(self):
        llama_cpp.llama_batch_free(self.batch)
        llama_cpp.llama_free(self.context)
        llama_cpp.llama_model_free(self.model)

    def _watch(self, pointer, asking, data):
        t = ctypes.cast(pointer, ctypes.POINTER(Tensor)).contents
        op = libggml.ggml_op_name(t.op)
        name = t.src[0].contents.name if op in (b"MUL_MAT", b"MUL_MAT_ID") else b""
        if not name.startswith(b"blk."):
            return False if asking else True
        if not asking:
            inputs = array(t.src[1].contents, np.float32)
            chosen = array(t.src[2].contents, np.int32) if op == b"MUL_MAT_ID" else None
            self.on_product(name.decode(), inputs, chosen, t.src[0].contents.ne[2])
        return True

    def tokens(self, text, special=False):
        data = text.encode()
        room = (llama_cpp.llama_token * (len(data) + 8))()
        n = llama_cpp.llama_tokenize(self.vocab, data, len(data), room, len(room), special, False)
        return list(room[:n])

    def _run(self, tokens, first):
        """A pass over tokens from an empty cache; results wanted from position first on."""
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), False)
        self.batch.n_tokens = len(tokens)
        for i, token in enumerate(tokens):
            self.batch.token[i], self.batch.pos[i] = token, i
            self.batch.n_seq_id[i], self.batch.seq_id[i][0] = 1, 0
            self.batch.logits[i] = i >= first
        if llama_cpp.llama_decode(self.context, self.batch):
            raise SystemExit("llama.cpp cannot decode the batch")

    def logits(self, tokens, first=0):
        """Logits of the positions from first on, (positions, vocabulary): a view, until the next pass."""
        self._run(tokens, first)
        rows = len(tokens) - first
        got = llama_cpp.llama_get_logits(self.context)
        return np.ctypeslib.as_array(got, (rows * self.n_vocab,)).reshape(rows, -1)

    def embedding(self, text, most=256):
        """The pooled embedding of the first tokens of a text, of length 1."""
        tokens = self.tokens(text, special=True)
        self._run(tokens[:most - 1] + tokens[-1:] if len(tokens) > most else tokens, 0)
        got = llama_cpp.llama_get_embeddings_seq(self.context, 0)
        vector = np.ctypeslib.as_array(got, (self.width,)).astype(np.float64)
        return vector / np.linalg.norm(vector)
