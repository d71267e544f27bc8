"""Text as it is generated."""

import ctypes
import threading
from typing import List, NamedTuple

from ._library import Owner, StateError, TimedOut, default
from ._response import FinishReason, Logprob, logprobs


class Chunk(NamedTuple):
    """A piece of the output: whole characters, perhaps none. The texts of all chunks joined are the result's text."""

    text: str
    ids: List[int]
    finished: bool
    reason: FinishReason
    logprobs: List[Logprob]


class Channel(Owner):
    """Carries one sequence's output while a dispatch runs on another thread. Attached once, with `Request.set_channel`."""

    _destroy = "tactus_channel_destroy"

    def __init__(self, interval=1, with_logprobs=False, library=None):
        library = library or default()
        super().__init__(library, library.out("tactus_channel_create"))
        self.with_logprobs = with_logprobs
        library.call("tactus_channel_set_interval", self.handle, interval)

    def pop(self, timeout=None):
        """The next chunk, after at most `timeout` seconds (None: for ever). Raises TimedOut, and StateError after the last chunk."""
        # In slices, so that a main thread that waits can be interrupted.
        left = timeout
        while True:
            part = 0.1 if left is None else min(left, 0.1)
            try:
                self.library.call("tactus_channel_wait_pop", self.handle, int(part * 1000))
                return self._chunk()
            except TimedOut:
                if left is not None:
                    left -= part
                    if left <= 0:
                        raise

    def try_pop(self):
        """The next chunk, or None where none waits."""
        popped = self.library.out("tactus_channel_try_pop", self.handle, kind=ctypes.c_int32)
        return self._chunk() if popped else None

    def cancel(self):
        """Ends the sequence within one step. From any thread."""
        self.library.call("tactus_channel_cancel", self.handle)

    @property
    def reason(self):
        """Why the sequence ended; NOT_FINISHED before."""
        return FinishReason(self.library.out("tactus_channel_reason", self.handle, kind=ctypes.c_int32))

    def __iter__(self):
        while True:
            chunk = self.pop()
            yield chunk
            if chunk.finished:
                return

    def _chunk(self):
        library, handle = self.library, self.handle
        finished, reason = ctypes.c_int32(), ctypes.c_int32()
        library.call("tactus_channel_chunk_finish", handle, ctypes.byref(finished), ctypes.byref(reason))
        text = library.span("tactus_channel_chunk_text", handle).decode()
        ids = library.span("tactus_channel_chunk_ids", handle, kind=ctypes.c_int32)
        values = []
        if self.with_logprobs:
            values = [logprobs(library, "tactus_channel_chunk_logprobs", handle, position) for position in range(len(ids))]
        return Chunk(text, ids, bool(finished.value), FinishReason(reason.value), values)


class Stream:
    """The chunks of a request of one sequence, which a thread of its own dispatches. Made by `Coordinator.stream`.

    Iterate over it; leaving early, or `close`, cancels the sequence and waits for its end. After the last chunk `response` is the
    whole response. What a dispatch raises, iteration raises.
    """

    def __init__(self, coordinator, request, profile, interval, with_logprobs):
        if len(request) != 1:
            raise ValueError(f"a request of {len(request)} sequences to be streamed, expected one: give each a Channel and dispatch")
        self._channel = Channel(interval, with_logprobs, coordinator.library)
        request.set_channel(0, self._channel)
        self._outcome = outcome = {}

        # The thread knows nothing of this object, so that dropping the object ends the thread's work.
        def dispatch():
            try:
                outcome["response"] = coordinator.dispatch(request, profile=profile)
            except BaseException as error:  # raised where the stream is read
                outcome["error"] = error

        self._thread = threading.Thread(target=dispatch, name="tactus-stream", daemon=True)
        self._chunks = self._run(self._channel, self._thread, outcome)
        self._thread.start()

    @property
    def response(self):
        """The response, after the last chunk; None before."""
        return None if self._thread.is_alive() else self._outcome.get("response")

    @staticmethod
    def _run(channel, thread, outcome):
        try:
            finished = False
            while not finished:
                done = not thread.is_alive()
                try:
                    chunk = channel.pop(0 if done else 0.05)
                except (TimedOut, StateError):
                    if done:
                        break  # refused: there never was a chunk
                    continue
                finished = chunk.finished
                if not (finished and chunk.reason == FinishReason.ERROR):
                    yield chunk
        finally:
            channel.cancel()
            thread.join()
            channel.close()
        if "error" in outcome:
            raise outcome["error"]

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._chunks)

    def cancel(self):
        """Asks for the end; the last chunk still comes. From any thread."""
        if self._channel.handle:
            self._channel.cancel()

    def close(self):
        """Cancels what still runs, and waits for it."""
        self.cancel()
        self._thread.join()
        self._chunks.close()
        self._channel.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if hasattr(self, "_chunks"):
            self.close()
