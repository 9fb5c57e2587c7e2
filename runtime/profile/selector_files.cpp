#include "runtime/profile/selector_files.h"

namespace satchel::runtime {
namespace {

namespace fs = std::filesystem;
using kvcache::SelectorWeights;

constexpr ProfileKind kKind{.code = "SELECTOR_WEIGHTS",
                            .noun = "selector weights file",
                            .remedy = "Delete it, or make it again with training/locret.",
                            .ending = ".safetensors",
                            .bytes_max = kvcache::kSelectorBytesMax,
                            .head = kvcache::kSelectorHeaderMax};

}  // namespace

fs::path selector_file(const fs::path& dir, const std::string& fingerprint) {
  return kept_path(dir, fingerprint, kKind);
}

FoundSelector find_selector(const fs::path& dir, const std::string& fingerprint,
                            const ModelConfig& config) {
  return find_profile<SelectorWeights>(kKind, dir, fingerprint, config, shipped_selectors());
}

}  // namespace satchel::runtime
