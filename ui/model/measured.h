// Measured: how fast a model reads here outlives the program, as a setting of the library. What was
// measured of a chat its session keeps.
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
  double readMsPerToken(const std::string& fingerprint);  // 0: not known

 private:
  storage::Library& m_library;
};

}  // namespace satchel::ui
