"""Requests."""

import ctypes
import json

from ._library import Owner, default


class Request(Owner):
    """A batch of sequences with their options, from the JSON object that `body` is (a dict, or JSON text).

    `body` may also be a list of chat messages, with options as keywords: `Request(messages, temperature=0.7, max_tokens=100)`.
    """

    _destroy = "tactus_request_destroy"

    def __init__(self, body, library=None, **options):
        library = library or default()
        if isinstance(body, list):
            body = {"messages": body}
        if isinstance(body, str):
            body = json.loads(body) if options else body
        text = body if isinstance(body, str) else json.dumps({**body, **options})
        data = text.encode()
        super().__init__(library, library.out("tactus_request_from_json", data, len(data)))

    def __len__(self):
        return self.library.out("tactus_request_sequence_count", self.handle, kind=ctypes.c_size_t)

    def set_channel(self, sequence, channel):
        """Attaches a `Channel` to a sequence; None takes it off."""
        self.library.call("tactus_request_set_channel", self.handle, sequence, channel and channel.handle)

    @staticmethod
    def of(body, library, options):
        """`body` itself where it is a request."""
        if isinstance(body, Request):
            if options:
                raise TypeError(f"{sorted(options)} given with a finished Request, expected them in the Request")
            return body
        return Request(body, library, **options)
