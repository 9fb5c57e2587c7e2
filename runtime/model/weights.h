// Weights: every matrix and vector that a graph asked for, in the backend's memory, checked for
// shape and type.
//   owns    the backend's weights; they may read the file's mapping in place, so the file outlives
//           them. Parts of the mapping that were repacked or copied are let go of: a weight is not
//           resident twice
//   errors  MODEL_METADATA (missing tensor, wrong shape: both named), MODEL_QUANT (a weight type
//           nobody computes with), MODEL_ARCH (a tensor the graph has no place for: to pass over
//           it would make every answer subtly wrong)
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "kernels/contract/backend.h"
#include "runtime/gguf/reader.h"
#include "runtime/model/graph.h"
#include "runtime/progress.h"

namespace satchel::runtime {

// How a file's weights are loaded. Stopped, that ends between two of them.
struct LoadOptions {
  std::stop_token stop = {};
  ProgressFn progress = {};
};

struct Weights {
  std::vector<std::vector<std::byte>> copies;  // of rows, as some matrices read them in place
  std::vector<std::unique_ptr<kernels::Weight>> matrices;
  kernels::Buffer vectors;      // all of them
  std::size_t bytes = 0;        // in use: what the backend repacked, else the file's bytes
  std::size_t owned_bytes = 0;  // of them, beyond the file's mapping

  // Fills in what the specs point to, which the Weights must outlive.
  static Result<Weights> load(kernels::Backend& backend, const GgufFile& file,
                              std::span<const TensorSpec> specs, const LoadOptions& options);
};

}  // namespace satchel::runtime
