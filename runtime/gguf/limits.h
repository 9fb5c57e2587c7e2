// Limits of what a GGUF file may declare. A file above a limit is refused before anything of that
// size is read or allocated.
//   source  docs/reliability.md (limits); others are marked "chosen"
#pragma once

#include <cstdint>

namespace satchel::runtime {

struct GgufLimits {
  static constexpr std::uint64_t keys = 4096;
  static constexpr std::uint64_t key_bytes = 256;
  static constexpr std::uint64_t string_bytes = 16u << 20;
  static constexpr std::uint64_t array_values = 16u << 20;
  static constexpr int array_depth = 4;  // chosen: no known file nests at all
  static constexpr std::uint64_t tensors = 65536;
  static constexpr std::uint64_t tensor_name_bytes =
      256;  // chosen: as keys; ggml writes at most 63
  static constexpr std::uint32_t dims = 4;
  static constexpr std::uint64_t dim = 1ull << 31;
  static constexpr std::uint64_t tensor_bytes =
      1ull << 46;  // chosen: 64 TiB, beyond any file system's file
  static constexpr std::uint64_t alignment_min = 8;
  static constexpr std::uint64_t alignment_max = 4096;
  static constexpr std::uint64_t alignment_default = 32;  // GGUF's own
};

}  // namespace satchel::runtime
