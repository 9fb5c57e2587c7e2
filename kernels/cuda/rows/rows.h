// Operations on rows of activations: the Backend's functions of the same names, queued on a stream.
// Pointers are device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/queue.h"

namespace satchel::kernels::cuda {

cudaError_t rms_norm(Queue& queue, const float* x, const float* gain, std::size_t n_tokens,
                     std::size_t width, float epsilon, float* out);
cudaError_t glu(Queue& queue, Activation activation, float* gate, const float* up,
                std::size_t n_values);
cudaError_t add(Queue& queue, float* x, const float* y, std::size_t n_values);
cudaError_t scale(Queue& queue, float* x, float factor, std::size_t n_values);
cudaError_t soft_cap(Queue& queue, float* x, float cap, std::size_t n_values);
cudaError_t add_row(Queue& queue, float* x, const float* row, std::size_t n_rows,
                    std::size_t width);
cudaError_t scale_first(Queue& queue, float* x, float factor, std::size_t n_rows, std::size_t width,
                        std::size_t n_first);
cudaError_t gate_rows(Queue& queue, float* x, const float* gate, std::size_t n_rows,
                      std::size_t width);

cudaError_t pack_values(Queue& queue, const float* x, std::size_t n_values, std::byte* packed);
cudaError_t unpack_values(Queue& queue, const std::byte* packed, std::size_t n_values, float* x);

// sequences: args.sequences, in device memory; n_tokens_max: of the longest of them
cudaError_t short_conv(Queue& queue, const ShortConvArgs& args, const StateSequence* sequences,
                       std::size_t n_tokens_max);
cudaError_t silu_conv(Queue& queue, const SiluConv& of, const StateSequence* sequences,
                      std::size_t n_sequences, std::size_t n_tokens_max);
cudaError_t gated_delta(Queue& queue, const GatedDeltaArgs& args, const StateSequence* sequences,
                        std::size_t n_tokens_max);
cudaError_t mamba2(Queue& queue, const Mamba2Args& args, const StateSequence* sequences,
                   std::size_t n_tokens_max);

}  // namespace satchel::kernels::cuda
