// What the window is told of the engine: its model, the presets under a budget, how far it is.
#pragma once

#include <string>

#include "runtime/engine.h"
#include "ui/model/engine_types.h"

namespace satchel::ui {

ModelInfo modelInfoOf(const runtime::Engine& engine, const std::string& path);
// The presets under one budget, as the memory panel compares them before a chat begins.
//   budgetBytes  0: the default
Result<Previews> makePreviews(const runtime::Engine& engine, quint64 budgetBytes);
// Of tokens where the runtime counts token-layers: those are what people count.
//   layerCount  of the model; 0 counts as 1
ReadingProgress progressOf(const runtime::Progress& progress, std::size_t layerCount);
// The preset a saved recipe is, or the recipe's own name.
QString presetOf(const kvcache::Recipe& recipe);

}  // namespace satchel::ui
