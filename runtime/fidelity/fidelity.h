// Fidelity: what compression did to this very conversation, measured.
//   how      after a prompt was read, its last tokens (up to 128) run again against the compressed
//            cache, positions masked; each next-token distribution is compared with the exact one
//            of the first reading
//   when     a prompt that is to be answered is measured when its answer has been given: nobody waits
//            for it. What was compressed while answering then counts too
//   precise  weights exp(...) in float, relative error 3e-7; sums in float64, in an order that
//            depends on nothing
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace satchel::runtime {

inline constexpr std::size_t kFidelityTokens = 128;

struct Fidelity {
  std::size_t n_tokens = 0;      // compared; 0: nothing measured yet
  double agreement = 1;          // share with the same top-1
  double kl = 0;                 // mean KL(exact || compressed), nats
  std::size_t measured_at = 0;   // tokens in the context then
  std::int64_t measured_ms = 0;  // since 1970, UTC
};

// exact, compressed [n_tokens, n_vocabulary]
Fidelity compare_logits(std::span<const float> exact, std::span<const float> compressed,
                        std::size_t n_vocabulary);

}  // namespace satchel::runtime
