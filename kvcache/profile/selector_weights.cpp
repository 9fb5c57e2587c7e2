#include "kvcache/profile/selector_weights.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
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
  std::vector<std::size_t> shape = {};
  std::size_t n_values = 0;
  std::size_t begin = 0;  // among the values
  std::size_t bytes() const { return n_values * size_of(type); }
};
using LayerTensors = std::map<std::string, Tensor, std::less<>>;  // by name within the layer

// take(name, n_dims, tensor) for each tensor of a layer. Of: const or not.
template <class Of, class Take>
void each_tensor(Of& layer, const Take& take) {
  using Kind = std::remove_const_t<Of>;
  if constexpr (std::is_same_v<Kind, SelectorWeights::Locret>) {
    take("fc1.weight", 2, layer.fc1);
    take("fc2.weight", 2, layer.fc2);
  } else if constexpr (std::is_same_v<Kind, SelectorWeights::AttentionGate>) {
    take("q.weight", 2, layer.q);
    take("k.weight", 2, layer.k);
    take("v.weight", 2, layer.v);
    take("out.weight", 2, layer.out);
    take("out.bias", 1, layer.bias);
  } else {
    static_assert(std::is_same_v<Kind, SelectorWeights::LoCoCo>);
    take("conv.weight", 3, layer.conv);
    take("conv.bias", 1, layer.bias);
    take("normalizer", 1, layer.normalizer);
  }
}

SelectorWeights::Layer empty_layer(SelectorMethod method) {
  switch (method) {
    case SelectorMethod::locret:
      break;
    case SelectorMethod::attention_gate:
      return SelectorWeights::AttentionGate{};
    case SelectorMethod::lococo:
      return SelectorWeights::LoCoCo{};
  }
  return SelectorWeights::Locret{};
}

// Whether a layer's tensors can be computed with.
bool match(const SelectorWeights::Locret& of) {
  return of.fc2.n_columns() == of.fc1.n_rows();
}
bool match(const SelectorWeights::AttentionGate& of) {
  return of.k.shape == of.q.shape && of.v.shape == of.q.shape &&
         of.out.n_columns() == of.q.n_rows() && of.q.n_rows() % of.out.n_rows() == 0 &&
         of.bias.n_rows() == of.out.n_rows();
}
bool match(const SelectorWeights::LoCoCo& of) {
  const float blend = of.normalizer.values[0];
  return of.bias.n_rows() == of.conv.n_rows() && of.conv.shape[2] % 2 == 1 &&
         of.normalizer.n_rows() == 1 && blend >= 0 && blend <= 1;
}

std::string remedy(SelectorMethod method) {
  return "Delete it, or make it again with training/" + std::string(to_text(method)) + ".";
}

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
  Parser(std::span<const std::byte> bytes, std::string_view called, SelectorMethod method)
      : bytes_(bytes), called_(called), method_(method) {
    std::visit(
        [this](auto layer) {
          each_tensor(layer, [this](std::string_view name, std::size_t n_dims, const auto&) {
            n_dims_.emplace(name, n_dims);
          });
        },
        empty_layer(method));
  }

  Result<SelectorWeights> parse() {
    SATCHEL_TRY_ASSIGN(const JsonNode header, read_header());
    SelectorWeights weights{.method = method_, .model = {}, .source = {}, .layers = {}};
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
            "\"" + std::string(called_) + "\" " + what + ". " + remedy(method_)};
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
    if (text("method") != to_text(method_))
      return wrong("is for the method \"" + text("method") + "\", where \"" +
                   std::string(to_text(method_)) + "\" is wanted");
    weights.model = text("model_fingerprint");
    weights.source = text("source");
    if (weights.model.empty())
      return wrong("does not name its model: \"model_fingerprint\" is missing");
    return {};
  }

  // Layer and name of "layers.<i>.<name>"; of any other name none.
  std::optional<std::pair<std::size_t, std::string_view>> place_of(std::string_view name) const {
    constexpr std::string_view kHead = "layers.";
    if (!name.starts_with(kHead)) return std::nullopt;
    const char* begin = name.data() + kHead.size();
    const char* end = name.data() + name.size();
    std::size_t index = 0;
    const auto [after, error] = std::from_chars(begin, end, index);
    if (error != std::errc() || index >= kLayersMax) return std::nullopt;
    if (std::to_string(index) != std::string_view(begin, after)) return std::nullopt;
    const std::string_view rest(after, end);
    if (!rest.starts_with('.') || !n_dims_.contains(rest.substr(1))) return std::nullopt;
    return std::pair(index, rest.substr(1));
  }

  Result<void> add_tensor(const std::string& name, const JsonNode& node) {
    const std::string called = "tensor \"" + shown(name) + "\"";
    const auto place = place_of(name);
    if (!place)
      return wrong("has a " + called + ", which the method \"" + std::string(to_text(method_)) +
                   "\" does not use");
    const std::size_t n_dims = n_dims_.find(place->second)->second;
    const std::optional<Tensor> tensor = tensor_of(node, n_dims);
    if (!tensor)
      return wrong("has an invalid " + called +
                   ": it needs \"dtype\" F16, BF16 or F32, a \"shape\" of " +
                   std::to_string(n_dims) + (n_dims == 1 ? " dimension" : " dimensions") +
                   " and \"data_offsets\" that match both");
    layers_[place->first].emplace(place->second, *tensor);
    n_bytes_ += tensor->bytes();
    return {};
  }

  // Sizes before memory: what it says lies in the file.
  std::optional<Tensor> tensor_of(const JsonNode& node, std::size_t n_dims) const {
    using Kind = JsonNode::Kind;
    if (node.kind != Kind::object) return std::nullopt;
    const JsonNode *type = node.find("dtype"), *shape = node.find("shape");
    const JsonNode* offsets = node.find("data_offsets");
    if (type == nullptr || type->kind != Kind::string || shape == nullptr || offsets == nullptr ||
        shape->items.size() != n_dims || offsets->items.size() != 2)
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
    const auto begin = whole(offsets->items[0], most), end = whole(offsets->items[1], most);
    if (!begin || !end || *end < *begin) return std::nullopt;
    const std::size_t n_there = (*end - *begin) / size_of(tensor.type);
    tensor.n_values = 1;
    for (const JsonNode& item : shape->items) {
      const auto size = whole(item, most);
      if (!size || *size == 0 || tensor.n_values > n_there / *size) return std::nullopt;
      tensor.shape.push_back(*size);
      tensor.n_values *= *size;
    }
    tensor.begin = *begin;
    return tensor.bytes() == *end - *begin ? std::optional(tensor) : std::nullopt;
  }

  // Each byte is one tensor's, as the format demands.
  Result<void> check_places() const {
    std::vector<std::pair<std::size_t, std::size_t>> places;  // begin, end
    for (const auto& [index, tensors] : layers_)
      for (const auto& [name, tensor] : tensors)
        places.emplace_back(tensor.begin, tensor.begin + tensor.bytes());
    std::ranges::sort(places);
    std::size_t end = 0;
    for (const auto& place : places)
      if (place.first != std::exchange(end, place.second))
        return wrong("has tensors that overlap, or bytes that are no tensor's");
    return {};
  }

  Result<void> add_layer(std::size_t index, const LayerTensors& tensors, SelectorWeights& weights) {
    const std::string called = "layer " + std::to_string(index);
    if (index != weights.layers.size() || tensors.size() != n_dims_.size())
      return wrong("lacks a tensor of layer " + std::to_string(weights.layers.size()));
    SelectorWeights::Layer layer = empty_layer(method_);
    bool is_finite = true;
    const auto take = [&](std::string_view name, std::size_t, SelectorWeights::Tensor& to) {
      const Tensor& from = tensors.find(name)->second;
      to = {.shape = from.shape, .values = values_of(from)};
      is_finite =
          is_finite && std::ranges::all_of(to.values, [](float x) { return std::isfinite(x); });
    };
    std::visit([&](auto& of) { each_tensor(of, take); }, layer);
    if (!is_finite) return wrong("has a NaN or infinite value in " + called);
    if (!std::visit([](const auto& of) { return match(of); }, layer))
      return wrong("has a " + called + " whose tensors do not match");
    weights.layers.push_back(std::move(layer));
    return {};
  }

  std::vector<float> values_of(const Tensor& tensor) const {
    ByteReader reader(values_.subspan(tensor.begin, tensor.bytes()));
    std::vector<float> values(tensor.n_values);
    for (float& x : values) x = value_of(reader, tensor.type);
    return values;
  }

  std::span<const std::byte> bytes_, values_ = {};
  std::string_view called_;
  SelectorMethod method_;
  std::map<std::string, std::size_t, std::less<>> n_dims_ = {};  // of each tensor of a layer
  std::map<std::size_t, LayerTensors> layers_ = {};
  std::size_t n_bytes_ = 0;  // of all tensors
};

}  // namespace

std::string_view to_text(SelectorMethod method) {
  switch (method) {
    case SelectorMethod::locret:
      break;
    case SelectorMethod::attention_gate:
      return "attention-gate";
    case SelectorMethod::lococo:
      return "lococo";
  }
  return "locret";
}

std::size_t SelectorWeights::bytes() const {
  std::size_t n = 0;
  const auto count = [&n](std::string_view, std::size_t, const Tensor& of) {
    n += of.values.size();
  };
  for (const Layer& layer : layers)
    std::visit([&](const auto& of) { each_tensor(of, count); }, layer);
  return n * sizeof(float);
}

Result<SelectorWeights> SelectorWeights::parse(std::string_view bytes, std::string_view called,
                                               SelectorMethod method) {
  return Parser(std::as_bytes(std::span(bytes)), called, method).parse();
}

struct SelectorSet::Entry {
  explicit Entry(Weights there) : weights(std::move(there)) {}
  explicit Entry(Read later) : read(std::move(later)) {}

  std::mutex guard;
  Read read;  // empty: it has been
  Weights weights;
  std::optional<Error> damage;

  void read_once() {
    if (!read) return;
    Result<Weights> found = read();
    if (found.ok())
      weights = std::move(found).value();
    else
      damage = std::move(found).error();
    read = nullptr;  // with what it holds
  }
};

const SelectorWeights* SelectorSet::of(SelectorMethod method) const {
  Entry* const entry = entries_[static_cast<std::size_t>(method)].get();
  if (entry == nullptr) return nullptr;
  const std::lock_guard lock(entry->guard);
  entry->read_once();
  return entry->weights.get();
}

std::optional<Error> SelectorSet::damage(SelectorMethod method) const {
  Entry* const entry = entries_[static_cast<std::size_t>(method)].get();
  if (entry == nullptr) return std::nullopt;
  const std::lock_guard lock(entry->guard);
  entry->read_once();
  return entry->damage;
}

const SelectorWeights* SelectorSet::in_memory(SelectorMethod method) const {
  Entry* const entry = entries_[static_cast<std::size_t>(method)].get();
  if (entry == nullptr) return nullptr;
  const std::lock_guard lock(entry->guard);
  return entry->weights.get();
}

std::size_t SelectorSet::bytes_in_memory() const {
  std::size_t bytes = 0;
  for (const SelectorMethod method : kSelectorMethods)
    if (const SelectorWeights* weights = in_memory(method)) bytes += weights->bytes();
  return bytes;
}

void SelectorSet::set(SelectorMethod method, Weights weights) {
  entries_[static_cast<std::size_t>(method)] = std::make_shared<Entry>(std::move(weights));
}

void SelectorSet::set_read(SelectorMethod method, Read read) {
  entries_[static_cast<std::size_t>(method)] = std::make_shared<Entry>(std::move(read));
}

Error no_selector_weights(std::string_view stage, SelectorMethod method, std::string_view instead,
                          const std::optional<Error>& damage) {
  const std::string needs = std::string(stage) + " needs weights trained for this model";
  if (damage)
    return {damage->kind, damage->code,
            needs + ". " + damage->message + " " + std::string(instead)};
  return {ErrorKind::not_found, "SELECTOR_WEIGHTS",
          needs + "; only those of the bundled model come with Satchel. Train them with training/" +
              std::string(to_text(method)) +
              " (training/README.md). \"satchel info MODEL\" says where to put the file. " +
              std::string(instead)};
}

}  // namespace satchel::kvcache
