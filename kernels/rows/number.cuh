// Numbers as they are stored, and sums over a block in an order that depends on nothing but the block's size.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

typedef __nv_bfloat16 bf16;
typedef __half f16;

__device__ __forceinline__ float to_f32(float x) { return x; }
__device__ __forceinline__ float to_f32(bf16 x) { return __bfloat162float(x); }
__device__ __forceinline__ float to_f32(f16 x) { return __half2float(x); }

template <typename T> __device__ __forceinline__ T from_f32(float x);
template <> __device__ __forceinline__ float from_f32<float>(float x) { return x; }
template <> __device__ __forceinline__ bf16 from_f32<bf16>(float x) { return __float2bfloat16_rn(x); }
template <> __device__ __forceinline__ f16 from_f32<f16>(float x) { return __float2half_rn(x); }

__device__ __forceinline__ float warp_sum(float x)
{
    for (int lane = 16; lane > 0; lane /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, lane);
    return x;
}

// Kernels of a step are launched to overlap: a block may be there before the kernel in front of its own has ended. Nothing that a kernel
// in front writes may be read, and nothing written, before this. The next kernel's blocks may come as soon as all of this one's are there.
__device__ __forceinline__ void wait_for_inputs()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The sum over all threads of the block, in every thread. `scratch`: 33 floats. A block is a multiple of 32 threads.
__device__ __forceinline__ float block_sum(float x, float *scratch)
{
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0)
        scratch[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32) {
        float y = threadIdx.x < blockDim.x / 32 ? scratch[threadIdx.x] : 0.f;
        y = warp_sum(y);
        if (threadIdx.x == 0)
            scratch[32] = y;
    }
    __syncthreads();
    float sum = scratch[32];
    __syncthreads();
    return sum;
}
