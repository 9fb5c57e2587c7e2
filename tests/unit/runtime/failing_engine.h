// An engine whose caches have a backend that can fail, beside the model's own.
#pragma once

#include <memory>
#include <utility>

#include "kernels/registry/registry.h"
#include "runtime/engine_state.h"
#include "support/failing_backend.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {

struct FailingEngine {
  std::shared_ptr<kernels::Backend> model_backend;
  std::unique_ptr<Engine> engine;
  std::shared_ptr<test::FailingBackend> failing;

  FailingEngine()
      : engine(open_engine(bundled_model())),
        failing(std::make_shared<test::FailingBackend>(
            value_of(kernels::open_backend("cpu", {.n_threads = 1})))) {
    model_backend = std::exchange(engine->state().backend, failing);
  }
};

}  // namespace satchel::runtime
