// A life of the window's program on the real runtime: store, engine, state. The engine is in this
// process, or where the variable SATCHEL_TEST_ENGINE says "child" in one of its own, so that the
// same tests see both.
#pragma once

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <functional>
#include <memory>

#include "event_spy.h"
#include "support/bundled_model.h"
#include "ui/child/child_engine.h"
#include "ui/model/app_state.h"
#include "ui/model/engine_setup.h"
#include "ui/model/engine_values.h"

namespace satchel::ui {

using namespace Qt::StringLiterals;

inline constexpr int kWaitMs = 60'000;  // a hang, not slowness

enum class EngineKind { InProcess, Child };
inline EngineKind engineKind() {
  return qgetenv("SATCHEL_TEST_ENGINE") == "child" ? EngineKind::Child : EngineKind::InProcess;
}

inline std::unique_ptr<storage::Store> openStore(const QString& folder) {
  storage::StoreOptions options;
  options.data_dir = options.cache_dir = folder.toStdString();
  auto store = storage::Store::open(std::move(options));
  EXPECT_TRUE(store.ok()) << store.error().message;
  return std::move(store).value();
}

// Ends as closing the window ends it.
struct Life {
  using Phase = AppState::Phase;

  // libraries: where the GPU's lies
  explicit Life(const QString& folder, const std::vector<std::filesystem::path>& libraries = {},
                const std::string& backend = "auto", EngineKind kind = engineKind())
      : owned(openEngine(setup(folder, libraries, backend), kind)),
        engine(*owned),
        state(&engine, &clock),
        errors(&state, &AppState::errorShown),
        resumed(&engine),
        saved(&engine),
        caches(&engine) {}

  static EngineSetup setup(const QString& folder,
                           const std::vector<std::filesystem::path>& libraries = {},
                           const std::string& backend = "auto") {
    EngineSetup setup;
    setup.dataDir = setup.cacheDir = folder.toStdString();
    setup.backend = backend;
    setup.nThreads = 1;
    setup.backendFolders = libraries;
    return setup;
  }
  static std::unique_ptr<EngineClient> openEngine(const EngineSetup& setup, EngineKind kind) {
    if (kind == EngineKind::Child) {
      auto child = std::make_unique<ChildEngine>(setup);
      const Result<void> opened = child->open();
      EXPECT_TRUE(opened.ok()) << opened.error().message;
      return child;
    }
    auto engine = openInProcess(setup);
    EXPECT_TRUE(engine.ok()) << engine.error().message;
    return std::move(engine).value();
  }
  bool wait(const std::function<bool()>& done) {
    return QTest::qWaitFor([&] { return done() || !errors.isEmpty(); }, kWaitMs) &&
           errors.isEmpty();
  }
  std::string error() const {
    return errors.isEmpty() ? "no error" : errors[0][1].toString().toStdString();
  }
  bool waitReady() {
    return wait([this] { return state.phase() == Phase::Ready; });
  }
  bool openModel(const QString& path = QString::fromStdString(test::kBundledModel)) {
    state.openModel(path);
    return waitReady() && wait([this] { return state.memory()->hasPreviews(); });
  }
  bool send(const QString& text) {
    state.send(text);
    const auto before = saved.count();
    return waitReady() && wait([&] { return saved.count() > before; });
  }

  SystemClock clock;
  std::unique_ptr<EngineClient> owned;
  EngineClient& engine;
  AppState state;
  runtime::ChatMemory cache() const {
    return caches.isEmpty() ? runtime::ChatMemory() : caches.last();
  }
  // Some of the text has been scored and some not.
  bool waitHalfPacked() {
    return wait([this] {
      const kvcache::CacheStats stats = cache().stats;
      return stats.n_pending_probed > 0 && stats.n_pending_probed < stats.n_pending;
    });
  }
  bool waitPacked() {
    return wait([this] {
      const kvcache::CacheStats stats = cache().stats;
      return stats.n_pending == 0 && stats.n_evicted > 0 && !cache().is_packing;
    });
  }

  QSignalSpy errors;
  EventSpy<runtime::ResumeReport> resumed;
  EventSpy<kvcache::SaveReport> saved;
  EventSpy<runtime::ChatMemory> caches;
};

}  // namespace satchel::ui
