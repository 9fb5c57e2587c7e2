// The value of a result that a test cannot go on without.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "kernels/base/result.h"

namespace satchel {

template <class T>
T value_of(Result<T> result) {
  if (!result.ok()) {
    ADD_FAILURE() << "[" << result.error().code << "] " << result.error().message;
    std::abort();
  }
  return std::move(result).value();
}

}  // namespace satchel
