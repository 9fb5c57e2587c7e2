#include "kernels/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace satchel {
void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "satchel: assertion failed: %s (%s:%d)\n", condition, file, line);
  std::abort();
}
}  // namespace satchel
