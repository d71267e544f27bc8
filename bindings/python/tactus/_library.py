"""The loaded library, its errors as exceptions, and what owns a handle."""

import ctypes
import json
import threading

from . import _native


class Error(Exception):
    """A call that failed. `status` is a TACTUS_ERR_* code, `name` its name, `message` the library's text."""

    def __init__(self, status, name, message):
        super().__init__(f"{name}: {message}")
        self.status, self.name, self.message = status, name, message
        #: The response, where a dispatch failed and nevertheless has results.
        self.response = None


class InvalidArgument(Error, ValueError):
    """A value is malformed or out of range; the message names it."""


class NotFound(Error):
    """A file, a shard, a tensor or a name does not exist."""


class IoError(Error):
    """The system refused to read or write."""


class FormatError(Error):
    """A file is malformed."""


class Unsupported(Error):
    """A model, a stored type or a combination that the library does not do."""


class TemplateError(Error):
    """The chat template does not parse or does not accept the messages."""


class TokenizerError(Error):
    """The vocabulary cannot be used, or a text cannot be encoded."""


class CapacityError(Error):
    """Something does not fit. `prompt`, `requested` and `limit` have its figures, or None."""

    prompt = requested = limit = None


class ContextFull(CapacityError):
    """Prompt and requested output do not fit into the context."""


class NoCapacity(CapacityError):
    """No seat or no page is free."""


class Busy(Error):
    """Another call runs on the coordinator. Nothing was changed."""


class Cancelled(Error):
    """A callback or another thread asked to stop."""


class OutOfMemory(Error, MemoryError):
    """Host or device memory ran out."""


class StateError(Error):
    """The call does not fit what was done before."""


class InternalError(Error):
    """A defect of the library. The object can only be closed."""


class TimedOut(Error):
    """The time ran out before there was anything."""


class Forked(Error):
    """The object was made before this process was forked."""


CLASSES = {
    _native.TACTUS_ERR_INVALID_ARGUMENT: InvalidArgument, _native.TACTUS_ERR_NOT_FOUND: NotFound, _native.TACTUS_ERR_IO: IoError,
    _native.TACTUS_ERR_FORMAT: FormatError, _native.TACTUS_ERR_UNSUPPORTED: Unsupported, _native.TACTUS_ERR_TEMPLATE: TemplateError,
    _native.TACTUS_ERR_TOKENIZER: TokenizerError, _native.TACTUS_ERR_CONTEXT_FULL: ContextFull, _native.TACTUS_ERR_NO_CAPACITY: NoCapacity,
    _native.TACTUS_ERR_BUSY: Busy, _native.TACTUS_ERR_CANCELLED: Cancelled, _native.TACTUS_ERR_OUT_OF_MEMORY: OutOfMemory,
    _native.TACTUS_ERR_DEVICE_OUT_OF_MEMORY: OutOfMemory, _native.TACTUS_ERR_STATE: StateError, _native.TACTUS_ERR_INTERNAL: InternalError,
    _native.TACTUS_ERR_TIMEOUT: TimedOut, _native.TACTUS_ERR_FORKED: Forked,
}  # fmt: skip


class Library:
    """The shared library at `path`, which may be a bare name that the system's loader finds.

    Raises OSError where it cannot be loaded, and ImportError where it is no Tactus or its ABI is older than this package.
    """

    def __init__(self, path="libtactus.so.0"):
        self.path = str(path)
        #: Every C function, by its name.
        self.c = ctypes.CDLL(self.path)
        try:
            self.c.tactus_abi_version.restype = ctypes.c_int32
            self.abi_version = self.c.tactus_abi_version()
        except AttributeError:
            raise ImportError(f"{self.path}: no function tactus_abi_version, expected a Tactus library") from None
        if self.abi_version < _native.ABI_VERSION:
            raise ImportError(f"{self.path}: ABI version {self.abi_version}, expected at least {_native.ABI_VERSION}")
        for name, (result, parameters) in _native.FUNCTIONS.items():
            function = getattr(self.c, name)
            function.restype, function.argtypes = result, parameters
        self.version = ctypes.string_at(self.c.tactus_version()).decode()

    def call(self, name, *arguments):
        """Calls a function that answers a status. Raises its error."""
        status = getattr(self.c, name)(*arguments)
        if status != _native.TACTUS_OK:
            raise self._error(status)

    def out(self, name, *arguments, kind=ctypes.c_void_p):
        """Calls a function whose last parameter is one result, and answers that."""
        result = kind()
        self.call(name, *arguments, ctypes.byref(result))
        return result.value

    def span(self, name, *arguments, kind=None):
        """Calls a function that lends a pointer and a length: bytes, or a list of numbers of `kind`."""
        data = ctypes.POINTER(kind)() if kind else ctypes.c_void_p()
        count = ctypes.c_size_t()
        self.call(name, *arguments, ctypes.byref(data), ctypes.byref(count))
        if kind:
            return data[: count.value]
        return ctypes.string_at(data, count.value) if count.value else b""

    def string(self, name, *arguments):
        """Calls a function that makes a text, and answers the text as bytes."""
        handle = self.out(name, *arguments)
        try:
            return self.span("tactus_string_get", handle)
        finally:
            self.c.tactus_string_destroy(handle)

    def ids(self, name, *arguments):
        """Calls a function that makes a list of numbers."""
        handle = self.out(name, *arguments)
        try:
            return self.span("tactus_ids_get", handle, kind=ctypes.c_int32)
        finally:
            self.c.tactus_ids_destroy(handle)

    def capabilities(self):
        """What the library can do: "architectures", "stored_types", "devices"."""
        return json.loads(self.string("tactus_capabilities_json"))

    def keep_log(self, level, capacity=1000):
        """Keeps the last `capacity` log lines up to `level` (1 errors … 5 traces; 0 ends it) for `log_lines`."""
        self.call("tactus_log_set_queue", level, capacity)

    def log_lines(self):
        """Takes the log lines that wait: pairs of level and text."""
        while True:
            level, handle = ctypes.c_int32(), ctypes.c_void_p()
            self.call("tactus_log_pop", ctypes.byref(level), ctypes.byref(handle))
            if not handle.value:
                return
            text = self.span("tactus_string_get", handle)
            self.c.tactus_string_destroy(handle)
            yield level.value, text.decode()

    def error_of(self, status, message):
        name = ctypes.string_at(self.c.tactus_status_name(status)).decode()
        return CLASSES.get(status, Error)(status, name, message)

    def _error(self, status):
        length = self.c.tactus_last_error_message_length()
        error = self.error_of(status, ctypes.string_at(self.c.tactus_last_error_message(), length).decode())
        if isinstance(error, CapacityError):
            figures = [ctypes.c_uint64() for _ in range(3)]
            if self.c.tactus_last_error_capacity(*map(ctypes.byref, figures)) == _native.TACTUS_OK:
                error.prompt, error.requested, error.limit = (figure.value for figure in figures)
        return error


_default = None
_loading = threading.Lock()


def load(path="libtactus.so.0"):
    """Loads the library, makes it the one that objects use which are given none, and answers it."""
    global _default
    library = Library(path)
    with _loading:
        _default = library
    return library


def default():
    """The library loaded last, or else the one that the system's loader finds."""
    return _default or load()


class Owner:
    """Owns one handle."""

    _destroy = ""

    def __init__(self, library, handle):
        self.library, self.handle = library, handle

    def close(self):
        """Gives the handle back. Later calls raise InvalidArgument."""
        handle, self.handle = getattr(self, "handle", None), None
        if handle:
            self.library.call(self._destroy, handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        try:
            self.close()
        except Exception:  # a collector's thread has nobody to tell
            pass
