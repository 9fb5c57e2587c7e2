// A life of the window's program on the real runtime: store, engine, state.
#pragma once

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>
#include <functional>
#include <memory>

#include "event_spy.h"
#include "storage/store.h"
#include "support/bundled_model.h"
#include "ui/model/app_state.h"
#include "ui/model/engine_values.h"
#include "ui/model/in_process_engine.h"

namespace satchel::ui {

using namespace Qt::StringLiterals;

inline constexpr int kWaitMs = 60'000;  // a hang, not slowness

// Ends as closing the window ends it.
struct Life {
  using Phase = AppState::Phase;

  // libraries: where the GPU's lies
  explicit Life(const QString& folder, const std::vector<std::filesystem::path>& libraries = {},
                const std::string& backend = "auto")
      : engine(openStore(folder), options(backend, libraries)),
        state(&engine, &clock),
        errors(&state, &AppState::errorShown),
        resumed(&engine),
        saved(&engine),
        caches(&engine) {}

  static runtime::EngineOptions options(const std::string& backend,
                                        const std::vector<std::filesystem::path>& libraries) {
    runtime::EngineOptions options;
    options.n_threads = 1;
    options.backend = backend;
    options.backend_folders = libraries;
    return options;
  }
  static std::unique_ptr<storage::Store> openStore(const QString& folder) {
    storage::StoreOptions options;
    options.data_dir = options.cache_dir = folder.toStdString();
    auto store = storage::Store::open(std::move(options));
    EXPECT_TRUE(store.ok()) << store.error().message;
    return std::move(store).value();
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
  InProcessEngine engine;
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
