// Parses a GGUF file in one pass and checks every count, length, offset and product before use.
//   in      the bytes of the whole file; results are views into them
//   errors  MODEL_FORMAT, MODEL_VERSION, MODEL_TRUNCATED, MODEL_DAMAGED;
//           MODEL_QUANT for a type id that ggml does not have
//   cost    linear in the file's table; allocates at most a few times the table's bytes
//   source  ggml docs/gguf.md, versions 2 and 3, little-endian
//   differs stricter than ggml: limits.h, tensors do not overlap, names are unique and not empty,
//           no dimension is 0. Looser: tensors may be in any order and have gaps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/contract/weight_type.h"
#include "runtime/gguf/value.h"

namespace satchel::runtime {

struct GgufTensor {
  std::string_view name;
  std::uint32_t type_id = 0;
  const char* type_name = "";               // "Q8_K"
  std::optional<kernels::WeightType> type;  // nothing if no backend supports it
  std::size_t n_dims = 0;
  std::array<std::size_t, 4> dims = {1, 1, 1,
                                     1};  // first index fastest: dims[0] is the row's length
  std::size_t n_values = 0;
  std::span<const std::byte> bytes;

  std::size_t row_length() const { return dims[0]; }
  std::size_t n_rows() const { return n_values / dims[0]; }
};

struct GgufTable {
  std::uint32_t version = 0;
  std::uint64_t alignment = 0;
  std::vector<GgufEntry> entries;      // in the file's order
  std::vector<GgufTensor> tensors;     // in the file's order
  std::vector<std::uint32_t> by_key;   // entries, sorted by key
  std::vector<std::uint32_t> by_name;  // tensors, sorted by name

  const GgufValue* find_value(std::string_view key) const;     // null if absent
  const GgufTensor* find_tensor(std::string_view name) const;  // null if absent
};

Result<GgufTable> parse_gguf(std::span<const std::byte> file);

}  // namespace satchel::runtime
