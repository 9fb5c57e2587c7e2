// ModelHolder: the one model that is open, and how another takes its place.
//   invariants  1 the model stays open if another does not open. If the GPU fails at a second one
//                 (mostly for lack of memory), the first is closed, and opened again if the other
//                 fails even then
//               2 before an engine is closed, its sessions are (`let_sessions_go`)
//               3 path() names the model that is open, or the one that was lost
//   threads     one call at a time
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "runtime/engine.h"

namespace satchel::runtime {

class ModelHolder {
 public:
  struct Loading {
    std::stop_token stop = {};
    ProgressFn progress = {};
  };
  struct Outcome {
    std::optional<Error> error;  // none: the model asked for is open
    bool came_back = false;      // the one that was open had to go meanwhile
  };

  // options: of every engine; model, progress and stop are set here
  ModelHolder(EngineOptions options, std::function<void()> let_sessions_go)
      : options_(std::move(options)), let_sessions_go_(std::move(let_sessions_go)) {}

  Outcome open(const std::string& path, const Loading& loading);
  // The same model on the CPU, here and from now on. The engine that failed is closed first: the
  // machine may not hold the model twice. After an error there is none; this can be tried again.
  //   needs   path()
  Result<void> move_to_cpu(const Loading& loading);

  Engine* engine() const { return engine_.get(); }  // nullptr: no model is open
  const std::string& path() const { return path_; }

 private:
  Result<std::unique_ptr<Engine>> load(const std::string& path, const std::string& backend,
                                       const Loading& loading) const;
  void take(std::unique_ptr<Engine> engine, const std::string& path);
  void let_go();

  EngineOptions options_;
  std::function<void()> let_sessions_go_;
  std::unique_ptr<Engine> engine_;
  std::string path_;
};

}  // namespace satchel::runtime
