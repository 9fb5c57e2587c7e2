// What a manifest is compared with byte for byte: the lanes' shape and the layouts of pages. And
// back from it, for whoever has no cache.
#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "kernels/contract/mixed_bit.h"
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

constexpr std::size_t kCodeNameMax = 256, kPlaneBitsMax = 32;
constexpr std::size_t kLanesMax = 1u << 20, kTiersMost = 256;  // chosen: far more than there are

// One operand of one layout; nothing: it is not as write_operand() writes it.
std::optional<kernels::OperandLayout> read_operand(ByteReader& reader, std::size_t head_dim) {
  kernels::OperandLayout operand;
  operand.transform = static_cast<kernels::Transform>(reader.number<std::uint16_t>());
  operand.n_planes = reader.number<std::uint16_t>();
  const std::string_view code = reader.text(kCodeNameMax);
  const auto version = std::ranges::find(kCodeVersions, code, &CodeVersion::code);
  if (version != kCodeVersions.end() && version->version > 1) reader.number<std::uint16_t>();
  if (operand.n_planes > kernels::kPlanesMax) return std::nullopt;
  for (kernels::Plane& plane : std::span(operand.planes).first(operand.n_planes)) {
    plane.kind = static_cast<kernels::PlaneKind>(reader.number<std::uint16_t>());
    plane.bits = reader.number<std::uint16_t>();
    plane.group = reader.number<std::uint16_t>();
    plane.count = reader.number<std::uint16_t>();
    plane.at = reader.number<std::uint32_t>();
    plane.bytes = reader.number<std::uint32_t>();
    if (plane.kind > kernels::PlaneKind::low_codes || plane.bits > kPlaneBitsMax)
      return std::nullopt;
  }
  const std::size_t n_quads = std::max(kQuadsLeast, head_dim / kernels::kQuad);
  for (std::size_t i = 0; code.empty() && operand.is_mixed_bit() && i < n_quads; ++i) {
    const auto bits = reader.number<std::uint8_t>();
    if (i < operand.quad_bits.size()) operand.quad_bits[i] = bits;
    if (bits > 8) return std::nullopt;
  }
  if (operand.transform == kernels::Transform::basis) reader.number<std::uint64_t>();
  if (!code.empty()) operand.n_planes = 0;
  return reader.ok() ? std::optional(operand) : std::nullopt;
}

// Planes side by side, in the page; whole numbers of 2 bytes where they are of 16 bits.
bool is_sound(const kernels::PageLayout& page) {
  constexpr std::size_t kStep = kernels::kPageStep, kDimStep = 16;
  if (page.head_dim == 0 || page.head_dim % kDimStep != 0 || page.head_dim > kernels::kHeadDimMax ||
      page.capacity == 0 || page.capacity % kStep != 0 || page.capacity > kernels::kPageTokens)
    return false;
  std::map<std::uint64_t, std::uint64_t> ends;  // by place
  const auto put = [&](std::uint64_t at, std::uint64_t n_bytes) {
    return n_bytes == 0 || ends.emplace(at, at + n_bytes).second;
  };
  bool fits = put(page.positions_at, 4u * page.capacity) &&
              (page.log_counts_at == 0 || put(page.log_counts_at, 4u * page.capacity));
  for (const kernels::OperandLayout* operand : {&page.k, &page.v})
    for (const kernels::Plane& plane : operand->all())
      fits = fits && put(plane.at, plane.bytes) && (plane.bits != 16 || plane.bytes % 2 == 0) &&
             (plane.kind != kernels::PlaneKind::mixed_bit_codes || &plane == &page.k.planes[0]);
  std::uint64_t end = 0;
  for (const auto& [place, its_end] : ends) {
    fits = fits && place >= end;
    end = its_end;
  }
  std::size_t n_codes = 0;
  if (page.k.is_mixed_bit())
    kernels::for_each_part(page.k, page.head_dim, page.capacity,
                           [&](std::size_t, unsigned, unsigned bits, std::size_t at) {
                             n_codes = at + kernels::part_bytes(page.capacity, bits);
                           });
  return fits && end <= page.bytes && !page.v.is_mixed_bit() &&
         (!page.k.is_mixed_bit() || n_codes <= page.k.planes[0].bytes);
}

}  // namespace

Result<StoredLayouts> StoredLayouts::read(std::span<const std::byte> shape,
                                          std::span<const std::byte> layouts) {
  const Error wrong = damaged("its layouts are inconsistent");
  StoredLayouts out;
  ByteReader of_shape(shape);
  const auto n_layers = of_shape.number<std::uint32_t>();
  for (std::size_t i = 0; i < n_layers && of_shape.ok(); ++i) {
    const auto n_lanes = of_shape.number<std::uint32_t>();
    const auto head_dim = of_shape.number<std::uint32_t>();
    of_shape.number<std::uint32_t>();  // its window
    if (n_lanes > kLanesMax - out.head_dims_.size()) return wrong;
    out.head_dims_.insert(out.head_dims_.end(), n_lanes, head_dim);
  }
  ByteReader reader(layouts);
  const auto n_tiers = reader.number<std::uint32_t>(), n_tokens = reader.number<std::uint32_t>();
  if (!of_shape.ok() || n_tiers > kTiersMost) return wrong;
  for (std::size_t token = 0; token < n_tokens; ++token) {
    if (!reader.ok()) return wrong;
    const auto head_dim = reader.number<std::uint32_t>(), n_note = reader.number<std::uint32_t>();
    for (std::size_t tier = 0; tier < n_tiers; ++tier)
      for (std::size_t n = kernels::kPageStep; n <= kernels::kPageTokens; n += kernels::kPageStep) {
        kernels::PageLayout page;
        page.head_dim = reader.number<std::uint16_t>();
        page.capacity = reader.number<std::uint16_t>();
        page.positions_at = reader.number<std::uint32_t>();
        page.log_counts_at = reader.number<std::uint32_t>();
        page.bytes = reader.number<std::uint32_t>();
        const auto k = read_operand(reader, head_dim), v = read_operand(reader, head_dim);
        if (!k || !v || page.head_dim != head_dim) return wrong;
        page.k = *k;
        page.v = *v;
        if (!is_sound(page)) return wrong;
        out.pages_.push_back({static_cast<std::uint8_t>(tier), n, {page, n_note}});
      }
  }
  return out;
}

const StoredLayouts::Page* StoredLayouts::find(std::size_t lane, std::uint8_t tier,
                                               std::size_t n_tokens, std::size_t n_bytes) const {
  if (lane >= head_dims_.size()) return nullptr;
  const auto found = std::ranges::find_if(pages_, [&](const Place& place) {
    return place.tier == tier && place.page.layout.head_dim == head_dims_[lane] &&
           n_tokens <= place.n_tokens_max && n_tokens + kernels::kPageStep > place.n_tokens_max &&
           (n_bytes == 0 ||
            std::size_t{place.page.layout.bytes} + place.page.note_bytes == n_bytes);
  });
  return found == pages_.end() ? nullptr : &found->page;
}

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
  if (layout.tiers.values_id() != 0) writer.number(layout.tiers.values_id());
  write_version(writer, numerics);
  return std::move(writer.buffer());
}

}  // namespace satchel::kvcache
