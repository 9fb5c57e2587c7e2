// What a manifest is compared with byte for byte: the lanes' shape and the layouts of pages.
#include <algorithm>
#include <string_view>

#include "kvcache/snapshot/manifest.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kQuadsLeast = 64;  // as many were written when heads had 256 values at most

// The first version has the bytes that there were before versions.
void write_version(ByteWriter& writer, std::uint16_t version) {
  if (version > 1) writer.number(version);
}

// What is neither graded nor in a basis has the bytes that it had before there was either.
void write_operand(ByteWriter& writer, const kernels::OperandLayout& operand, std::size_t head_dim,
                   const CacheLayout& layout, std::span<const CodeVersion> versions) {
  const std::string_view code = operand.code == nullptr ? "" : operand.code->name();
  writer.number(static_cast<std::uint16_t>(operand.transform)).number(operand.n_planes);
  writer.text(code);
  const auto version = std::ranges::find(versions, code, &CodeVersion::code);
  if (version != versions.end()) write_version(writer, version->version);
  for (const kernels::Plane& plane : operand.all())
    writer.number(static_cast<std::uint16_t>(plane.kind))
        .number(plane.bits)
        .number(plane.group)
        .number(plane.count)
        .number(plane.at)
        .number(plane.bytes);
  const std::size_t n_quads = std::max(kQuadsLeast, head_dim / kernels::kQuad);
  for (std::size_t i = 0; operand.is_mixed_bit() && i < n_quads; ++i)
    writer.number(operand.quad_bits[i]);
  if (operand.transform == kernels::Transform::basis) writer.number(layout.shape.key_bases->id);
}

}  // namespace

std::vector<std::byte> shape_bytes(const CacheShape& shape) {
  ByteWriter writer;
  writer.number(static_cast<std::uint32_t>(shape.n_layers()));
  for (const LayerShape& layer : shape.layers)
    for (const std::size_t value : {layer.n_kv_heads, layer.head_dim, layer.window})
      writer.number(static_cast<std::uint32_t>(value));
  // A shape without latent layers has the bytes that it had before there were any.
  for (std::size_t i = 0; i < shape.n_layers(); ++i)
    if (shape.layers[i].is_latent) writer.text("latent").number(static_cast<std::uint32_t>(i));
  if (!shape.states.empty()) writer.number(static_cast<std::uint32_t>(shape.states.size()));
  for (const StateShape& state : shape.states)
    writer.number(static_cast<std::uint32_t>(state.n_values));
  return std::move(writer.buffer());
}

std::vector<std::byte> layout_bytes(const CacheLayout& layout, std::uint16_t numerics,
                                    std::span<const CodeVersion> codes) {
  ByteWriter writer;
  writer.number(static_cast<std::uint32_t>(layout.tiers.n_tiers()));
  writer.number(static_cast<std::uint32_t>(layout.tiers.tokens().size()));
  for (const TokenShape& token : layout.tiers.tokens()) {
    const std::size_t head_dim = token.head_dim;
    writer.number(static_cast<std::uint32_t>(head_dim));
    writer.number(static_cast<std::uint32_t>(layout.note_bytes(head_dim)));
    for (std::size_t tier = 0; tier < layout.tiers.n_tiers(); ++tier)
      for (std::size_t n = kernels::kPageStep; n <= kernels::kPageTokens; n += kernels::kPageStep) {
        const kernels::PageLayout& page =
            layout.tiers.of(static_cast<std::uint8_t>(tier), token, n);
        writer.number(page.head_dim).number(page.capacity).number(page.positions_at);
        writer.number(page.log_counts_at).number(page.bytes);
        write_operand(writer, page.k, head_dim, layout, codes);
        write_operand(writer, page.v, head_dim, layout, codes);
      }
  }
  write_version(writer, numerics);
  return std::move(writer.buffer());
}

}  // namespace satchel::kvcache
