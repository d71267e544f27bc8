"""Kernels by name through the CUDA driver, on tensors of torch, in torch's current stream."""

import ctypes
import glob
import statistics

import torch

cuda = ctypes.CDLL("libcuda.so.1")


def check(status):
    if status:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(status, ctypes.byref(text))
        raise RuntimeError(f"CUDA error {status}: {text.value}")


class Attribute(ctypes.Structure):
    """CUlaunchAttribute with a value of one int."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60)]


class Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint), ("stream", ctypes.c_void_p),
                ("attributes", ctypes.POINTER(Attribute)), ("count", ctypes.c_uint)]


OVERLAP = (Attribute * 1)(Attribute(6, 0, 1))  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


class Kernels:
    """Every kernel of the images `directory/*.{cubin,fatbin}`."""

    def __init__(self, directory):
        torch.zeros(1, device="cuda")
        self.modules, self.functions = [], {}
        for path in sorted(glob.glob(f"{directory}/*.cubin") + glob.glob(f"{directory}/*.fatbin")):
            module, image = ctypes.c_void_p(), open(path, "rb").read()
            check(cuda.cuModuleLoadData(ctypes.byref(module), image))
            self.modules.append(module)

    def function(self, name):
        if name not in self.functions:
            function = ctypes.c_void_p()
            for module in self.modules:
                if cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()) == 0:
                    break
            else:
                raise KeyError(f"no kernel {name}")
            self.functions[name] = function
        return self.functions[name]

    def launch(self, name, grid, block, *args, overlap=True, shared=0):
        """Tensors go as their addresses, None as null, ints as 32 bits, floats as f32, ctypes values as they are."""
        values = []
        for arg in args:
            if isinstance(arg, torch.Tensor):
                values.append(ctypes.c_void_p(arg.data_ptr()))
            elif arg is None:
                values.append(ctypes.c_void_p(0))
            elif isinstance(arg, int):
                values.append(ctypes.c_int(arg))
            elif isinstance(arg, float):
                values.append(ctypes.c_float(arg))
            else:
                values.append(arg)
        pointers = (ctypes.c_void_p * len(values))(*[ctypes.cast(ctypes.pointer(v), ctypes.c_void_p) for v in values])
        triple = lambda t: (ctypes.c_uint * 3)(*(tuple(t) + (1, 1, 1))[:3]) if isinstance(t, tuple) else (ctypes.c_uint * 3)(t, 1, 1)
        function = self.function(name)
        if shared > 48 << 10:
            check(cuda.cuFuncSetAttribute(function, 8, shared))  # MAX_DYNAMIC_SHARED_SIZE_BYTES
        config = Config(triple(grid), triple(block), shared, torch.cuda.current_stream().cuda_stream, OVERLAP, 1 if overlap else 0)
        check(cuda.cuLaunchKernelEx(ctypes.byref(config), function, pointers, None))


def time_us(work, launches, repeats=7):
    """Median microseconds of one of the `launches` that `work` makes, in replays of a captured graph."""
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    for _ in range(2):
        graph.replay()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / launches)
    return statistics.median(times)
