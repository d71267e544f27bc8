"""What a dispatch gave."""

import array
import ctypes
import enum
import json
from typing import List, NamedTuple, Optional, Tuple

from . import _native
from ._library import Error, Owner


class FinishReason(enum.IntEnum):
    """Why a sequence ended."""

    NOT_FINISHED = _native.TACTUS_FINISH_NOT_FINISHED
    END_OF_SEQUENCE = _native.TACTUS_FINISH_END_OF_SEQUENCE
    MAX_LENGTH = _native.TACTUS_FINISH_MAX_LENGTH
    CANCELLED = _native.TACTUS_FINISH_CANCELLED
    ERROR = _native.TACTUS_FINISH_ERROR
    STOP_WORDS = _native.TACTUS_FINISH_STOP_WORDS


class Logprob(NamedTuple):
    """Natural logarithms at temperature 1: of the token itself, and of the most probable ones, descending."""

    logprob: float
    top: List[Tuple[int, float]]


def logprobs(library, name, handle, *where):
    logprob, count = ctypes.c_float(), ctypes.c_size_t()
    ids, values = ctypes.POINTER(ctypes.c_int32)(), ctypes.POINTER(ctypes.c_float)()
    library.call(name, handle, *where, ctypes.byref(logprob), ctypes.byref(ids), ctypes.byref(values), ctypes.byref(count))
    return Logprob(logprob.value, list(zip(ids[: count.value], values[: count.value])))


class Result(NamedTuple):
    """One sequence's result. `error` is None, or what ended the sequence; `logprobs` is empty where they were not asked for."""

    text: str
    ids: List[int]
    finish_reason: FinishReason
    input_tokens: int
    reused_tokens: int
    seed: int
    max_tokens: int
    original_index: int
    warnings: List[str]
    error: Optional[Error]
    logprobs: List[Logprob]


class Response(Owner):
    """The results of a dispatch: a sequence of `Result`, in the request's order."""

    _destroy = "tactus_response_destroy"

    def __init__(self, library, handle):
        super().__init__(library, handle)
        count = library.out("tactus_response_sequence_count", handle, kind=ctypes.c_size_t)
        self.results = [self._result(sequence) for sequence in range(count)]

    def __len__(self):
        return len(self.results)

    def __getitem__(self, sequence):
        return self.results[sequence]

    def json(self):
        """The response in the OpenAI shape."""
        return json.loads(self.library.string("tactus_response_to_json", self.handle))

    def timing(self, timing):
        """A figure of the profile: a TACTUS_TIMING_* number. Raises StateError where the dispatch was not profiled."""
        return self.library.out("tactus_response_timing", self.handle, timing, kind=ctypes.c_double)

    def batch_histogram(self):
        """Steps by the number of sequences in them, from 0. Raises StateError where the dispatch was not profiled."""
        return self.library.span("tactus_response_batch_histogram", self.handle, kind=ctypes.c_uint64)

    def hidden_states(self, sequence=0):
        """The hidden states of the prompt, where the option `hidden_layer` asked for them: an `array.array` of floats per token."""
        values, rows, width = ctypes.POINTER(ctypes.c_float)(), ctypes.c_size_t(), ctypes.c_size_t()
        arguments = (self.handle, sequence, ctypes.byref(values), ctypes.byref(rows), ctypes.byref(width))
        self.library.call("tactus_response_hidden_states", *arguments)
        start, bytes_per_row = ctypes.cast(values, ctypes.c_void_p).value, 4 * width.value
        return [array.array("f", ctypes.string_at(start + row * bytes_per_row, bytes_per_row)) for row in range(rows.value)]

    def materialize(self, sequence, stops):
        """A response of one sequence, with further stop strings applied to its text."""
        array = (ctypes.c_char_p * len(stops))(*(stop.encode() for stop in stops))
        handle = self.library.out("tactus_response_materialize", self.handle, sequence, array, len(stops))
        return Response(self.library, handle)

    def _result(self, sequence):
        library, handle = self.library, self.handle

        def number(name, kind):
            return library.out(name, handle, sequence, kind=kind)

        def pair(name, first, second):
            a, b = first(), second()
            library.call(name, handle, sequence, ctypes.byref(a), ctypes.byref(b))
            return a.value, b.value

        status, text, length = ctypes.c_int32(), ctypes.c_void_p(), ctypes.c_size_t()
        library.call("tactus_response_error", handle, sequence, ctypes.byref(status), ctypes.byref(text), ctypes.byref(length))
        error = None
        if status.value != _native.TACTUS_OK:
            error = library.error_of(status.value, ctypes.string_at(text, length.value).decode())
        input_tokens, reused = pair("tactus_response_input_tokens", ctypes.c_uint32, ctypes.c_uint32)
        seed, _ = pair("tactus_response_seed", ctypes.c_uint64, ctypes.c_int32)
        warnings = number("tactus_response_warning_count", ctypes.c_size_t)
        positions = number("tactus_response_logprob_count", ctypes.c_size_t)
        return Result(
            text=library.span("tactus_response_text", handle, sequence).decode(),
            ids=library.span("tactus_response_output_ids", handle, sequence, kind=ctypes.c_int32),
            finish_reason=FinishReason(number("tactus_response_finish_reason", ctypes.c_int32)),
            input_tokens=input_tokens,
            reused_tokens=reused,
            seed=seed,
            max_tokens=number("tactus_response_max_generate_length", ctypes.c_uint32),
            original_index=number("tactus_response_original_index", ctypes.c_int32),
            warnings=[library.span("tactus_response_warning", handle, sequence, i).decode() for i in range(warnings)],
            error=error,
            logprobs=[logprobs(library, "tactus_response_logprobs", handle, sequence, i) for i in range(positions)],
        )
