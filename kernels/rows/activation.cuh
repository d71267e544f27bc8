// What a gate is put through. The numbers are those that src/backend/cuda/executor/run.rs sends.
#pragma once

#include "number.cuh"

enum Activation { SILU, GELU_TANH, GELU };

__device__ __forceinline__ float activate(float x, int act)
{
    if (act == SILU)
        return x / (1.f + expf(-x));
    if (act == GELU_TANH)
        return 0.5f * x * (1.f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
    return 0.5f * x * (1.f + erff(x * 0.7071067811865476f));
}
