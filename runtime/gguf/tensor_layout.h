// Gives each tensor of a table its bytes: checks offsets against alignment, the file's end and one
// another.
//   errors  MODEL_TRUNCATED if the table is sound and the file too short for it, else MODEL_DAMAGED
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/gguf/parse.h"

namespace satchel::runtime {

struct TensorPlaces {
  std::span<const std::byte> file;
  std::size_t table_end = 0;    // the data begin at the next multiple of `alignment`
  std::uint64_t alignment = 0;  // checked
  std::span<const std::uint64_t>
      offsets;  // one for each tensor, from the data's begin, as the file declares them
};

// Fills `bytes` of `tensors`, whose sizes were checked before.
Result<void> place_tensors(const TensorPlaces& places, std::vector<GgufTensor>& tensors);

}  // namespace satchel::runtime
