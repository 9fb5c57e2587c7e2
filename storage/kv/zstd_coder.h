// ZstdCoder: compresses the streams of saved records with zstd.
//   level   1, the fastest with an entropy coder. Higher levels take longer and save no more, since
//           codes and fp16 numbers are unevenly distributed but do not repeat
//           (docs/reliability.md, Records at rest).
//   threads any number at once
//   source  RFC 8878
#pragma once

#include <memory>

#include "kvcache/snapshot/stream_coder.h"

namespace satchel::storage {

class ZstdCoder final : public kvcache::StreamCoder {
 public:
  explicit ZstdCoder(int level = 1);
  ~ZstdCoder() override;
  std::uint16_t number() const override { return 1; }
  std::size_t encode(std::span<const std::byte> from, std::span<std::byte> to) const override;
  bool decode(std::span<const kvcache::CodedStream> streams) const override;

 private:
  struct Decoder;
  struct Idle;
  const int level_;
  const std::unique_ptr<Idle> idle_;  // decoders that were used before
};

}  // namespace satchel::storage
