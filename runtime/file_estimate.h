// What a model would take, before it is loaded: the Engine's estimate, from the file alone.
//   differs  weights count as they are in the file, where the Engine knows what they take repacked
//            (a fifth more with the bundled model); the default budget leaves them that memory
//   cost     opens the backend and reads the file once, as its profiles are known by its hash
//   errors   those of Engine::open, but of the weights
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "kernels/base/result.h"
#include "kernels/registry/registry.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/limits/estimator.h"

namespace satchel::runtime {

// As an Engine would be opened (EngineOptions).
struct UnloadedModel {
  std::filesystem::path file, profiles;
  std::string backend;
  kernels::BackendOptions backend_options;
};

struct FileEstimate {
  Estimate estimate;
  std::size_t least_budget_bytes = 0;
};
Result<FileEstimate> estimate_file(const UnloadedModel& model, const kvcache::Recipe& recipe,
                                   const EstimateRequest& request);

}  // namespace satchel::runtime
