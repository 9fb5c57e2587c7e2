#include "app/cli/model_profile.h"

namespace satchel::app {

void warn_of_ignored_profile(const Error& damage, Console& console) {
  console.warning("A profile file is ignored: " + damage.message);
}

ProfileInUse<kvcache::HeadBudgets> head_budgets_in_use(const std::filesystem::path& folder,
                                                       const std::string& fingerprint,
                                                       const runtime::ModelConfig& config) {
  return {.found = runtime::find_head_budgets(folder, fingerprint, config),
          .file = runtime::head_budgets_file(folder, fingerprint),
          .none = "none yet; \"satchel profile\" measures them, and so does an idle chat"};
}

ProfileInUse<kvcache::KeyBases> key_bases_in_use(const std::filesystem::path& folder,
                                                 const std::string& fingerprint,
                                                 const runtime::ModelConfig& config) {
  return {.found = runtime::find_key_bases(folder, fingerprint, config),
          .file = runtime::key_bases_file(folder, fingerprint),
          .none = "none yet; run \"satchel calibrate\" to make them"};
}

ProfileInUse<kvcache::SelectorWeights> selector_in_use(const std::filesystem::path& folder,
                                                       const std::string& fingerprint,
                                                       const runtime::ModelConfig& config,
                                                       kvcache::SelectorMethod method) {
  const std::filesystem::path file = runtime::selector_file(folder, fingerprint, method);
  return {.found = runtime::find_selector(folder, fingerprint, config, method),
          .file = file,
          .none = "none; train them with training/" + std::string(to_text(method)) +
                  " and save them as \"" + file.string() + "\"",
          .came = "installed"};
}

}  // namespace satchel::app
