#include "storage/kv/zstd_coder.h"

#include <zstd.h>

namespace satchel::storage {
namespace {
constexpr int kLevel = 1;
}

std::size_t ZstdCoder::encode(std::span<const std::byte> from, std::span<std::byte> to) const {
  const std::size_t n = ZSTD_compress(to.data(), to.size(), from.data(), from.size(), kLevel);
  return ZSTD_isError(n) ? 0 : n;
}

// What a frame says of its size is not believed: zstd writes no byte behind `to`, and in one call
// needs no window of its own.
bool ZstdCoder::decode(std::span<const std::byte> from, std::span<std::byte> to) const {
  return ZSTD_decompress(to.data(), to.size(), from.data(), from.size()) == to.size();
}

}  // namespace satchel::storage
