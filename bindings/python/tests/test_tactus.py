"""Tests of the Python side. TACTUS_TEST_LIBRARY, TACTUS_TEST_MODEL (a tiny model) and TACTUS_TEST_CHAT_MODEL (SmolLM2) are paths."""

import ctypes
import gc
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

import tactus
from tactus import _native

LIBRARY = os.environ["TACTUS_TEST_LIBRARY"]
TINY = os.environ["TACTUS_TEST_MODEL"]
CHAT = os.environ.get("TACTUS_TEST_CHAT_MODEL")
IDS = {"ids": [7, 20, 33], "ignore_eos": True}


def setUpModule():
    tactus.load(LIBRARY)


def small(**options):
    return tactus.Coordinator(TINY, cpu_threads=1, kv_type="f32", **options)


class Loading(unittest.TestCase):
    def test_the_version_is_checked(self):
        with tempfile.TemporaryDirectory() as work:
            source = os.path.join(work, "old.c")
            for at, (code, message) in enumerate([("int tactus_abi_version(void) { return 0; }", "ABI version 0, expected at least"), ("int x;", "no function")]):
                built = os.path.join(work, f"libold{at}.so")
                pathlib.Path(source).write_text(code)
                subprocess.run(["cc", "-shared", "-fPIC", "-o", built, source], check=True)
                with self.assertRaisesRegex(ImportError, message):
                    tactus.Library(built)
        with self.assertRaises(OSError):
            tactus.Library("/nowhere/libtactus.so")

    def test_by_name(self):
        code = "import tactus; print(tactus.load().version)"
        environment = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(LIBRARY)}
        said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
        self.assertEqual(said.strip(), tactus.Library(LIBRARY).version)

    def test_capabilities_and_log(self):
        library = tactus.load(LIBRARY)
        self.assertIn("llama", library.capabilities()["architectures"])
        library.keep_log(3)
        small().close()
        lines = list(library.log_lines())
        library.keep_log(0)
        self.assertTrue(lines and all(1 <= level <= 3 and text for level, text in lines), lines)


class Errors(unittest.TestCase):
    def test_each_has_its_class_and_the_librarys_message(self):
        with self.assertRaisesRegex(tactus.NotFound, "/nowhere") as caught:
            tactus.Coordinator("/nowhere")
        self.assertEqual((caught.exception.name, caught.exception.status), ("NOT_FOUND", _native.TACTUS_ERR_NOT_FOUND))
        with self.assertRaisesRegex(tactus.InvalidArgument, "nonsense"):
            tactus.Request({"text": "a", "nonsense": 1})
        with small(max_sequence_length=64) as coordinator, self.assertRaises(tactus.ContextFull) as caught:
            coordinator.dispatch({"ids": [5] * 100})
        self.assertEqual((caught.exception.prompt, caught.exception.limit), (100, 64))
        with self.assertRaises(tactus.InvalidArgument):
            coordinator.dispatch(IDS)  # closed
        for name in dir(_native):
            if name.startswith("TACTUS_ERR_") and name not in ("TACTUS_ERR_CUDA", "TACTUS_ERR_COLLECTIVE", "TACTUS_ERR_DEVICE_LOST"):
                self.assertIn(getattr(_native, name), tactus._library.CLASSES, name)

    def test_a_failed_sequence_leaves_its_neighbours_results(self):
        with small() as coordinator, self.assertRaises(tactus.Error) as caught:
            coordinator.dispatch({"sequences": [{"ids": [7, 20], "max_tokens": 4, "ignore_eos": True}, {"ids": [7, 20], "guide": {"regex": "("}}]})
        if caught.exception.response is not None:
            self.assertEqual(len(caught.exception.response[0].ids), 4)

    def test_progress_is_told_and_can_stop_a_load(self):
        seen = []
        small(progress=lambda done, total: seen.append((done, total))).close()
        self.assertTrue(seen and seen[-1][0] == seen[-1][1])
        with self.assertRaises(tactus.Cancelled):
            small(progress=lambda done, total: True)
        with self.assertRaisesRegex(KeyError, "mine"):
            small(progress=lambda done, total: {}["mine"])


class Running(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.artifacts = tactus.Artifacts(TINY)
        cls.coordinator = tactus.Coordinator(artifacts=cls.artifacts, cpu_threads=1, kv_type="f32")

    @classmethod
    def tearDownClass(cls):
        cls.coordinator.close()
        cls.artifacts.close()

    def test_a_batch_and_its_results(self):
        body = {"sequences": [{"ids": [7, 20]}, {"ids": [9]}], "max_tokens": 5, "ignore_eos": True, "num_logprobs": 2, "seed": 4}
        with self.coordinator.dispatch(body, profile=True) as response:
            self.assertEqual([len(result.ids) for result in response], [5, 5])
            result = response[1]
            self.assertEqual((result.finish_reason, result.input_tokens, result.seed), (tactus.FinishReason.MAX_LENGTH, 1, 4))
            self.assertEqual((len(result.logprobs), len(result.logprobs[0].top)), (5, 2))
            self.assertGreater(response.timing(_native.TACTUS_TIMING_TOTAL_SECONDS), 0)
            self.assertEqual(response.json()["usage"]["completion_tokens"], 10)
            self.assertEqual(sum(n * steps for n, steps in enumerate(response.batch_histogram())), 10)
            alone = self.coordinator.dispatch({"ids": [9], "max_tokens": 5, "ignore_eos": True})
            self.assertEqual(alone[0].ids, result.ids)

    def test_text_and_ids(self):
        ids = self.artifacts.tokenize("a b c", add_special=False)
        self.assertEqual(self.artifacts.detokenize(ids), "a b c")
        self.assertEqual(b"".join(self.artifacts.token_bytes(i) for i in ids).decode().strip(), "a b c")
        self.assertEqual(self.coordinator.count_prompt_tokens({"ids": [7, 20, 33]}), [3])
        self.assertEqual(self.artifacts.info()["architecture"], "llama")
        self.assertEqual(self.coordinator.limit(_native.TACTUS_LIMIT_MAX_BATCH), 8)
        self.assertEqual(self.coordinator.info()["limits"]["max_batch"], 8)

    def test_chunks_joined_are_the_response(self):
        stream = self.coordinator.stream({**IDS, "max_tokens": 40, "num_logprobs": 1}, interval=3, with_logprobs=True)
        chunks = list(stream)
        self.assertEqual("".join(chunk.text for chunk in chunks), stream.response[0].text)
        self.assertEqual([i for chunk in chunks for i in chunk.ids], stream.response[0].ids)
        self.assertTrue(chunks[-1].finished and chunks[-1].reason == tactus.FinishReason.MAX_LENGTH)
        self.assertTrue(all(len(chunk.logprobs) == len(chunk.ids) for chunk in chunks))

    def test_leaving_a_stream_early_cancels_it(self):
        for leave in ("break", "with", "drop", "cancel"):
            before = threading.active_count()
            if leave == "break":
                for _ in self.coordinator.stream({**IDS, "max_tokens": 200}):
                    break
            elif leave == "with":
                with self.coordinator.stream({**IDS, "max_tokens": 200}) as stream:
                    next(stream)
            elif leave == "drop":
                self.coordinator.stream({**IDS, "max_tokens": 200})
            else:
                stream = self.coordinator.stream({**IDS, "max_tokens": 200})
                stream.cancel()
                self.assertTrue(list(stream)[-1].finished)
            self.assertEqual(threading.active_count(), before, leave)
            self.assertEqual(len(self.coordinator.dispatch({**IDS, "max_tokens": 2})[0].ids), 2)

    def test_a_stream_raises_what_its_dispatch_raises(self):
        with self.assertRaisesRegex(tactus.InvalidArgument, "topP"):
            list(self.coordinator.stream({"ids": [7], "top_p": 7.0}))
        stepped = self.coordinator.begin_stepped({**IDS, "max_tokens": 9})
        with self.assertRaises(tactus.Busy):
            list(self.coordinator.stream(IDS))
        stepped.abort()
        stepped.close()
        with self.assertRaisesRegex(ValueError, "2 sequences"):
            self.coordinator.stream({"sequences": [{"text": "a"}, {"text": "b"}]})

    def test_several_channels_in_one_dispatch(self):
        request = tactus.Request({"sequences": [{"ids": [7]}, {"ids": [9]}], "max_tokens": 12, "ignore_eos": True})
        channels = [tactus.Channel(), tactus.Channel()]
        for sequence, channel in enumerate(channels):
            request.set_channel(sequence, channel)
        responses = []
        thread = threading.Thread(target=lambda: responses.append(self.coordinator.dispatch(request)))
        thread.start()
        texts = ["".join(chunk.text for chunk in channel) for channel in channels]
        thread.join()
        self.assertEqual(texts, [result.text for result in responses[0]])
        with self.assertRaises(tactus.StateError):
            channels[0].pop()

    def test_stepped_execution_says_what_a_dispatch_says(self):
        expected = [self.coordinator.dispatch({**IDS, "ids": ids, "max_tokens": 6})[0].ids for ids in ([7, 20], [9, 9, 9])]
        with self.coordinator.begin_stepped({**IDS, "ids": [7, 20], "max_tokens": 6}) as stepped:
            joiner = stepped.admit({**IDS, "ids": [9, 9, 9], "max_tokens": 6}, original_index=5, request_id=2)
            with self.assertRaises(tactus.StateError):
                stepped.decode([joiner])
            said, ended, waiting = {}, {}, {joiner: 100}
            while stepped.residents:
                stepped.step(waiting, [r for r in stepped.residents if r not in waiting])
                waiting = {}
                for resident, ids in stepped.deltas.items():
                    said.setdefault(resident, []).extend(ids)
                ended.update(stepped.finished())
            self.assertEqual((said[joiner], ended[joiner].original_index), (expected[1], 5))
            self.assertEqual(stepped.finish()[0].ids, expected[0])

    def test_hidden_states(self):
        width = self.artifacts.info()["hidden_size"]
        with self.coordinator.dispatch({**IDS, "max_tokens": 2, "hidden_layer": -1}) as response:
            states = response.hidden_states()
            self.assertEqual([len(row) for row in states], [width] * 3)
            self.assertTrue(all(any(row) for row in states))
            with self.assertRaises(tactus.StateError):
                response.batch_histogram()
        with self.coordinator.dispatch({**IDS, "max_tokens": 2}) as response, self.assertRaises(tactus.StateError):
            response.hidden_states()

    def test_materialize_and_saved_prompts(self):
        with self.coordinator.dispatch({**IDS, "max_tokens": 30}) as response:
            text = response[0].text
            stop = text[len(text) // 2 :][:3]
            self.assertEqual(response.materialize(0, [stop])[0].text, text[: text.index(stop)])
        with self.assertRaises(tactus.NotFound):
            self.coordinator.remove_system_prompt("never saved")
        self.assertEqual(self.coordinator.saved_system_prompts(), [])

    def test_objects_may_go_in_any_order_and_from_any_thread(self):
        for _ in range(20):
            coordinator = small()
            response = coordinator.dispatch({**IDS, "max_tokens": 2})
            coordinator.close()
            coordinator.close()
            self.assertEqual(len(response[0].ids), 2)
            thread = threading.Thread(target=response.close)
            thread.start()
            thread.join()
            small()  # dropped
        gc.collect()


class Tables(unittest.TestCase):
    def test_every_type_has_the_size_of_the_headers(self):
        sizes = {"int32_t": 4, "int64_t": 8, "uint32_t": 4, "uint64_t": 8, "size_t": 8, "float": 4, "double": 8}
        record = pathlib.Path(__file__).resolve().parents[3] / "include" / "tactus.abi"
        count = 0
        for line in record.read_text().splitlines():
            found = re.fullmatch(r"function (.*?)(\w+)\((.*)\)", line)
            if not found:
                continue
            count += 1
            result, parameters = _native.FUNCTIONS[found.group(2)]
            kinds = [] if found.group(3) == "void" else found.group(3).split(", ")
            self.assertEqual(len(parameters), len(kinds), line)
            for ours, theirs in zip(parameters, kinds):
                self.assertEqual(ctypes.sizeof(ours), sizes.get(theirs, 8), line)
                self.assertEqual(ours in (ctypes.c_float, ctypes.c_double), theirs in ("float", "double"), line)
            if result:
                self.assertEqual(ctypes.sizeof(result), sizes.get(found.group(1).strip(), 8), line)
        self.assertEqual(count, len(_native.FUNCTIONS))


@unittest.skipUnless(CHAT, "TACTUS_TEST_CHAT_MODEL is not set")
class Chatting(unittest.TestCase):
    def test_an_interrupt_ends_a_stream(self):
        code = """
            import os, signal, tactus, threading
            tactus.load(os.environ["TACTUS_TEST_LIBRARY"])
            coordinator = tactus.Coordinator(os.environ["TACTUS_TEST_CHAT_MODEL"])
            stream = coordinator.stream([{"role": "user", "content": "Count to a thousand."}], ignore_eos=True)
            try:
                for n, chunk in enumerate(stream):
                    if n == 5:
                        os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                stream.close()
                print(threading.active_count(), len(coordinator.dispatch({"text": "Hello", "max_tokens": 3})[0].ids))
        """
        said = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, check=True)
        self.assertEqual((said.stdout, said.stderr), ("1 3\n", ""))
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_a_schema_holds(self):
        schema = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"], "additionalProperties": False}
        with tactus.Coordinator(CHAT) as coordinator:
            messages = [{"role": "user", "content": "Name the capital of France as JSON."}]
            result = coordinator.dispatch(messages, guide={"json_schema": schema}, max_tokens=60)[0]
            self.assertIsInstance(json.loads(result.text)["city"], str)


if __name__ == "__main__":
    unittest.main()
