"""LLM inference in the process: the Python side of the Tactus library, with nothing but ctypes.

    import tactus

    tactus.load("libtactus.so.0")                        # a path, or a name that the system's loader finds
    with tactus.Coordinator("model.gguf") as coordinator:
        for chunk in coordinator.stream([{"role": "user", "content": "Hello"}], max_tokens=50):
            print(chunk.text, end="", flush=True)

Requests and configurations are the JSON objects of tactus_request_from_json and tactus_config_from_json, whose comments in tactus.h
list the keys. A call that fails raises a subclass of `Error` with the library's own message. Everything that holds memory of the
library has `close`, is a context manager, and is freed with the object at the latest. Any thread may use any object; a coordinator
runs one dispatch at a time, and another one meanwhile raises `Busy`.

`Library.c` has every C function, for what has no method here.
"""

from ._library import (
    Busy,
    Cancelled,
    CapacityError,
    ContextFull,
    Error,
    Forked,
    FormatError,
    InternalError,
    InvalidArgument,
    IoError,
    Library,
    NoCapacity,
    NotFound,
    OutOfMemory,
    StateError,
    TemplateError,
    TimedOut,
    TokenizerError,
    Unsupported,
    load,
)
from ._model import Artifacts, Coordinator
from ._request import Request
from ._response import FinishReason, Logprob, Response, Result
from ._stepped import Stepped
from ._stream import Channel, Chunk, Stream

__all__ = [
    "Artifacts", "Busy", "Cancelled", "CapacityError", "Channel", "Chunk", "ContextFull", "Coordinator", "Error", "FinishReason", "Forked",
    "FormatError", "InternalError", "InvalidArgument", "IoError", "Library", "Logprob", "NoCapacity", "NotFound", "OutOfMemory", "Request",
    "Response", "Result", "StateError", "Stepped", "Stream", "TemplateError", "TimedOut", "TokenizerError", "Unsupported", "load",
]  # fmt: skip
