// ToyCoder: a StreamCoder of a page, for tests of tight blocks that have no compressor at hand: an
// adaptive binary range coder of single bytes (as in LZMA). It takes any bytes for a stream, so
// that what it makes of damaged ones only the block's own checksum can tell.
#pragma once

#include "kvcache/snapshot/stream_coder.h"

namespace satchel::test {

class ToyCoder final : public kvcache::StreamCoder {
 public:
  std::uint16_t number() const override { return 0x7e57; }
  std::size_t encode(std::span<const std::byte> from, std::span<std::byte> to) const override;
  bool decode(std::span<const kvcache::CodedStream> streams) const override;
};

}  // namespace satchel::test
