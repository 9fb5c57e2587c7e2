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

HeadBudgetsInUse head_budgets_in_use(const ProfileOf& of, Console& console) {
  const auto& folder = of.paths.profiles;
  return checked<kvcache::HeadBudgets>(
      {.found = runtime::find_head_budgets(folder, of.fingerprint, of.config),
       .file = runtime::head_budgets_file(folder, of.fingerprint),
       .none = "none yet; \"satchel profile\" measures them, and so does an idle chat"},
      "A head-budget profile", console);
}

KeyBasesInUse key_bases_in_use(const ProfileOf& of, Console& console) {
  const auto& folder = of.paths.profiles;
  return checked<kvcache::KeyBases>(
      {.found = runtime::find_key_bases(folder, of.fingerprint, of.config),
       .file = runtime::key_bases_file(folder, of.fingerprint),
       .none = "none yet; run \"satchel calibrate\" to make them"},
      "A key-bases file", console);
}

SelectorInUse selector_in_use(const ProfileOf& of, Console& console) {
  const auto& folder = of.paths.profiles;
  const std::filesystem::path file = runtime::selector_file(folder, of.fingerprint);
  return checked<kvcache::SelectorWeights>(
      {.found = runtime::find_selector(folder, of.fingerprint, of.config),
       .file = file,
       .none = "none; train them with training/locret and save them as \"" + file.string() + "\""},
      "A selector-weights file", console);
}

}  // namespace satchel::app
