// TokenFilter: what else decides which token may come next: a grammar (runtime/grammar).
#pragma once

#include <cstdint>
#include <span>

namespace satchel::runtime {

class TokenFilter {
 public:
  virtual ~TokenFilter() = default;
  virtual bool allows(std::int32_t token) = 0;
  // Sets the logits of all tokens that are not allowed to -infinity. False: none is allowed.
  virtual bool mask(std::span<float> logits) = 0;
};

}  // namespace satchel::runtime
