// Kernels small enough to know by heart, right ones and wrong ones: what
// executor_test.cpp and traffic_test.cpp run.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace simt::test {

// sums[b] = the sum of block b's 256 values; `barriers` tells which of the two barriers are there.
__global__ void sum_blocks(const float* x, unsigned n, float* sums, int barriers);
__global__ void read_unwritten(const float* x, float* out, int of_shared);
__global__ void touch_host(float* at);
__global__ void half_meets(int* out);
__global__ void sum_warp(const float* x, float* out);
__global__ void exchange_in_warp(int* out, int syncs);
// The last block to come adds up what the others left.
__global__ void last_adds(const float* x, float* parts, unsigned* n_done, float* sum, int fences);
// c += a · b. exchanges: registers 1 and 2 of operand A, as if rows and columns lay the other way
// round.
__global__ void multiply(const __half* a, const __half* b, float* c, int exchanges);
// The same of bytes without sign and signed ones, b as its columns lie one behind the other.
__global__ void multiply_bytes(const std::uint8_t* a, const std::int8_t* b, int* c, int exchanges);
// out = x by way of shared memory; waits: for the copies before they are read.
__global__ void copy_through_shared(const float* x, float* out, int waits);

// Each block's own half of a word, or all the first; then a word as a whole.
__global__ void write_halves(unsigned short* at, int apart);
__global__ void copy_word(const unsigned* from, unsigned* to);

// Of one warp. Thread i writes and reads value i · stride of shared memory; or four values, then
// all read the first four.
__global__ void walk_shared(unsigned stride, float* out);
__global__ void walk_shared_by_fours(unsigned stride, float4* out);
// Thread i copies 24 bytes, 32 i from the beginning, by way of shared memory.
__global__ void copy_triples(const std::uint64_t* from, std::uint64_t* to);
// Thread i adds up values (32 j + i) · stride, n of them and odd threads one more.
__global__ void walk_device(const float* x, unsigned stride, unsigned n, float* out);
// A matrix row of 16 bytes for each thread, `pitch` bytes apart, then ldmatrix of them all.
__global__ void load_matrix_rows(unsigned pitch, unsigned* out);

}  // namespace simt::test
