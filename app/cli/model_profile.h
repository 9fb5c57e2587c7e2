// Which of a model's saved profiles is in use: for people ("included with Satchel (kvzip over prose
// notes …)") and for scripts.
#pragma once

#include <filesystem>
#include <string>

#include "app/cli/console.h"
#include "runtime/model/config.h"
#include "runtime/profile/profile_files.h"

namespace satchel::app {

template <class T>
struct ProfileInUse {
  runtime::FoundProfile<T> found;
  std::filesystem::path file;  // of this machine's own, if there is one
  std::string none;            // "none yet; …"
  std::string came = "made";   // how the own one came to be: "made on this machine"
};
// What the model is opened with; `folder` is where profiles are kept (Paths).
ProfileInUse<kvcache::HeadBudgets> head_budgets_in_use(const std::filesystem::path& folder,
                                                       const std::string& fingerprint,
                                                       const runtime::ModelConfig& config);
ProfileInUse<kvcache::KeyBases> key_bases_in_use(const std::filesystem::path& folder,
                                                 const std::string& fingerprint,
                                                 const runtime::ModelConfig& config);
ProfileInUse<kvcache::SelectorWeights> selector_in_use(const std::filesystem::path& folder,
                                                       const std::string& fingerprint,
                                                       const runtime::ModelConfig& config,
                                                       kvcache::SelectorMethod method);

// Why a file is not in use: found.damage, or one of Engine::profile_damage().
void warn_of_ignored_profile(const Error& damage, Console& console);

template <class T>
std::string describe(const ProfileInUse<T>& in_use) {
  switch (in_use.found.from) {
    case runtime::ProfileFrom::folder:
      return in_use.came + " on this machine (" + in_use.found.value->source + "), \"" +
             in_use.file.string() + "\"";
    case runtime::ProfileFrom::shipped:
      return "included with Satchel (" + in_use.found.value->source + ")";
    case runtime::ProfileFrom::nowhere:
      break;
  }
  return in_use.none;
}

template <class T>
Json to_json(const ProfileInUse<T>& in_use) {
  const bool is_own = in_use.found.from == runtime::ProfileFrom::folder;
  const bool is_shipped = in_use.found.from == runtime::ProfileFrom::shipped;
  Json json = {{"from", is_own ? "folder" : is_shipped ? "shipped" : "nowhere"}};
  if (in_use.found.value != nullptr) json["source"] = in_use.found.value->source;
  if (is_own) json["file"] = in_use.file.string();
  if (in_use.found.damage) json["damage"] = in_use.found.damage->message;
  return json;
}

}  // namespace satchel::app
