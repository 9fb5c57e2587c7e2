// Which key bases a model is opened with.
#pragma once

#include "app/cli/kept.h"
#include "app/paths.h"
#include "runtime/model/config.h"
#include "runtime/profile/key_bases_files.h"

namespace satchel::app {

using KeyBasesInUse = KeptInUse<kvcache::KeyBases>;
// Warns of a file that is damaged and passed over.
KeyBasesInUse key_bases_in_use(const Paths& paths, const std::string& fingerprint,
                               const runtime::ModelConfig& config, Console& console);

}  // namespace satchel::app
