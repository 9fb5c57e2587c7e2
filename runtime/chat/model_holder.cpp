#include "runtime/chat/model_holder.h"

#include <utility>

namespace satchel::runtime {

ModelHolder::Outcome ModelHolder::open(const std::string& path, const Loading& loading) {
  // Beside a model on the GPU, another one is tried there only: "auto" would load it for the CPU.
  const bool is_gpu_taken = engine_ != nullptr && engine_->on_gpu();
  Result<std::unique_ptr<Engine>> other =
      load(path, is_gpu_taken ? "cuda" : options_.backend, loading);
  const bool is_crowded_out = is_gpu_taken && !other.ok() && engine_->is_gpu_failure(other.error());
  if (is_crowded_out) {
    let_go();  // a GPU seldom holds two models: chats of the first take what is left beside it
    other = load(path, options_.backend, loading);
  }
  if (other.ok()) {
    take(std::move(*other), path);
    return {};
  }
  Error why = std::move(other).error();
  if (!is_crowded_out) return {std::move(why)};
  Result<std::unique_ptr<Engine>> back =
      load(path_, options_.backend, {.progress = loading.progress});
  if (!back.ok()) {
    why.message += " The model that was open did not come back: " + back.error().message;
    return {std::move(why)};
  }
  take(std::move(*back), path_);
  return {std::move(why), true};
}

Result<void> ModelHolder::move_to_cpu(const Loading& loading) {
  let_go();
  options_.backend = "cpu";
  SATCHEL_TRY_ASSIGN(engine_, load(path_, options_.backend, loading));
  return {};
}

Result<std::unique_ptr<Engine>> ModelHolder::load(const std::string& path,
                                                  const std::string& backend,
                                                  const Loading& loading) const {
  EngineOptions options = options_;
  options.model = path;
  options.backend = backend;
  options.progress = loading.progress;
  options.stop = loading.stop;
  return Engine::open(options);
}

void ModelHolder::take(std::unique_ptr<Engine> engine, const std::string& path) {
  let_go();
  engine_ = std::move(engine);
  path_ = std::string(path);
}

void ModelHolder::let_go() {
  let_sessions_go_();
  engine_.reset();
}

}  // namespace satchel::runtime
