"""Models and coordinators."""

import ctypes
import json
import os

from . import _native
from ._library import Error, Owner, default
from ._request import Request
from ._response import Response
from ._stepped import Stepped
from ._stream import Stream


class _Config(Owner):
    _destroy = "tactus_config_destroy"

    def __init__(self, library, model, artifacts, progress, options):
        data = json.dumps(options).encode()
        super().__init__(library, library.out("tactus_config_from_json", data, len(data)))
        if model is not None:
            path = os.fsencode(model)
            library.call("tactus_config_set_engine_dir", self.handle, path, len(path))
        if artifacts is not None:
            library.call("tactus_config_set_artifacts", self.handle, artifacts.handle)
        if progress is not None:
            self.raised = None

            def report(done, total, _):
                try:
                    return 1 if progress(done, total) else 0
                except BaseException as error:
                    self.raised = error
                    return 1

            self._report = _native.tactus_load_progress_callback_t(report)
            library.call("tactus_config_set_load_progress_callback", self.handle, self._report, None)

    def make(self, name):
        """Creates something from it. What the progress function raised, it raises."""
        try:
            return self.library.out(name, self.handle)
        except Error:
            if getattr(self, "raised", None) is not None:
                raise self.raised from None
            raise


class Artifacts(Owner):
    """A loaded model, which coordinators can share. `options` are keys of tactus_config_from_json; `progress(done, total)` is called
    while it loads, in bytes, and stops it with a true answer (Cancelled). `vocabulary_only` loads no weights."""

    _destroy = "tactus_artifacts_destroy"

    def __init__(self, model=None, vocabulary_only=False, progress=None, library=None, **options):
        library = library or default()
        with _Config(library, model, None, progress, options) as config:
            handle = config.make("tactus_artifacts_load_vocabulary" if vocabulary_only else "tactus_artifacts_load")
        super().__init__(library, handle)

    def info(self):
        """Architecture, name, format, sizes, limits, token ids, template names."""
        return json.loads(self.library.string("tactus_artifacts_info_json", self.handle))

    def tokenize(self, text, add_special=True, parse_special=False):
        """Token ids of a text."""
        data = text.encode()
        return self.library.ids("tactus_artifacts_tokenize", self.handle, data, len(data), int(add_special), int(parse_special))

    def detokenize(self, ids, skip_special=True):
        """The text of token ids."""
        array = (ctypes.c_int32 * len(ids))(*ids)
        return self.library.string("tactus_artifacts_detokenize", self.handle, array, len(ids), int(skip_special)).decode()

    def token_bytes(self, token):
        """The bytes that a token stands for, which can be part of a character."""
        return self.library.string("tactus_artifacts_token_text", self.handle, token)

    def render_chat(self, request, sequence=0, **options):
        """The prompt that a chat is rendered to."""
        request = Request.of(request, self.library, options)
        return self.library.string("tactus_artifacts_render_chat", self.handle, request.handle, sequence).decode()


class Coordinator(Owner):
    """Runs requests on a model, one dispatch at a time.

    `model` is a path (a .gguf file or a Hugging Face directory), `artifacts` a model that is loaded already; `options` are keys of
    tactus_config_from_json, such as `max_batch=8` or `kv_type="f16"`. `progress` as in `Artifacts`.
    """

    _destroy = "tactus_coordinator_destroy"

    def __init__(self, model=None, artifacts=None, progress=None, library=None, **options):
        library = library or (artifacts.library if artifacts else default())
        with _Config(library, model, artifacts, progress, options) as config:
            handle = config.make("tactus_coordinator_create")
        super().__init__(library, handle)

    def dispatch(self, request, profile=False, **options):
        """Runs a request to its end. `request`: a `Request`, or what makes one, with options as keywords. Answers a `Response`.

        Where a single sequence fails its error is raised, and has the others' results in `response`.
        """
        request = Request.of(request, self.library, options)
        try:
            self.library.call("tactus_coordinator_dispatch_request", self.handle, request.handle, int(profile), None)
        except Error as error:
            try:
                error.response = self._take()
            except Error:
                pass  # refused as a whole: there is none
            raise
        return self._take()

    def stream(self, request, profile=False, interval=1, with_logprobs=False, **options):
        """Runs a request of one sequence on a thread of its own and answers a `Stream` of its chunks, of `interval` tokens each."""
        return Stream(self, Request.of(request, self.library, options), profile, interval, with_logprobs)

    def count_prompt_tokens(self, request, **options):
        """The number of prompt tokens of every sequence."""
        request = Request.of(request, self.library, options)
        return self.library.ids("tactus_coordinator_count_prompt_tokens", self.handle, request.handle)

    def begin_stepped(self, request, request_id=1, profile=False, **options):
        """Opens an execution whose every step the caller decides: a `Stepped`. It holds the coordinator until it ends."""
        request = Request.of(request, self.library, options)
        name = "tactus_coordinator_begin_stepped"
        return Stepped(self.library, self.library.out(name, self.handle, request.handle, request_id, int(profile), None))

    def info(self):
        """Model, backend, limits and metrics."""
        return json.loads(self.library.string("tactus_coordinator_info_json", self.handle))

    def limit(self, limit):
        """A limit: a TACTUS_LIMIT_* number."""
        return self.library.out("tactus_coordinator_limit", self.handle, limit, kind=ctypes.c_uint64)

    def metric(self, metric):
        """A counter: a TACTUS_METRIC_* number."""
        return self.library.out("tactus_coordinator_metric", self.handle, metric, kind=ctypes.c_uint64)

    def save_system_prompt(self, prompt):
        """Computes a system prompt's keys and values, and keeps them until they are removed."""
        data = prompt.encode()
        self.library.call("tactus_coordinator_gen_and_save_system_prompt_kv_cache", self.handle, data, len(data), None)

    def saved_system_prompts(self):
        """The saved prompts, with "text", "tokens" and "kept_tokens"."""
        return json.loads(self.library.string("tactus_coordinator_saved_system_prompts_json", self.handle))

    def remove_system_prompt(self, prompt):
        """Lets a saved prompt go. Raises NotFound."""
        data = prompt.encode()
        self.library.call("tactus_coordinator_remove_system_prompt", self.handle, data, len(data))

    def _take(self):
        return Response(self.library, self.library.out("tactus_coordinator_take_rank_response", self.handle, 0))
