// The machine of the executor in this library, before anybody asks: its driver is of CUDA 11.8.
#include "simt/runtime_api.h"

namespace {
[[maybe_unused]] const bool kIsOld = [] {
  simt::machine().driver = 11080;
  return true;
}();
}  // namespace
