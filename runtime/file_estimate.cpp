#include "runtime/file_estimate.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kvcache/recipes/pipeline.h"
#include "runtime/gguf/reader.h"
#include "runtime/limits/precision_floor.h"
#include "runtime/profile/profile_files.h"

namespace satchel::runtime {
namespace {

// Of the model, and of what was trained beside it and has been read.
std::size_t weight_bytes(const GgufFile& file, const ModelConfig& config) {
  std::size_t bytes = 0;
  for (const GgufTensor& tensor : file.tensors()) bytes += tensor.bytes.size();
  return bytes + config.selectors.bytes_in_memory();
}

// A damaged profile counts as absent, as for an engine.
Result<void> add_profiles(const GgufFile& file, const std::filesystem::path& folder,
                          ModelConfig& config) {
  SATCHEL_TRY_ASSIGN(const std::string fingerprint, file.model_fingerprint());
  config.head_budgets = find_head_budgets(folder, fingerprint, config).value;
  config.key_bases = find_key_bases(folder, fingerprint, config).value;
  config.selectors = selectors_when_needed(folder, fingerprint, config);
  return {};
}

}  // namespace

Result<FileEstimate> estimate_file(const UnloadedModel& model, const kvcache::Recipe& recipe,
                                   const EstimateRequest& request) {
  SATCHEL_TRY_ASSIGN(const GgufFile file, GgufFile::open(model.file));
  SATCHEL_TRY_ASSIGN(ModelConfig config, ModelConfig::from(file));
  SATCHEL_TRY_ASSIGN(const kernels::ChosenBackend chosen,
                     kernels::choose_backend(model.backend, model.backend_options));
  config.work_limits = chosen.backend->work_limits();
  SATCHEL_TRY(add_profiles(file, model.profiles, config));
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe held, suited(recipe, config.architecture));
  SATCHEL_TRY(held.pipeline().check(config.cache_shape()));  // reads what the recipe needs
  const std::size_t weights = weight_bytes(file, config);
  kernels::AvailableMemory available = chosen.backend->available_memory();
  const std::size_t most = available.most;
  available.most -= std::min(weights, available.most);
  available.usually = std::min(available.usually, available.most);
  EstimateRequest here = request;
  here.available = available;
  FileEstimate found;
  SATCHEL_TRY_ASSIGN(found.estimate, estimate(config, 0, held, here));
  found.estimate.weight_bytes = weights;
  found.estimate.available_bytes = most;
  found.estimate.fits = found.estimate.fits && weights <= most;
  SATCHEL_TRY_ASSIGN(found.least_budget_bytes, least_budget(config, held));
  return found;
}

}  // namespace satchel::runtime
