#include "app/cli/model_profile.h"

namespace satchel::app {
namespace {

//   noun  "A head-budget profile"
template <class T>
ProfileInUse<T> checked(ProfileInUse<T> in_use, const std::string& noun, Console& console) {
  if (in_use.found.damage) console.warning(noun + " is ignored: " + in_use.found.damage->message);
  return in_use;
}

}  // namespace

ProfileInUse<kvcache::HeadBudgets> head_budgets_in_use(const std::filesystem::path& folder,
                                                       const std::string& fingerprint,
                                                       const runtime::ModelConfig& config,
                                                       Console& console) {
  return checked<kvcache::HeadBudgets>(
      {.found = runtime::find_head_budgets(folder, fingerprint, config),
       .file = runtime::head_budgets_file(folder, fingerprint),
       .none = "none yet; \"satchel profile\" measures them, and so does an idle chat"},
      "A head-budget profile", console);
}

ProfileInUse<kvcache::KeyBases> key_bases_in_use(const std::filesystem::path& folder,
                                                 const std::string& fingerprint,
                                                 const runtime::ModelConfig& config,
                                                 Console& console) {
  return checked<kvcache::KeyBases>({.found = runtime::find_key_bases(folder, fingerprint, config),
                                     .file = runtime::key_bases_file(folder, fingerprint),
                                     .none = "none yet; run \"satchel calibrate\" to make them"},
                                    "A key-bases file", console);
}

ProfileInUse<kvcache::SelectorWeights> selector_in_use(const std::filesystem::path& folder,
                                                       const std::string& fingerprint,
                                                       const runtime::ModelConfig& config,
                                                       Console& console) {
  const std::filesystem::path file = runtime::selector_file(folder, fingerprint);
  return checked<kvcache::SelectorWeights>(
      {.found = runtime::find_selector(folder, fingerprint, config),
       .file = file,
       .none = "none; train them with training/locret and save them as \"" + file.string() + "\""},
      "A selector-weights file", console);
}

}  // namespace satchel::app
