// Where the weights of trained selectors (kvcache::SelectorWeights) are found: those of the models we know
// are compiled in; others are put beside lane tables (lane_tables.h) by whoever has them, a file a model:
// <fingerprint>.safetensors.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "kvcache/lanes/selector_weights.h"
#include "runtime/profile/kept_file.h"

namespace satchel::runtime {

struct ModelConfig;

std::span<const ShippedFile> shipped_selectors();

using FoundSelector = Kept<kvcache::SelectorWeights>;  // damage: SELECTOR_WEIGHTS
// `dir` empty: only shipped ones.
FoundSelector find_selector(const std::filesystem::path& dir, const std::string& fingerprint,
                            const ModelConfig& config);
std::filesystem::path selector_file(const std::filesystem::path& dir,
                                    const std::string& fingerprint);

}  // namespace satchel::runtime
