// Measured: what was measured outlives the program, as settings of the library: each chat's fidelity
// and how fast a model reads here.
#pragma once

#include <string>

#include "runtime/session/session.h"
#include "storage/store.h"

namespace satchel::ui {

class Measured {
 public:
  // library outlives it
  explicit Measured(storage::Library& library) : m_library(library) {}

  // How fast the model of that fingerprint read, if that was enough to tell.
  Result<void> keep(const std::string& fingerprint, const runtime::ReadReport& report);
  // If anything was measured.
  Result<void> keep(kvcache::ChatId chat, const runtime::Fidelity& fidelity);
  // It was changed: what was measured does not speak of it any more.
  Result<void> forget(kvcache::ChatId chat);
  runtime::Fidelity fidelity(kvcache::ChatId chat);       // n_tokens 0: not known
  double readMsPerToken(const std::string& fingerprint);  // 0: not known

 private:
  storage::Library& m_library;
};

}  // namespace satchel::ui
