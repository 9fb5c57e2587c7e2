#include "app/eval/calibration/calibration.h"

#include <algorithm>
#include <numeric>

#include "app/eval/calibration/key_basis_fit.h"
#include "app/eval/calibration/value_basis_fit.h"
#include "app/eval/lane_rules/seen_layer.h"
#include "kernels/base/checked.h"

namespace satchel::eval {
namespace {

std::vector<std::size_t> head_dims_of(const runtime::ModelConfig& config) {
  std::vector<std::size_t> head_dims;
  for (const kvcache::LayerShape& layer : config.cache_shape().layers)
    head_dims.insert(head_dims.end(), layer.n_kv_heads, layer.head_dim);
  return head_dims;
}

// Before anything is read. n_matrices: of each lane.
Result<void> check_size(std::span<const std::size_t> head_dims, std::size_t n_matrices) {
  Checked bytes = 4 * kvcache::kKeyBasesTextMax;
  for (const std::size_t d : head_dims)
    bytes = bytes + Checked(d) * d * n_matrices * sizeof(Half) + 4;
  const std::size_t longest = *std::ranges::max_element(head_dims);
  const bool fits = longest <= kernels::kHeadDimMax && bytes.ok() &&
                    bytes.to<std::size_t>().value_or(SIZE_MAX) <= kvcache::kKeyBasesBytesMax &&
                    head_dims.size() <= kvcache::kKeyBasesLanesMax;
  if (fits) return {};
  return Error{ErrorKind::unsupported, "KEY_BASES",
               "Key bases support keys of at most " + std::to_string(kernels::kHeadDimMax) +
                   " values and files of at most " +
                   std::to_string(kvcache::kKeyBasesBytesMax >> 20) + " MiB; this model has " +
                   std::to_string(head_dims.size()) + " lanes of up to " + std::to_string(longest) +
                   " values."};
}

// Shows every layer of every text; returns the texts.
Result<std::vector<Calibration::Text>> read_texts(const LaneSearch& search, const SeeLayer& see) {
  SATCHEL_TRY_ASSIGN(const std::vector<CalibrationText> texts, calibration_texts(search));
  std::vector<Calibration::Text> read;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SATCHEL_TRY(read_seen(search, texts[i].ids, i, texts.size(), see, SeenLayers::all));
    read.push_back({texts[i].name, texts[i].ids.size()});
  }
  return read;
}

void learn(const SeenLayer& layer, KeyBasisFit& fit) {
  const kvcache::LayerShape& shape = layer.shape;
  const std::size_t d = shape.head_dim;
  for (std::size_t lane = 0; lane < shape.n_kv_heads; ++lane) {
    for (std::size_t i = 0; i < shape.n_group(); ++i)
      fit.add_queries(layer.first_lane + lane,
                      {.first = layer.pre_rope_q.data() + (lane * shape.n_group() + i) * d,
                       .n = layer.n_tokens,
                       .stride = shape.n_heads * d});
    fit.add_keys(
        layer.first_lane + lane,
        {.first = layer.k.data() + lane * d, .n = layer.n_tokens, .stride = shape.n_kv_heads * d});
  }
}

std::string source_of(const Calibration& of) {
  std::string source = "queries and keys of";
  for (const Calibration::Text& text : of.texts) source += " " + text.name;
  return source;
}

}  // namespace

Result<std::vector<CalibrationText>> calibration_texts(const LaneSearch& search) {
  const runtime::ModelConfig& config = search.engine.config();
  const std::span<const runtime::ProfileText> texts =
      search.texts.empty() ? runtime::profile_texts() : search.texts;
  const runtime::ProfileLength length{
      .n_most = std::min(kCalibrationTokens, config.context),
      .n_least = std::min(runtime::kProfileTokensMin, config.context)};
  std::vector<CalibrationText> out;
  for (const runtime::ProfileText& text : texts) {
    SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> ids,
                       runtime::profile_ids(search.engine.tokenizer(), text, length));
    out.push_back({.name = std::string(text.name), .ids = std::move(ids)});
  }
  return out;
}

double Calibration::mean_gain() const {
  const double sum = std::accumulate(gains.begin(), gains.end(), 0.0);
  return gains.empty() ? 0 : sum / static_cast<double>(gains.size());
}

Result<Calibration> calibrate(const LaneSearch& search) {
  const runtime::ModelConfig& config = search.engine.config();
  const std::vector<std::size_t> head_dims = head_dims_of(config);
  SATCHEL_TRY(check_size(head_dims, 1));
  Calibration out;
  KeyBasisFit fit(config.cache_shape(), config.context);
  SATCHEL_TRY_ASSIGN(out.texts,
                     read_texts(search, [&](const SeenLayer& layer) { learn(layer, fit); }));
  kvcache::KeyBases found{.model = search.engine.fingerprint(),
                          .name = config.name,
                          .source = source_of(out),
                          .lanes = {}};
  for (std::size_t lane = 0; lane < head_dims.size(); ++lane) {
    KeyBasis basis = fit.solve(lane);
    out.gains.push_back(basis.gain_bits);
    found.lanes.push_back({.head_dim = head_dims[lane], .to = std::move(basis.to), .from = {}});
  }
  SATCHEL_TRY_ASSIGN(out.bases, kvcache::KeyBases::make(std::move(found)));
  return out;
}

Result<ValueCalibration> calibrate_values(const LaneSearch& search) {
  const runtime::ModelConfig& config = search.engine.config();
  const kvcache::CacheShape shape = config.cache_shape();
  SATCHEL_TRY(check_size(head_dims_of(config), 2));
  if (std::ranges::any_of(shape.layers, [](const auto& layer) { return layer.is_latent; }))
    return Error{ErrorKind::unsupported, "KEY_BASES",
                 "This model has no values to find bases for: they are parts of its keys."};
  ValueCalibration out;
  if (config.key_bases != nullptr) {
    out.with.bases = *config.key_bases;
  } else {
    SATCHEL_TRY_ASSIGN(out.with, calibrate(search));
  }
  ValueBasisFit fit(shape);
  SATCHEL_TRY_ASSIGN(
      out.with.texts, read_texts(search, [&](const SeenLayer& layer) {
        const std::size_t d = layer.shape.head_dim, n = layer.shape.n_kv_heads;
        for (std::size_t lane = 0; lane < n; ++lane)
          fit.add(layer.first_lane + lane,
                  {.first = layer.v.data() + lane * d, .n = layer.n_tokens, .stride = n * d});
      }));
  out.with.bases.values.clear();
  for (std::size_t lane = 0; lane < shape.n_lanes(); ++lane) {
    ValueBasis basis = fit.solve(lane);
    out.share_of_fifth += basis.share_of_fifth / static_cast<double>(shape.n_lanes());
    out.with.bases.values.push_back(std::move(basis.values));
  }
  SATCHEL_TRY_ASSIGN(out.with.bases, kvcache::KeyBases::make(std::move(out.with.bases)));
  return out;
}

}  // namespace satchel::eval
