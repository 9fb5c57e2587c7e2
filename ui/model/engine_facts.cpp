#include "ui/model/engine_facts.h"

#include <algorithm>
#include <filesystem>

#include "runtime/governor/presets.h"

namespace satchel::ui {
namespace {

QString textOf(std::string_view text) {
  return QString::fromUtf8(text.data(), qsizetype(text.size()));
}

}  // namespace

ModelInfo modelInfoOf(const runtime::Engine& engine, const std::string& path) {
  ModelInfo info;
  info.path = textOf(path);
  info.title = textOf(std::filesystem::path(path).stem().string());
  info.device = textOf(engine.device());
  info.onGpu = engine.on_gpu();
  if (const auto& why = engine.why_not_gpu())
    info.whyNotGpu = textOf(why->message + " [" + why->code + "]");
  info.weightBytes = engine.weight_bytes();
  info.layerCount = int(engine.config().n_layers());
  for (const runtime::LayerConfig& layer : engine.config().layers)
    info.laneCount += int(layer.attention.n_kv_heads);
  info.contextTokens = int(engine.config().context);
  info.hasChatTemplate = !engine.chat_template().is_plain();
  info.hasThinkingSwitch = engine.chat_template().has_thinking_switch();
  return info;
}

Result<Previews> makePreviews(const runtime::Engine& engine, quint64 budgetBytes) {
  Previews previews;
  const kernels::CacheRoom room = engine.cache_room();
  SATCHEL_TRY_ASSIGN(previews.defaultBytes, runtime::default_budget(engine.config(), room));
  previews.budgetBytes = budgetBytes != 0 ? budgetBytes : previews.defaultBytes;
  previews.freeBytes = room.most;
  for (const runtime::Preset& preset : runtime::presets()) {
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(preset.name));
    Preview preview;
    preview.preset = textOf(preset.name);
    SATCHEL_TRY_ASSIGN(
        preview.estimate,
        engine.estimate(recipe, {.n_tokens = 0,
                                 .budget_bytes = previews.budgetBytes,
                                 .asks = {.expected_bytes = true, .tokens_that_fit = true},
                                 .room = room}));
    previews.presets.append(preview);
  }
  return previews;
}

ReadingProgress progressOf(const runtime::Progress& progress, std::size_t layerCount) {
  const bool countsLayers = progress.phase == runtime::Phase::read_prompt;
  const auto unit = qint64(countsLayers ? std::max<std::size_t>(layerCount, 1) : 1);
  return {progress.phase, qint64(progress.done) / unit, qint64(progress.total) / unit};
}

QString presetOf(const kvcache::Recipe& recipe) {
  for (const runtime::Preset& preset : runtime::presets()) {
    const Result<kvcache::Recipe> known = runtime::resolve_recipe(preset.name);
    if (known.ok() && known->hash() == recipe.hash()) return textOf(preset.name);
  }
  return textOf(recipe.name());
}

}  // namespace satchel::ui
