#include "storage/kv/zstd_coder.h"

#include <zstd.h>

#include <algorithm>
#include <memory>
#include <new>

namespace satchel::storage {

std::size_t ZstdCoder::encode(std::span<const std::byte> from, std::span<std::byte> to) const {
  const std::size_t n = ZSTD_compress(to.data(), to.size(), from.data(), from.size(), level_);
  return ZSTD_isError(n) ? 0 : n;
}

// What a frame says of its size is not believed: zstd writes no byte behind `to`, and in one call
// needs no window of its own.
bool ZstdCoder::decode(std::span<const kvcache::CodedStream> streams) const {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        ZSTD_freeDCtx);
  if (context == nullptr) throw std::bad_alloc();
  return std::ranges::all_of(streams, [&](const kvcache::CodedStream& stream) {
    return ZSTD_decompressDCtx(context.get(), stream.to.data(), stream.to.size(),
                               stream.from.data(), stream.from.size()) == stream.to.size();
  });
}

}  // namespace satchel::storage
