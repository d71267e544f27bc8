"""The peer, llama.cpp, through the low-level calls of the pinned `llama-cpp-python`: load, tokenize, logits, quantize.

The high-level class is left aside: it loses 13 % of decode speed to Python and hides the settings that comparisons need.
"""

import ctypes
import os

import llama_cpp
import llama_cpp.llama_cpp as lib
import numpy

F32, F16 = 0, 1  # ggml types of the KV cache


_log = []


@lib.llama_log_callback
def _collect(level, text, user_data):
    _log.append(text.decode("utf-8", "replace"))


lib.llama_log_set(_collect, ctypes.c_void_p(0))
lib.llama_backend_init()


class PeerError(Exception):
    """A refusal of llama.cpp, with the end of its log."""


def _fail(what):
    raise PeerError(f"{what}\n{''.join(_log[-20:])}")


class Model:
    """A model file. `repack`: whether weights may be laid out anew for the processor when loading."""

    def __init__(self, path, repack=True, vocab_only=False):
        _log.clear()
        params = lib.llama_model_default_params()
        params.n_gpu_layers = 0
        params.use_extra_bufts = repack
        params.vocab_only = vocab_only
        self.path = os.fspath(path)
        self.handle = lib.llama_model_load_from_file(self.path.encode(), params)
        if not self.handle:
            _fail(f"{self.path}: llama.cpp does not load it")
        self.vocab = lib.llama_model_get_vocab(self.handle)
        self.n_vocab = lib.llama_vocab_n_tokens(self.vocab)
        self.bos = lib.llama_vocab_bos(self.vocab)
        self.eos = lib.llama_vocab_eos(self.vocab)

    def close(self):
        if self.handle:
            lib.llama_model_free(self.handle)
            self.handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def tokenize(self, text, add_special=True, parse_special=True):
        data = text.encode()
        room = (lib.llama_token * (len(data) + 16))()
        n = lib.llama_tokenize(self.vocab, data, len(data), room, len(room), add_special, parse_special)
        if n < 0:
            _fail(f"{self.path}: cannot tokenize {text!r}")
        return list(room[:n])

    def piece(self, token):
        room = ctypes.create_string_buffer(256)
        n = lib.llama_token_to_piece(self.vocab, token, room, len(room), 0, True)
        return room.raw[: max(n, 0)]

    def is_end(self, token):
        return bool(lib.llama_vocab_is_eog(self.vocab, token))

    def chat_template(self):
        text = lib.llama_model_chat_template(self.handle, None)
        return text.decode() if text else None

    def context(self, n_ctx, threads=2, flash=False, kv=F16, ubatch=512, batch=None, sequences=1, unified=False):
        """`n_ctx` tokens of KV cache in all. `unified`: one buffer for all sequences instead of a part for each."""
        return Context(self, n_ctx, threads, flash, kv, ubatch, batch or max(ubatch, n_ctx), sequences, unified)


class Context:
    """A KV cache and its work buffers."""

    def __init__(self, model, n_ctx, threads, flash, kv, ubatch, batch, sequences, unified):
        params = lib.llama_context_default_params()
        params.n_ctx = n_ctx
        params.n_batch = batch
        params.n_ubatch = min(ubatch, batch)
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = threads
        params.flash_attn_type = 1 if flash else 0  # LLAMA_FLASH_ATTN_TYPE_ENABLED, _DISABLED
        params.type_k = params.type_v = kv
        params.no_perf = True
        params.kv_unified = unified
        self.model = model
        self.handle = lib.llama_init_from_model(model.handle, params)
        if not self.handle:
            _fail(f"{model.path}: no context of {n_ctx} tokens")
        self.memory = lib.llama_get_memory(self.handle)
        self.batch = lib.llama_batch_init(batch, 0, sequences)

    def close(self):
        if self.handle:
            lib.llama_batch_free(self.batch)
            lib.llama_free(self.handle)
            self.handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def clear(self):
        lib.llama_memory_clear(self.memory, True)

    def fill(self, rows):
        """Puts `(token, position, sequence, wants logits)` rows into the batch."""
        b = self.batch
        b.n_tokens = len(rows)
        for i, (token, position, sequence, wanted) in enumerate(rows):
            b.token[i], b.pos[i], b.n_seq_id[i], b.logits[i] = token, position, 1, wanted
            b.seq_id[i][0] = sequence

    def run(self):
        status = lib.llama_decode(self.handle, self.batch)
        if status != 0:
            _fail(f"{self.model.path}: llama_decode of {self.batch.n_tokens} tokens returned {status}")

    def row(self, i):
        """Logits of batch row `i`, a copy."""
        pointer = lib.llama_get_logits_ith(self.handle, i)
        return numpy.ctypeslib.as_array(pointer, (self.model.n_vocab,)).copy()

    def logits(self, ids, first=0, keep=0):
        """Runs `ids` from position `first` in one batch; logits `[len(ids) - keep, vocabulary]` of those from index `keep` on."""
        self.fill([(t, first + i, 0, i >= keep) for i, t in enumerate(ids)])
        self.run()
        return numpy.stack([self.row(i) for i in range(keep, len(ids))])


FILE_TYPES = {
    "F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "Q2_K": 10, "Q3_K": 12, "Q4_K": 15, "Q5_K": 17, "Q6_K": 18,
    "Q4_K_M": 15, "IQ4_NL": 25, "IQ4_XS": 30, "BF16": 32,
}


def quantize(source, target, file_type, pure=False, threads=2):
    """Writes `source` anew with `file_type` (a key of FILE_TYPES). `pure`: every matrix gets the type, none a better one."""
    _log.clear()
    params = lib.llama_model_quantize_default_params()
    params.ftype = FILE_TYPES[file_type]
    params.nthread = threads
    params.allow_requantize = True
    params.pure = pure
    status = lib.llama_model_quantize(os.fspath(source).encode(), os.fspath(target).encode(), ctypes.byref(params))
    if status != 0:
        _fail(f"{source}: llama.cpp does not quantize it to {file_type} (status {status})")


def version():
    return llama_cpp.__version__


def system_info():
    return lib.llama_print_system_info().decode().strip()
