#include "kvcache/snapshot/manifest.h"

#include <algorithm>
#include <cstring>

namespace satchel::kvcache {
namespace {

constexpr std::string_view kMagic = "SATCHELM";
constexpr std::size_t kTextMax = 4096;
constexpr std::size_t kSizeAt = 12;  // of the field that holds the manifest's size
constexpr std::size_t kEntryBytes = 32;

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

Error damaged(const std::string& what) {
  return Error{ErrorKind::corrupt, "CACHE_PARTIAL", what};
}

Hash128 hash_tokens(std::span<const std::int32_t> tokens) {
  ByteWriter writer;  // little-endian on every machine
  for (const std::int32_t token : tokens) writer.number(token);
  return hash_bytes(writer.buffer());
}

StoredLayout stored_layout(const kernels::PageLayout& layout) {
  return {.form = static_cast<std::uint16_t>(layout.form),
          .head_dim = layout.head_dim,
          .k_bits = layout.k_bits,
          .v_bits = layout.v_bits,
          .k_group = layout.k_group,
          .v_group = layout.v_group,
          .page_bytes = static_cast<std::uint32_t>(layout.bytes)};
}

void write_layout(ByteWriter& writer, const StoredLayout& layout) {
  writer.number(layout.form).number(layout.head_dim).number(layout.k_bits).number(layout.v_bits);
  writer.number(layout.k_group).number(layout.v_group).number(layout.page_bytes);
}

StoredLayout read_layout(ByteReader& reader) {
  StoredLayout layout;
  for (std::uint16_t* field : {&layout.form, &layout.head_dim, &layout.k_bits, &layout.v_bits,
                               &layout.k_group, &layout.v_group})
    *field = reader.number<std::uint16_t>();
  layout.page_bytes = reader.number<std::uint32_t>();
  return layout;
}

std::vector<std::byte> encode_manifest(const Manifest& manifest) {
  ByteWriter writer;
  writer.bytes(as_bytes(kMagic)).number(kSnapshotVersion).number(std::uint16_t{0});
  writer.number(std::uint32_t{0});  // the size, below
  writer.number(manifest.generation).number(manifest.next_block);
  writer.number(manifest.n_layers).number(manifest.n_kv_heads).number(manifest.head_dim);
  write_layout(writer, manifest.layout);
  writer.number(manifest.n_tokens).bytes(manifest.token_hash);
  writer.text(manifest.model).text(manifest.recipe);
  writer.number(static_cast<std::uint32_t>(manifest.n_pages.size()));
  for (const std::uint32_t n : manifest.n_pages) writer.number(n);
  writer.number(static_cast<std::uint32_t>(manifest.blocks.size()));
  for (const BlockEntry& block : manifest.blocks)
    writer.number(block.id)
        .number(static_cast<std::uint16_t>(block.kind))
        .number(std::uint16_t{0})
        .number(block.n_bytes)
        .bytes(block.checksum);
  writer.room(sizeof(Hash128));
  ByteWriter size;
  size.number(static_cast<std::uint32_t>(writer.size()));
  std::copy(size.buffer().begin(), size.buffer().end(), writer.buffer().begin() + kSizeAt);
  sign_manifest(writer.buffer());
  return std::move(writer.buffer());
}

void sign_manifest(std::span<std::byte> bytes) {
  if (bytes.size() < sizeof(Hash128)) return;
  const Hash128 hash = hash_bytes(bytes.first(bytes.size() - sizeof(Hash128)));
  std::copy(hash.begin(), hash.end(), bytes.end() - sizeof(Hash128));
}

Result<Manifest> decode_manifest(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const std::span<const std::byte> magic = reader.bytes(kMagic.size());
  const auto version = reader.number<std::uint16_t>();
  if (!reader.ok() || !std::ranges::equal(magic, as_bytes(kMagic)))
    return damaged("its table does not begin like one");
  if (version != kSnapshotVersion)
    return Error{ErrorKind::unsupported, "CACHE_VERSION",
                 "format " + std::to_string(version) + ", this program reads " +
                     std::to_string(kSnapshotVersion)};
  const std::size_t body = bytes.size() - std::min(bytes.size(), sizeof(Hash128));
  if (!std::ranges::equal(hash_bytes(bytes.first(body)), bytes.subspan(body)))
    return damaged("the checksum of its table is wrong");

  Manifest manifest;
  const auto zero = reader.number<std::uint16_t>();
  const auto size = reader.number<std::uint32_t>();
  manifest.generation = reader.number<std::uint64_t>();
  manifest.next_block = reader.number<std::uint64_t>();
  manifest.n_layers = reader.number<std::uint32_t>();
  manifest.n_kv_heads = reader.number<std::uint32_t>();
  manifest.head_dim = reader.number<std::uint32_t>();
  manifest.layout = read_layout(reader);
  manifest.n_tokens = reader.number<std::uint64_t>();
  manifest.token_hash = reader.array<sizeof(Hash128)>();
  manifest.model = reader.text(kTextMax);
  manifest.recipe = reader.text(kTextMax);
  const std::size_t n_lanes = reader.number<std::uint32_t>();
  if (!reader.ok() || zero != 0 || size != bytes.size() ||
      n_lanes > reader.left() / sizeof(std::uint32_t) ||
      n_lanes != std::uint64_t{manifest.n_layers} * manifest.n_kv_heads)
    return damaged("its table is inconsistent before byte " + std::to_string(reader.at()));
  for (std::size_t i = 0; i < n_lanes; ++i)
    manifest.n_pages.push_back(reader.number<std::uint32_t>());
  const std::size_t n_blocks = reader.number<std::uint32_t>();
  if (!reader.ok() || reader.left() != n_blocks * kEntryBytes + sizeof(Hash128))
    return damaged("its table lists " + std::to_string(n_blocks) + " blocks in " +
                   std::to_string(reader.left()) + " bytes");
  for (std::size_t i = 0; i < n_blocks; ++i) {
    BlockEntry block;
    block.id = reader.number<std::uint64_t>();
    block.kind = static_cast<BlockKind>(reader.number<std::uint16_t>());
    const auto padding = reader.number<std::uint16_t>();
    block.n_bytes = reader.number<std::uint32_t>();
    block.checksum = reader.array<sizeof(Hash128)>();
    if (padding != 0 || block.id >= manifest.next_block ||
        (block.kind != BlockKind::pages && block.kind != BlockKind::exact))
      return damaged("entry " + std::to_string(i) + " of its table is impossible");
    manifest.blocks.push_back(block);
  }
  return manifest;
}

}  // namespace satchel::kvcache
