#include "app/eval/calibration/kv_prediction.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <span>

#include "kernels/base/bytes.h"
#include "kernels/base/half.h"
#include "kvcache/base/hash.h"

namespace satchel::eval {
namespace {

constexpr std::string_view kMagic = "SATCHELP";
constexpr std::uint32_t kVersion = 1;

Error prediction_flaw(std::string_view called, std::size_t at, const std::string& what) {
  return {ErrorKind::corrupt, "KV_PREDICTION",
          "\"" + std::string(called) + "\" " + what + " (byte " + std::to_string(at) +
              "). Delete the file and run \"satchel calibrate --kv-prediction\" to make it again."};
}

// Texts are for people, who read them on a terminal.
bool is_readable(char c) {
  return static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
}
std::string readable(std::string_view text) {
  std::string out;
  std::ranges::copy_if(text.substr(0, kPredictionTextMax), std::back_inserter(out), is_readable);
  return out;
}

bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float x) { return std::isfinite(x); });
}

void round_values(std::vector<float>& values) {
  for (float& x : values) x = half_to_float(float_to_half(x));
}

void write_map(ByteWriter& out, const LinearMap& map) {
  out.number(static_cast<std::uint32_t>(map.n_out)).number(static_cast<std::uint32_t>(map.n_in));
  for (const float x : map.matrix) out.number(float_to_half(x));
  for (const float x : map.bias) out.number(float_to_half(x));
}

// Reads a file whose checksum is right; what is wrong stands where it was found.
class PredictionParser {
 public:
  PredictionParser(std::span<const std::byte> bytes, std::string_view called)
      : reader_(bytes), called_(called) {}

  Result<KvPrediction> parse() {
    reader_.bytes(kMagic.size());
    if (reader_.number<std::uint32_t>() != kVersion)
      return wrong("is from another version of Satchel");
    const auto n_layers = reader_.number<std::uint32_t>(), input = reader_.number<std::uint32_t>();
    if (n_layers == 0 || n_layers > kPredictionLayersMax)
      return wrong("has no layers, or too many");
    if (input > 1) return wrong("has an unknown kind of input");
    KvPrediction out;
    out.input = static_cast<KvPrediction::Input>(input);
    for (std::string* text : {&out.model, &out.name, &out.source}) {
      *text = reader_.text(kPredictionTextMax);
      if (!reader_.ok() || !std::ranges::all_of(*text, is_readable))
        return wrong("has a text that is truncated, too long or unprintable");
    }
    while (out.layers.size() < n_layers) SATCHEL_TRY(add_layer(out));
    if (reader_.left() != 0) return wrong("has extra bytes after its last layer");
    return out;
  }

 private:
  Result<void> add_layer(KvPrediction& out) {
    KvPrediction::Layer layer;
    const auto runs = reader_.number<std::uint8_t>();
    if (!reader_.ok()) return wrong("is truncated");
    layer.runs = runs == 1;
    if (runs > 1 || (out.layers.empty() && !layer.runs))
      return wrong("does not say which layers run, or not the first");
    gap_ = gap_ || !layer.runs;
    if (gap_) {
      SATCHEL_TRY_ASSIGN(layer.k, map());
      SATCHEL_TRY_ASSIGN(layer.v, map());
    }
    out.layers.push_back(std::move(layer));
    return {};
  }
  // Lengths before memory.
  Result<LinearMap> map() {
    LinearMap out;
    out.n_out = reader_.number<std::uint32_t>();
    out.n_in = reader_.number<std::uint32_t>();
    if (out.n_out == 0 || out.n_in == 0 || out.n_out > kPredictionWidthMax ||
        out.n_in > kPredictionWidthMax)
      return wrong("has a map of impossible size");
    if (reader_.left() / sizeof(Half) / out.n_out < out.n_in + 1) return wrong("is truncated");
    out.matrix.resize(out.n_out * out.n_in);
    out.bias.resize(out.n_out);
    for (std::vector<float>* values : {&out.matrix, &out.bias}) {
      for (float& x : *values) x = half_to_float(reader_.number<Half>());
      if (!all_finite(*values)) return wrong("has a map with a value that is no number");
    }
    return out;
  }
  Error wrong(const std::string& what) const {
    return prediction_flaw(called_, reader_.at(), what);
  }

  ByteReader reader_;
  std::string_view called_;
  bool gap_ = false;
};

}  // namespace

std::size_t KvPrediction::n_run() const {
  return static_cast<std::size_t>(std::ranges::count(layers, true, &Layer::runs));
}

std::size_t KvPrediction::source_of(std::size_t layer) const {
  while (!layers[layer].runs) --layer;
  return layer;
}

Result<KvPrediction> KvPrediction::make(KvPrediction of) {
  for (std::string* text : {&of.model, &of.name, &of.source}) *text = readable(*text);
  for (std::size_t i = 0; i < of.layers.size(); ++i)
    for (LinearMap* map : {&of.layers[i].k, &of.layers[i].v})
      for (std::vector<float>* values : {&map->matrix, &map->bias}) {
        round_values(*values);
        if (!all_finite(*values))
          return Error{ErrorKind::corrupt, "KV_PREDICTION",
                       "The map computed for layer " + std::to_string(i) +
                           " has a value that is no number, or too large. Nothing was saved. Try "
                           "other or longer texts."};
      }
  return of;
}

Result<KvPrediction> KvPrediction::parse(std::string_view bytes, std::string_view called) {
  const std::span<const std::byte> all = std::as_bytes(std::span(bytes));
  constexpr std::size_t kHash = sizeof(kvcache::Hash128);
  if (bytes.size() > kPredictionBytesMax)
    return prediction_flaw(called, 0, "has more than 512 MiB");
  if (!bytes.starts_with(kMagic))
    return prediction_flaw(called, 0, "is not a file of KV Prediction");
  const std::size_t n = bytes.size() < kMagic.size() + kHash ? 0 : bytes.size() - kHash;
  const kvcache::Hash128 hash = kvcache::hash_bytes(all.first(n));
  if (n == 0 || std::memcmp(hash.data(), all.subspan(n).data(), kHash) != 0)
    return prediction_flaw(called, n, "is truncated or damaged: its checksum is wrong");
  return PredictionParser(all.first(n), called).parse();
}

std::string KvPrediction::bytes() const {
  ByteWriter out;
  out.bytes(std::as_bytes(std::span(kMagic))).number(kVersion);
  out.number(static_cast<std::uint32_t>(layers.size())).number(static_cast<std::uint32_t>(input));
  out.text(model).text(name).text(source);
  for (const Layer& layer : layers) {
    out.number(static_cast<std::uint8_t>(layer.runs ? 1 : 0));
    if (!layer.is_made()) continue;
    write_map(out, layer.k);
    write_map(out, layer.v);
  }
  out.bytes(kvcache::hash_bytes(out.buffer()));
  return {reinterpret_cast<const char*>(out.buffer().data()), out.size()};
}

Result<void> KvPrediction::check(const runtime::ModelConfig& config,
                                 std::string_view fingerprint) const {
  bool fits = model == fingerprint && layers.size() == config.n_layers();
  for (std::size_t i = 0; fits && i < layers.size(); ++i) {
    if (!layers[i].is_made()) continue;
    const std::size_t n_out = config.layers[i].kv_width();
    const std::size_t n_in =
        input == Input::hidden ? config.width : config.layers[source_of(i)].kv_width();
    for (const LinearMap* map : {&layers[i].k, &layers[i].v})
      fits = fits && map->n_out == n_out && map->n_in == n_in;
  }
  if (fits) return {};
  return Error{ErrorKind::corrupt, "KV_PREDICTION",
               "These maps were made for another model (\"" + name +
                   "\"). Run \"satchel calibrate --kv-prediction\" with the model in use."};
}

}  // namespace satchel::eval
