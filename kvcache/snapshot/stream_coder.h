// StreamCoder: makes a run of bytes shorter without loss. The interface lies below both the
// snapshot, which cuts a record into streams of alike bytes (planes.h), and storage, which
// implements it over zstd, so that a cache needs no compressor to be built.
//   threads any number of calls at once
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace satchel::kvcache {

struct CodedStream {
  std::span<const std::byte> from;
  std::span<std::byte> to;
};

class StreamCoder {
 public:
  virtual ~StreamCoder() = default;
  virtual std::uint16_t number() const = 0;  // goes to disk: who can read it again; 1: zstd
  // How many bytes of `to` it takes; 0: it does not fit into them.
  virtual std::size_t encode(std::span<const std::byte> from, std::span<std::byte> to) const = 0;
  // Fills each `to`; false: some `from` is no stream of just so many bytes. Safe on any bytes.
  virtual bool decode(std::span<const CodedStream> streams) const = 0;
};

}  // namespace satchel::kvcache
