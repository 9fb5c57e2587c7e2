#include "runtime/chat/model_facts.h"

#include <filesystem>

#include "runtime/limits/precision_floor.h"
#include "runtime/limits/presets.h"

namespace satchel::runtime {

ModelFacts model_facts(const Engine& engine, const std::string& path) {
  ModelFacts facts{.path = path,
                   .title = std::filesystem::path(path).stem().string(),
                   .device = engine.device(),
                   .on_gpu = engine.on_gpu(),
                   .gpu_fallback_reason = {},
                   .weight_bytes = engine.weight_bytes(),
                   .n_layers = engine.config().n_layers(),
                   .n_context = engine.config().context,
                   .has_chat_template = !engine.chat_template().is_plain(),
                   .precision_note = {},
                   .has_thinking_switch = engine.chat_template().has_thinking_switch()};
  if (const auto& why = engine.gpu_fallback_reason())
    facts.gpu_fallback_reason = why->message + " [" + why->code + "]";
  if (const PrecisionFloor* floor = precision_floor(engine.config().architecture))
    facts.precision_note = floor->why;
  facts.n_lanes = engine.config().cache_shape().n_lanes();
  return facts;
}

Result<PresetEstimates> estimate_presets(const Engine& engine, std::size_t limit_bytes) {
  PresetEstimates estimates;
  const kernels::AvailableMemory available = engine.available_memory();
  SATCHEL_TRY_ASSIGN(estimates.default_bytes, default_budget(engine.config(), available));
  estimates.limit_bytes = limit_bytes != 0 ? limit_bytes : estimates.default_bytes;
  estimates.free_bytes = available.most;
  for (const Preset& preset : presets()) {
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, resolve_recipe(preset.name));
    SATCHEL_TRY_ASSIGN(
        const Estimate estimate,
        engine.estimate(recipe, {.n_tokens = 0,
                                 .budget_bytes = estimates.limit_bytes,
                                 .asks = {.expected_bytes = true, .tokens_that_fit = true},
                                 .available = available}));
    estimates.presets.push_back({std::string(preset.name), estimate});
  }
  return estimates;
}

}  // namespace satchel::runtime
