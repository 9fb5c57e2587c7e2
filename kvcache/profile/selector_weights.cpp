#include "kvcache/profile/selector_weights.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernels/base/bytes.h"
#include "kernels/base/half.h"
#include "kvcache/base/json.h"

namespace satchel::kvcache {
namespace {

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::size_t kTextMax = 4096;  // bytes of a text for people; chosen
constexpr std::size_t kLayersMax = 1024;

enum class ValueType { f16, bf16, f32 };
std::size_t size_of(ValueType type) {
  return type == ValueType::f32 ? 4 : 2;
}

// One tensor of the header. Sizes are whole numbers above 0.
struct Tensor {
  ValueType type = ValueType::f32;
  std::size_t n_rows = 0, n_columns = 0;
  std::size_t begin = 0;  // among the values
  std::size_t bytes() const { return n_rows * n_columns * size_of(type); }
};
struct LayerTensors {
  std::optional<Tensor> fc1, fc2;
};

float value_of(ByteReader& reader, ValueType type) {
  switch (type) {
    case ValueType::f16:
      return half_to_float(reader.number<Half>());
    case ValueType::bf16:
      return std::bit_cast<float>(std::uint32_t{reader.number<std::uint16_t>()} << 16);
    case ValueType::f32:
      break;
  }
  return std::bit_cast<float>(reader.number<std::uint32_t>());
}

// A whole number from 0 to `most`; nothing: it is none.
std::optional<std::size_t> whole(const JsonNode& node, std::size_t most) {
  const double x = node.number;
  if (node.kind != JsonNode::Kind::number || !(x >= 0) || x > static_cast<double>(most) ||
      x != std::floor(x))
    return std::nullopt;
  return static_cast<std::size_t>(x);
}

// What is shown on a terminal.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kTextMax))
    if (static_cast<unsigned char>(c) >= ' ' && c != '\x7f') out += c;
  return out;
}

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string_view called)
      : bytes_(bytes), called_(called) {}

  Result<SelectorWeights> parse() {
    SATCHEL_TRY_ASSIGN(const JsonNode header, read_header());
    SelectorWeights weights;
    SATCHEL_TRY(read_metadata(header, weights));
    for (const auto& [name, node] : header.members)
      if (name != kMetadata) SATCHEL_TRY(add_tensor(name, node));
    if (n_bytes_ != values_.size())
      return wrong("has " + std::to_string(values_.size()) +
                   " bytes of values, but its tensors need " + std::to_string(n_bytes_));
    SATCHEL_TRY(check_places());
    for (const auto& [index, tensors] : layers_) SATCHEL_TRY(add_layer(index, tensors, weights));
    if (weights.layers.empty()) return wrong("holds no tensors");
    return weights;
  }

 private:
  Error wrong(const std::string& what) const {
    return {ErrorKind::corrupt, "SELECTOR_WEIGHTS",
            "\"" + std::string(called_) + "\" " + what +
                ". Delete it, or make it again with training/locret."};
  }

  Result<JsonNode> read_header() {
    if (bytes_.size() > kSelectorBytesMax) return wrong("has more than 512 MiB");
    ByteReader reader(bytes_);
    const auto n = reader.number<std::uint64_t>();
    if (!reader.ok() || n > reader.left())
      return wrong("is truncated or not a safetensors file: its header runs past its end");
    if (n > kSelectorHeaderMax) return wrong("has a header of more than 64 KiB");
    const auto header = reader.bytes(static_cast<std::size_t>(n));
    values_ = bytes_.subspan(reader.at());
    Result<JsonNode> parsed = parse_json(
        {reinterpret_cast<const char*>(header.data()), header.size()}, called_, kSelectorHeaderMax);
    if (!parsed.ok())
      return wrong("has a header that is not JSON: " + shown(parsed.error().message));
    if (parsed->kind != JsonNode::Kind::object)
      return wrong("has a header that is not a JSON object");
    return parsed;
  }

  Result<void> read_metadata(const JsonNode& header, SelectorWeights& weights) const {
    const JsonNode* metadata = header.find(kMetadata);
    if (metadata == nullptr || metadata->kind != JsonNode::Kind::object)
      return wrong("lacks \"__metadata__\"");
    const auto text = [&](std::string_view key) -> std::string {
      const JsonNode* node = metadata->find(key);
      return node != nullptr && node->kind == JsonNode::Kind::string ? shown(node->string) : "";
    };
    if (text("format") != "satchel-selector" || text("version") != "1")
      return wrong(
          "is not a selector file of this version: \"format\" must be "
          "\"satchel-selector\" and \"version\" must be \"1\"");
    if (text("method") != "locret")
      return wrong("is for the method \"" + text("method") + "\"; only \"locret\" is supported");
    weights.model = text("model_fingerprint");
    weights.source = text("source");
    if (weights.model.empty())
      return wrong("does not name its model: \"model_fingerprint\" is missing");
    return {};
  }

  // "layers.<i>.fc1.weight"; of any other name null.
  std::optional<Tensor>* place_of(std::string_view name) {
    constexpr std::string_view kHead = "layers.";
    if (!name.starts_with(kHead)) return nullptr;
    const char* begin = name.data() + kHead.size();
    const char* end = name.data() + name.size();
    std::size_t index = 0;
    const auto [after, error] = std::from_chars(begin, end, index);
    if (error != std::errc() || index >= kLayersMax) return nullptr;
    if (std::to_string(index) != std::string_view(begin, after)) return nullptr;
    const std::string_view rest(after, end);
    if (rest == ".fc1.weight") return &layers_[index].fc1;
    return rest == ".fc2.weight" ? &layers_[index].fc2 : nullptr;
  }

  Result<void> add_tensor(const std::string& name, const JsonNode& node) {
    const std::string called = "tensor \"" + shown(name) + "\"";
    std::optional<Tensor>* place = place_of(name);
    if (place == nullptr) return wrong("has a " + called + ", which Locret does not use");
    const std::optional<Tensor> tensor = tensor_of(node);
    if (!tensor)
      return wrong("has an invalid " + called +
                   ": it needs \"dtype\" F16, BF16 or F32, a \"shape\" of two dimensions and "
                   "\"data_offsets\" that match both");
    *place = tensor;
    n_bytes_ += tensor->bytes();
    return {};
  }

  // Sizes before memory: what it says lies in the file.
  std::optional<Tensor> tensor_of(const JsonNode& node) const {
    using Kind = JsonNode::Kind;
    if (node.kind != Kind::object) return std::nullopt;
    const JsonNode *type = node.find("dtype"), *shape = node.find("shape");
    const JsonNode* offsets = node.find("data_offsets");
    if (type == nullptr || type->kind != Kind::string || shape == nullptr || offsets == nullptr ||
        shape->items.size() != 2 || offsets->items.size() != 2)
      return std::nullopt;
    Tensor tensor;
    if (type->string == "F16") {
      tensor.type = ValueType::f16;
    } else if (type->string == "BF16") {
      tensor.type = ValueType::bf16;
    } else if (type->string != "F32") {
      return std::nullopt;
    }
    const std::size_t most = values_.size();
    const auto rows = whole(shape->items[0], most), columns = whole(shape->items[1], most);
    const auto begin = whole(offsets->items[0], most), end = whole(offsets->items[1], most);
    if (!rows || !columns || !begin || !end || *rows == 0 || *columns == 0 || *end < *begin)
      return std::nullopt;
    const std::size_t n_values = (*end - *begin) / size_of(tensor.type);
    if (*rows > n_values / *columns) return std::nullopt;  // before they are multiplied
    tensor.n_rows = *rows;
    tensor.n_columns = *columns;
    tensor.begin = *begin;
    return tensor.bytes() == *end - *begin ? std::optional(tensor) : std::nullopt;
  }

  // Each byte is one tensor's, as the format demands.
  Result<void> check_places() const {
    std::vector<std::pair<std::size_t, std::size_t>> places;  // begin, end
    for (const auto& [index, tensors] : layers_)
      for (const std::optional<Tensor>* tensor : {&tensors.fc1, &tensors.fc2})
        if (*tensor) places.emplace_back((*tensor)->begin, (*tensor)->begin + (*tensor)->bytes());
    std::ranges::sort(places);
    std::size_t end = 0;
    for (const auto& place : places)
      if (place.first != std::exchange(end, place.second))
        return wrong("has tensors that overlap, or bytes that are no tensor's");
    return {};
  }

  Result<void> add_layer(std::size_t index, const LayerTensors& tensors, SelectorWeights& weights) {
    const std::string called = "layer " + std::to_string(index);
    if (index != weights.layers.size() || !tensors.fc1 || !tensors.fc2)
      return wrong("lacks a tensor of layer " + std::to_string(weights.layers.size()));
    if (tensors.fc2->n_columns != tensors.fc1->n_rows)
      return wrong("has a " + called + " whose two tensors do not match");
    SelectorWeights::Layer layer{.n_in = tensors.fc1->n_columns,
                                 .n_hidden = tensors.fc1->n_rows,
                                 .n_out = tensors.fc2->n_rows,
                                 .fc1 = values_of(*tensors.fc1),
                                 .fc2 = values_of(*tensors.fc2)};
    const auto is_finite = [](float x) { return std::isfinite(x); };
    if (!std::ranges::all_of(layer.fc1, is_finite) || !std::ranges::all_of(layer.fc2, is_finite))
      return wrong("has a NaN or infinite value in " + called);
    weights.layers.push_back(std::move(layer));
    return {};
  }

  std::vector<float> values_of(const Tensor& tensor) const {
    ByteReader reader(values_.subspan(tensor.begin, tensor.bytes()));
    std::vector<float> values(tensor.n_rows * tensor.n_columns);
    for (float& x : values) x = value_of(reader, tensor.type);
    return values;
  }

  std::span<const std::byte> bytes_, values_ = {};
  std::string_view called_;
  std::map<std::size_t, LayerTensors> layers_ = {};
  std::size_t n_bytes_ = 0;  // of all tensors
};

}  // namespace

Result<SelectorWeights> SelectorWeights::parse(std::string_view bytes, std::string_view called) {
  return Parser(std::as_bytes(std::span(bytes)), called).parse();
}

}  // namespace satchel::kvcache
