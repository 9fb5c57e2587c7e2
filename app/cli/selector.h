// Which weights of a trained selector a model is opened with.
#pragma once

#include "app/cli/kept.h"
#include "app/paths.h"
#include "runtime/model/config.h"
#include "runtime/profile/selector_files.h"

namespace satchel::app {

using SelectorInUse = KeptInUse<kvcache::SelectorWeights>;
// Warns of a file that is damaged and passed over.
SelectorInUse selector_in_use(const Paths& paths, const std::string& fingerprint,
                              const runtime::ModelConfig& config, Console& console);

}  // namespace satchel::app
