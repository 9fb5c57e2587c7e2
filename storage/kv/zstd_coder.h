// ZstdCoder: streams of saved blocks as zstd frames.
//   level   1, the fastest with an entropy coder: higher ones take longer and save no more, as codes
//           and fp16 numbers have uneven counts but no repeats (docs/reliability.md, blocks at rest)
//   source  RFC 8878
#pragma once

#include "kvcache/snapshot/stream_coder.h"

namespace satchel::storage {

class ZstdCoder final : public kvcache::StreamCoder {
 public:
  explicit ZstdCoder(int level = 1) : level_(level) {}
  std::uint16_t number() const override { return 1; }
  std::size_t encode(std::span<const std::byte> from, std::span<std::byte> to) const override;
  bool decode(std::span<const kvcache::CodedStream> streams) const override;

 private:
  int level_;
};

}  // namespace satchel::storage
