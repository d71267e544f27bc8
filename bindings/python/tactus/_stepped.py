"""Executions that the caller drives step by step."""

import ctypes

from ._library import Owner
from ._request import Request
from ._response import Response


def _array(kind, values):
    return (kind * len(values))(*values)


class Stepped(Owner):
    """Made by `Coordinator.begin_stepped`. Residents, the sequences in it, are named by numbers that never come to mean another one."""

    _destroy = "tactus_stepped_destroy"

    @property
    def residents(self):
        """Live residents, longest resident first."""
        return self.library.span("tactus_stepped_residents", self.handle, kind=ctypes.c_uint64)

    def admit(self, request, original_index, request_id=1, **options):
        """Brings a request of one sequence in, and answers its resident. Raises NoCapacity where there is no room now."""
        request = Request.of(request, self.library, options)
        arguments = (self.handle, request.handle, original_index, request_id)
        return self.library.out("tactus_stepped_admit", *arguments, kind=ctypes.c_uint64)

    def prefill(self, resident):
        """Runs the next chunk of a resident's prompt; answers how many tokens of it remain."""
        return self.library.out("tactus_stepped_prefill", self.handle, resident, kind=ctypes.c_uint32)

    def decode(self, residents):
        """One token for each of `residents`."""
        self.library.call("tactus_stepped_decode", self.handle, _array(ctypes.c_uint64, residents), len(residents))

    def step(self, prefill, decode):
        """Prompt chunks and tokens in one pass: `prefill` maps residents to numbers of tokens, `decode` lists residents."""
        who, how_many = _array(ctypes.c_uint64, list(prefill)), _array(ctypes.c_uint32, list(prefill.values()))
        self.library.call("tactus_stepped_step", self.handle, who, how_many, len(prefill), _array(ctypes.c_uint64, decode), len(decode))

    @property
    def deltas(self):
        """The tokens that residents gained in the last step, by resident."""
        gained = {}
        for delta in range(self.library.out("tactus_stepped_delta_count", self.handle, kind=ctypes.c_size_t)):
            resident, ids, count = ctypes.c_uint64(), ctypes.POINTER(ctypes.c_int32)(), ctypes.c_size_t()
            arguments = (self.handle, delta, ctypes.byref(resident), ctypes.byref(ids), ctypes.byref(count))
            self.library.call("tactus_stepped_delta", *arguments)
            gained[resident.value] = ids[: count.value]
        return gained

    def finished(self):
        """The results of those that ended in the last step, by resident."""
        names = self.library.span("tactus_stepped_finished", self.handle, kind=ctypes.c_uint64)
        if not names:
            return {}
        with Response(self.library, self.library.out("tactus_stepped_finished_response", self.handle)) as response:
            return dict(zip(names, response.results))

    def retire(self, resident):
        """Ends a resident now, as cancelled."""
        self.library.call("tactus_stepped_retire", self.handle, resident)

    def finish(self):
        """Ends the execution, in which nobody is live any more; answers the founding request's response."""
        return Response(self.library, self.library.out("tactus_stepped_finish", self.handle))

    def abort(self):
        """Ends the execution and everyone in it."""
        self.library.call("tactus_stepped_abort", self.handle)
