// CUDA's vectors, aligned as there.
#pragma once

#include "simt/dim3.h"

using dim3 = simt::Dim3;
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
