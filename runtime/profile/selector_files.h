// Storage of selector weights (kvcache::SelectorWeights). Those of known models are compiled in.
// Users can put others into the folder of head-budget profiles (head_budget_files.h), one
// <fingerprint>.safetensors per model.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "kvcache/profile/selector_weights.h"
#include "runtime/profile/profile_file.h"

namespace satchel::runtime {

std::span<const ShippedFile> shipped_selectors();

using FoundSelector = FoundProfile<kvcache::SelectorWeights>;  // damage: SELECTOR_WEIGHTS
// Empty `dir`: shipped ones only.
FoundSelector find_selector(const std::filesystem::path& dir, const std::string& fingerprint,
                            const ModelConfig& config);
std::filesystem::path selector_file(const std::filesystem::path& dir,
                                    const std::string& fingerprint);

}  // namespace satchel::runtime
