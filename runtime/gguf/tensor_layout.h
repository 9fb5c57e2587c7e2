// Locates the bytes of each tensor: checks offsets against alignment, the end of the file and each
// other.
//   errors  MODEL_TRUNCATED if the table is valid but the file too short, otherwise MODEL_DAMAGED
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/gguf/parse.h"

namespace satchel::runtime {

// corrupt, MODEL_DAMAGED. what: a sentence without its full stop
Error damaged_file(const std::string& what);

struct TensorPlaces {
  std::span<const std::byte> file;
  std::size_t table_end = 0;               // data begins at the next multiple of `alignment`
  std::uint64_t alignment = 0;             // checked
  std::span<const std::uint64_t> offsets;  // of each tensor, from the data's begin, as declared
};

// Sets `bytes` of all tensors, whose sizes were checked before.
Result<void> place_tensors(const TensorPlaces& places, std::vector<GgufTensor>& tensors);

}  // namespace satchel::runtime
