#include "runtime/profile/selector_files.h"

#include "runtime/model/config.h"

namespace satchel::runtime {
namespace {

namespace fs = std::filesystem;
using kvcache::SelectorWeights;

constexpr KeptKind kKind{.code = "SELECTOR_WEIGHTS",
                         .noun = "file of a selector's weights",
                         .remedy = "Remove it, or make it again with training/locret.",
                         .bytes_max = kvcache::kSelectorBytesMax};

}  // namespace

fs::path selector_file(const fs::path& dir, const std::string& fingerprint) {
  return dir / (fingerprint + ".safetensors");
}

FoundSelector find_selector(const fs::path& dir, const std::string& fingerprint,
                            const ModelConfig& config) {
  const auto read =
      [&](std::string_view bytes,
          const std::string& called) -> Result<std::shared_ptr<const SelectorWeights>> {
    SATCHEL_TRY_ASSIGN(SelectorWeights weights, SelectorWeights::parse(bytes, called));
    if (weights.model == fingerprint && config.cache_shape().suits(weights))
      return std::make_shared<const SelectorWeights>(std::move(weights));
    return of_another_model(called, kKind);
  };
  return find_kept<SelectorWeights>(kKind,
                                    {.own = dir.empty() ? dir : selector_file(dir, fingerprint),
                                     .shipped = shipped_selectors(),
                                     .fingerprint = fingerprint,
                                     .head = kvcache::kSelectorHeaderMax},
                                    read);
}

}  // namespace satchel::runtime
