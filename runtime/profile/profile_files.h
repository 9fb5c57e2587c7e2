// Profile files: what was measured or learned for a model. Those of known models are compiled in;
// others are in a folder of the program, one file for each model and kind, read with a size limit
// and written atomically. Disposable: a damaged or lost one is ignored, and can be made again; but
// a recipe that needs damaged selector weights is refused.
//   kinds   HeadBudgets, <fingerprint>.json: measured by `satchel profile`, or while idle
//           KeyBases, <fingerprint>.bases: made by `satchel calibrate`
//           SelectorWeights, put there by the user: <fingerprint>.safetensors for locret,
//           <fingerprint>.<method>.safetensors for the other methods
//   errors  LANE_SHARES, KEY_BASES, SELECTOR_WEIGHTS: corrupt on reading, storage on writing
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/result.h"
#include "kvcache/profile/head_budgets.h"
#include "kvcache/profile/key_bases.h"
#include "kvcache/profile/selector_weights.h"
#include "runtime/model/config.h"

namespace satchel::runtime {

// A file compiled into the program.
struct ShippedFile {
  std::string_view file, bytes;
};
std::span<const ShippedFile> shipped_head_budgets();
std::span<const ShippedFile> shipped_key_bases();
std::span<const ShippedFile> shipped_selectors();

enum class ProfileFrom { nowhere, shipped, folder };

// The profile that a model runs with. A file in the folder takes precedence over a shipped one.
template <class T>
struct FoundProfile {
  std::shared_ptr<const T> value;  // null: none
  ProfileFrom from = ProfileFrom::nowhere;
  std::optional<Error> damage;  // why a file was ignored
};
// Each looks into `dir` (empty: only shipped ones), then among what ships.
FoundProfile<kvcache::HeadBudgets> find_head_budgets(const std::filesystem::path& dir,
                                                     const std::string& fingerprint,
                                                     const ModelConfig& config);
FoundProfile<kvcache::KeyBases> find_key_bases(const std::filesystem::path& dir,
                                               const std::string& fingerprint,
                                               const ModelConfig& config);
// What somebody trained is not replaced: where a file in the folder is damaged, there is nothing.
FoundProfile<kvcache::SelectorWeights> find_selector(const std::filesystem::path& dir,
                                                     const std::string& fingerprint,
                                                     const ModelConfig& config,
                                                     kvcache::SelectorMethod method);
// All methods, each found when a recipe first needs it: the files may be large, and few recipes
// need one.
kvcache::SelectorSet selectors_when_needed(const std::filesystem::path& dir,
                                           const std::string& fingerprint,
                                           const ModelConfig& config);

// The files in `dir`.
std::filesystem::path head_budgets_file(const std::filesystem::path& dir,
                                        const std::string& fingerprint);
std::filesystem::path key_bases_file(const std::filesystem::path& dir,
                                     const std::string& fingerprint);
std::filesystem::path selector_file(const std::filesystem::path& dir,
                                    const std::string& fingerprint, kvcache::SelectorMethod method);

// Each makes the folder where it is missing, and replaces an older file.
Result<void> save_head_budgets(const std::filesystem::path& dir, const kvcache::HeadBudgets& table);
Result<void> save_key_bases(const std::filesystem::path& dir, const kvcache::KeyBases& bases);

}  // namespace satchel::runtime
