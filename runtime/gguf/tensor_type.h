// ggml's tensor types, including those that no backend supports: `satchel info` shows their names
// and sizes, but models with them are refused.
//   source  ggml's type ids, block sizes as in the Python package gguf 0.19.0 (GGML_QUANT_SIZES)
#pragma once

#include <cstddef>
#include <cstdint>

namespace satchel::runtime {

struct StorageType {
  std::uint32_t id;
  const char* name;
  std::size_t block_values;
  std::size_t block_bytes;
};

// Null if ggml has no such type, or has removed it.
const StorageType* storage_type_of(std::uint32_t id);

}  // namespace satchel::runtime
