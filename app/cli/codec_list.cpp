#include "app/cli/codec_list.h"

#include <algorithm>
#include <string>
#include <vector>

#include "app/cli/exit_codes.h"
#include "kernels/base/size_text.h"
#include "kernels/contract/page_layout.h"
#include "kvcache/base/json.h"
#include "kvcache/stages/registry.h"

namespace satchel::app {
namespace {

using kvcache::Codec;

struct BitsPerValue {
  std::size_t head_dim = 0;
  double k = 0, v = 0;
};

struct CodecRow {
  std::string name, source;
  bool is_calibrated = false;
  std::vector<kvcache::Params::Asked> parameters;
  std::vector<BitsPerValue> bits;
  std::string needs;  // why no recipe can use it here; then there are no bits
};

Result<BitsPerValue> bits_of(const Codec& codec, std::size_t head_dim) {
  constexpr std::size_t kTokens = kernels::kPageTokens;
  SATCHEL_TRY_ASSIGN(
      const kernels::PageLayout layout,
      kernels::page_layout({.head_dim = head_dim,
                            .capacity = kTokens,
                            .k = codec.operand(Codec::Operand::k, head_dim, kTokens),
                            .v = codec.operand(Codec::Operand::v, head_dim, kTokens)}));
  const auto n_values = static_cast<double>(kTokens * head_dim);
  return BitsPerValue{.head_dim = head_dim,
                      .k = static_cast<double>(layout.k.bytes()) * 8 / n_values,
                      .v = static_cast<double>(layout.v.bytes()) * 8 / n_values};
}

// The codec at its defaults.
Result<CodecRow> row_of(const kvcache::StageEntry& entry, std::span<const std::size_t> head_dims) {
  SATCHEL_TRY_ASSIGN(const kvcache::JsonNode node, kvcache::parse_json("{}", entry.name));
  kvcache::Params params(node, entry.name);
  const Result<std::unique_ptr<kvcache::Stage>> stage = entry.make(params);
  CodecRow row{.name = std::string(entry.name),
               .source = std::string(entry.source),
               .is_calibrated = false,
               .parameters = {params.asked().begin(), params.asked().end()},
               .bits = {},
               .needs = ""};
  if (!stage.ok()) return stage.error();
  const auto& codec = static_cast<const Codec&>(**stage);
  row.is_calibrated = codec.is_calibrated();
  for (const std::size_t head_dim : head_dims) {
    SATCHEL_TRY_ASSIGN(const BitsPerValue bits, bits_of(codec, head_dim));
    row.bits.push_back(bits);
  }
  return row;
}

Result<std::vector<CodecRow>> all_rows(std::span<const std::size_t> head_dims) {
  std::vector<CodecRow> rows;
  for (const kvcache::StageEntry* entry : kvcache::all_stages()) {
    if (entry->kind != kvcache::StageKind::codec) continue;
    SATCHEL_TRY_ASSIGN(rows.emplace_back(), row_of(*entry, head_dims));
  }
  for (const kvcache::RefusedStage& refused : kvcache::refused_stages())
    if (refused.kind == kvcache::StageKind::codec)
      rows.push_back({.name = std::string(refused.name),
                      .source = std::string(refused.source),
                      .is_calibrated = false,
                      .parameters = {},
                      .bits = {},
                      .needs = std::string(refused.why)});
  std::ranges::sort(rows, {}, &CodecRow::name);
  return rows;
}

Json to_json(const CodecRow& row) {
  Json parameters = Json::array(), bits = Json::array();
  for (const kvcache::Params::Asked& asked : row.parameters)
    parameters.push_back({{"name", asked.key},
                          {"default", Json::parse(asked.fallback)},
                          {"allowed", asked.allowed}});
  for (const BitsPerValue& at : row.bits)
    bits.push_back({{"head_dim", at.head_dim}, {"k", at.k}, {"v", at.v}});
  return Json{{"name", row.name},   {"source", row.source},     {"calibrated", row.is_calibrated},
              {"needs", row.needs}, {"parameters", parameters}, {"bits_per_value", bits}};
}

std::string to_text(const CodecRow& row) {
  std::string text = "  " + padded(row.name, 18);
  if (!row.needs.empty()) return text + row.source + "\n      " + row.needs + "\n";
  for (const BitsPerValue& at : row.bits)
    text += padded(fixed_text(at.k, 3) + " / " + fixed_text(at.v, 3), 18);
  text += row.source + (row.is_calibrated ? ", calibrated" : "") + "\n";
  for (const kvcache::Params::Asked& asked : row.parameters)
    text += "      " + padded(asked.key, 14) + asked.fallback + " (" + asked.allowed + ")\n";
  return text;
}

}  // namespace

int list_codecs(Console& console, std::span<const std::size_t> head_dims) {
  std::string text =
      "Codecs: bits per K / V value with default parameters and all metadata except positions\n" +
      padded("  head_dim", 20);
  for (const std::size_t head_dim : head_dims) text += padded(std::to_string(head_dim), 18);
  text += "source\n";
  Json json = Json::array();
  const Result<std::vector<CodecRow>> rows = all_rows(head_dims);
  if (!rows.ok()) return console.fail(rows.error());
  for (const CodecRow& row : *rows) {
    json.push_back(to_json(row));
    text += to_text(row);
  }
  if (console.json()) {
    console.document({{"schema", 1}, {"codecs", json}});
  } else {
    console.data(text);
  }
  return kExitOk;
}

}  // namespace satchel::app
