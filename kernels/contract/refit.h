// Refit: what stays of a lane answers for what goes. A weight for every token that stays, whose
// logarithm is added to its logit, and new values, fitted so that given queries get the output that
// the whole lane gave them.
//   formula of a query q, of which the whole lane gave output Y and LSE L', and what else it sees
//           the LSE L: P_i = exp(q·k_i - L'), w = 1 / (1 + exp(L - L'))
//           weights B: min sum over queries of w² (sum P_i B_i - 1)²
//             + ridge · mean_i(sum w² P_i²) · |B - 1|², then clamped to e^-bound … e^bound
//           values: m = sum P_i B_i, A_i = P_i B_i / m, u = w · min(1, m / kLeastMass);
//             v_i += d_i with min sum over queries of u² |Y - sum A_i (v_i + d_i)|²
//             + ridge · mean_i(sum u² A_i²) · |d|²
//   check   queries held out of both fits: the fit is taken if the sum over them of
//             w² (|Y - sum A_i v_i|² + (m - 1)² |Y|²)
//           is smaller than without it
//   cost    N queries, t tokens: N² t + N³ / 3 multiply-adds, and 4 passes of N t d
//   source  arXiv:2602.16284 (Attention Matching)
//   differs ridges towards what was there, in the paper none; queries weigh by what they would see
//           of the lane; those of which next to nothing is left have no say about values; some are
//           held out
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/base/half.h"

namespace satchel::kernels {

struct RefitArgs {
  const float* q = nullptr;           // [n_queries, head_dim]
  const float* out = nullptr;         // [n_queries, head_dim] Y
  const float* lse = nullptr;         // [n_queries] L'
  const float* lse_beside = nullptr;  // [n_queries] L; -infinity: nothing
  std::size_t n_queries = 0, head_dim = 0;
  // The last of so many queries is held out; 0: none is.
  std::size_t hold_every = 0;
  float scale = 1, soft_cap = 0;              // as AttendArgs
  const Half* k = nullptr;                    // rows of head_dim
  Half* v = nullptr;                          // likewise; those of `tokens` may change
  std::span<const std::int32_t> tokens = {};  // rows that stay, not empty
  std::size_t n_fixed = 0;                    // the first of them, whose weight stays 1
  float ridge = 0, bound = 0;                 // ridge > 0; bound 0: all weights stay 1
  std::span<float> weights = {};              // B, of `tokens`; overwritten
  float* work = nullptr;                      // [work_floats()]

  bool is_held(std::size_t query) const { return hold_every > 0 && (query + 1) % hold_every == 0; }
  std::size_t n_held() const { return hold_every > 0 ? n_queries / hold_every : 0; }

  static constexpr float kLeastMass = 1e-3f;
  // Tokens that are looked at together.
  static constexpr std::size_t kBlock = 256;
  static std::size_t work_floats(std::size_t n_queries, std::size_t head_dim,
                                 std::size_t n_tokens) {
    const std::size_t of_query = kBlock + n_queries + 4 * head_dim + 48;
    return n_queries * of_query + 3 * kBlock * head_dim + n_tokens * (head_dim + 1) / 2 + 2048;
  }
};

}  // namespace satchel::kernels
