#include "storage/kv/zstd_coder.h"

#include <zstd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "kernels/base/released_by.h"

namespace satchel::storage {

// Has some 150 KB of tables, whose pages would be new for each record.
struct ZstdCoder::Decoder {
  std::unique_ptr<ZSTD_DCtx, ReleasedBy<&ZSTD_freeDCtx>> context{ZSTD_createDCtx()};
};

struct ZstdCoder::Idle {
  std::mutex mutex;
  std::vector<Decoder> decoders;

  Decoder take() {
    const std::lock_guard lock(mutex);
    if (decoders.empty()) return {};
    Decoder taken = std::move(decoders.back());
    decoders.pop_back();
    return taken;
  }
  void give(Decoder decoder) {
    const std::lock_guard lock(mutex);
    decoders.push_back(std::move(decoder));
  }
};

ZstdCoder::ZstdCoder(int level) : level_(level), idle_(std::make_unique<Idle>()) {}
ZstdCoder::~ZstdCoder() = default;

std::size_t ZstdCoder::encode(std::span<const std::byte> from, std::span<std::byte> to) const {
  const std::size_t n = ZSTD_compress(to.data(), to.size(), from.data(), from.size(), level_);
  return ZSTD_isError(n) ? 0 : n;
}

// What a frame says of its size is not believed: zstd writes no byte behind `to`, and in one call
// needs no window of its own.
bool ZstdCoder::decode(std::span<const kvcache::CodedStream> streams) const {
  Decoder decoder = idle_->take();
  if (decoder.context == nullptr) throw std::bad_alloc();
  const bool is_whole = std::ranges::all_of(streams, [&](const kvcache::CodedStream& stream) {
    return ZSTD_decompressDCtx(decoder.context.get(), stream.to.data(), stream.to.size(),
                               stream.from.data(), stream.from.size()) == stream.to.size();
  });
  idle_->give(std::move(decoder));
  return is_whole;
}

}  // namespace satchel::storage
