// What one fuzz program is made of; driver.cpp is the same for all. A new target is one file that
// defines `target` and LLVMFuzzerTestOneInput, and one line in CMakeLists.txt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/base/rng.h"

// Takes any bytes; must not crash, hang for a second or allocate beyond the driver's limit. Returns
// 0. The name and form are libFuzzer's, so that the same file links with it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace satchel::fuzz {

using Input = std::vector<std::uint8_t>;

struct Target {
  const char* name;
  std::vector<Input> (*seeds)();          // small valid inputs to start from
  Input (*generate)(Rng& rng) = nullptr;  // an input that knows the format and forges its fields
  void (*repair)(Input& input) =
      nullptr;           // makes checksums right again, so that what lies behind them is reached
  int n_together = 100;  // so many inputs may take five seconds
};
extern const Target target;

}  // namespace satchel::fuzz
