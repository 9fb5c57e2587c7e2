// Manifest: what a saved cache consists of, and what it is bound to. FORMAT.md has the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/contract/page_layout.h"
#include "kvcache/hash.h"
#include "kvcache/snapshot/block_store.h"
#include "kvcache/snapshot/bytes.h"

namespace satchel::kvcache {

inline constexpr std::uint16_t kSnapshotVersion = 1;

enum class BlockKind : std::uint16_t { pages = 1, exact = 2 };

struct BlockEntry {
  BlockId id = 0;
  BlockKind kind = BlockKind::pages;
  std::uint32_t n_bytes = 0;
  Hash128 checksum = {};
};

// The numbers of a PageLayout that fix all others.
struct StoredLayout {
  std::uint16_t form = 0, head_dim = 0, k_bits = 0, v_bits = 0, k_group = 0, v_group = 0;
  std::uint32_t page_bytes = 0;
  friend bool operator==(const StoredLayout&, const StoredLayout&) = default;
};
StoredLayout stored_layout(const kernels::PageLayout& layout);
void write_layout(ByteWriter& writer, const StoredLayout& layout);
StoredLayout read_layout(ByteReader& reader);

struct Manifest {
  std::uint64_t generation = 0;
  BlockId next_block = 1;
  std::uint32_t n_layers = 0, n_kv_heads = 0, head_dim = 0;
  StoredLayout layout = {};
  std::uint64_t n_tokens = 0;
  Hash128 token_hash = {};
  std::string model = {}, recipe = {};
  std::vector<std::uint32_t> n_pages = {};  // of each lane
  std::vector<BlockEntry> blocks = {};
};

std::vector<std::byte> encode_manifest(const Manifest& manifest);
// Any bytes. Fails with corrupt (CACHE_PARTIAL), or unsupported (CACHE_VERSION) for another version.
Result<Manifest> decode_manifest(std::span<const std::byte> bytes);
// Puts the right checksum at the end of manifest bytes (tests forge with it).
void sign_manifest(std::span<std::byte> bytes);

Hash128 hash_tokens(std::span<const std::int32_t> tokens);
Error damaged(const std::string& what);  // corrupt, CACHE_PARTIAL

}  // namespace satchel::kvcache
