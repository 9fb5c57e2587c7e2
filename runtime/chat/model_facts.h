// What front ends show of an open model, and of the presets under a memory limit.
#pragma once

#include <string>
#include <vector>

#include "runtime/engine.h"

namespace satchel::runtime {

struct ModelFacts {
  std::string path, title;
  std::string device;  // the backend, for people
  bool on_gpu = false;
  std::string gpu_fallback_reason;  // where the GPU was wanted and is not used, for people
  std::size_t weight_bytes = 0;
  std::size_t n_layers = 0, n_lanes = 0, n_context = 0;
  bool has_chat_template = true;     // else it goes on with what is written, as base models do
  std::string precision_note;        // why presets round less with it, for people; "": they do not
  bool has_thinking_switch = false;  // its chat template can turn thinking off
};
ModelFacts model_facts(const Engine& engine, const std::string& path);

struct PresetEstimate {
  std::string preset;
  Estimate estimate;  // of the model's whole context
};
// The presets under one limit, from most accurate to smallest.
struct PresetEstimates {
  std::size_t limit_bytes = 0;  // as asked; 0 was replaced by the default
  std::size_t default_bytes = 0;
  std::size_t free_bytes = 0;  // for chats, now: of the GPU where that is used, else of the machine
  std::vector<PresetEstimate> presets;
};
// limit_bytes  0: the default
Result<PresetEstimates> estimate_presets(const Engine& engine, std::size_t limit_bytes);

}  // namespace satchel::runtime
