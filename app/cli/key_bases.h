// Which key bases a model is opened with, for people ("come with Satchel, queries and keys of …") and
// scripts.
#pragma once

#include "app/cli/console.h"
#include "app/paths.h"
#include "runtime/model/config.h"
#include "runtime/profile/key_bases_files.h"

namespace satchel::app {

struct KeyBasesInUse {
  runtime::FoundBases found;
  std::filesystem::path file;  // of those made on this machine, if there are any
};
// Warns of a file that is damaged and passed over.
KeyBasesInUse key_bases_in_use(const Paths& paths, const std::string& fingerprint,
                               const runtime::ModelConfig& config, Console& console);
std::string describe(const KeyBasesInUse& in_use);
Json to_json(const KeyBasesInUse& in_use);

}  // namespace satchel::app
