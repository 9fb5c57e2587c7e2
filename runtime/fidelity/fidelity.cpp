// The loops go in strips of kStrip independent sums, plainly enough for the compiler to make
// vectors of them: two rows of 50,000 logits for each of 128 tokens are compared between an
// answer's last token and the next message.
#include "runtime/fidelity/fidelity.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "kernels/base/assert.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kStrip = 128;

// A token whose logit lies further below the largest is taken to lie there: exp(-87) is about the
// smallest normal float, and no sum below notices.
constexpr float kLowest = -87.0f;

// exp(x) for kLowest <= x <= 0, relative error below 3e-7.
//   source  Cephes, expf.c: argument reduction and polynomial
float exp_of(float x) {
  // Adding 1.5 * 2^23 rounds to the integer that then lies in the low bits.
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = x - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const std::int32_t exponent = std::bit_cast<std::int32_t>(shifted) - 0x4B400000 + 127;
  return p * std::bit_cast<float>(exponent << 23);
}

float largest_of(std::span<const float> row) {
  std::array<float, kStrip> most;
  most.fill(row[0]);
  std::size_t i = 0;
  for (; i + kStrip <= row.size(); i += kStrip)
    for (std::size_t s = 0; s < kStrip; ++s) most[s] = row[i + s] > most[s] ? row[i + s] : most[s];
  for (; i < row.size(); ++i) most[0] = std::max(most[0], row[i]);
  return *std::max_element(most.begin(), most.end());
}

// Sums over a row of p = softmax(exact) and q = softmax(compressed), the largest logit taken as 0.
struct Sums {
  double p = 0, q = 0;
  double moved = 0;  // p * (logit of p - logit of q), both from their largest
};

// Logits from their largest, and their weights exp(...); both [n].
void weigh(const float* logits, float top, std::size_t n, double* from_top, float* weight) {
  for (std::size_t i = 0; i < n; ++i) {
    const double below = static_cast<double>(logits[i]) - static_cast<double>(top);
    from_top[i] = below < double{kLowest} ? double{kLowest} : below;
    weight[i] = exp_of(static_cast<float>(from_top[i]));
  }
}

// Each place of a strip has sums of its own, which are added up in the end.
Sums sums_of(std::span<const float> exact, std::span<const float> compressed, float exact_top,
             float compressed_top) {
  std::array<double, kStrip> p_sums = {}, q_sums = {}, moved_sums = {};
  for (std::size_t i = 0; i < exact.size(); i += kStrip) {
    const std::size_t n = std::min(kStrip, exact.size() - i);
    std::array<float, kStrip> p, q;
    std::array<double, kStrip> log_p, log_q;
    weigh(&exact[i], exact_top, n, log_p.data(), p.data());
    weigh(&compressed[i], compressed_top, n, log_q.data(), q.data());
    for (std::size_t s = 0; s < n; ++s) {
      p_sums[s] += static_cast<double>(p[s]);
      q_sums[s] += static_cast<double>(q[s]);
      moved_sums[s] += static_cast<double>(p[s]) * (log_p[s] - log_q[s]);
    }
  }
  Sums all;
  for (std::size_t s = 0; s < kStrip; ++s) {
    all.p += p_sums[s];
    all.q += q_sums[s];
    all.moved += moved_sums[s];
  }
  return all;
}

}  // namespace

Fidelity compare_logits(std::span<const float> exact, std::span<const float> compressed,
                        std::size_t n_vocabulary) {
  SATCHEL_ASSERT(n_vocabulary > 0 && exact.size() == compressed.size());
  SATCHEL_ASSERT(exact.size() % n_vocabulary == 0);
  Fidelity out{.n_tokens = exact.size() / n_vocabulary};
  if (out.n_tokens == 0) return out;
  std::size_t n_agreed = 0;
  for (std::size_t t = 0; t < out.n_tokens; ++t) {
    const auto p = exact.subspan(t * n_vocabulary, n_vocabulary);
    const auto q = compressed.subspan(t * n_vocabulary, n_vocabulary);
    const float p_top = largest_of(p), q_top = largest_of(q);
    const auto id_of = [](std::span<const float> row, float top) {
      return std::find(row.begin(), row.end(), top) - row.begin();  // ties to the lower id
    };
    if (id_of(p, p_top) == id_of(q, q_top)) ++n_agreed;
    const Sums sums = sums_of(p, q, p_top, q_top);
    // KL(p || q) in nats; rounding may leave -1e-9 for equal rows.
    out.kl += std::max(sums.moved / sums.p + std::log(sums.q) - std::log(sums.p), 0.0);
  }
  out.agreement = static_cast<double>(n_agreed) / static_cast<double>(out.n_tokens);
  out.kl /= static_cast<double>(out.n_tokens);
  return out;
}

std::vector<double> attention_left(std::span<const float> lse_exact, std::span<const float> lse_now,
                                   std::size_t n_heads) {
  SATCHEL_ASSERT(n_heads > 0 && !lse_exact.empty() && lse_exact.size() == lse_now.size());
  SATCHEL_ASSERT(lse_exact.size() % n_heads == 0);
  std::vector<double> left(n_heads);
  for (std::size_t i = 0; i < lse_exact.size(); ++i)
    left[i % n_heads] += std::exp(double{lse_now[i]} - double{lse_exact[i]});
  const double n_tokens = static_cast<double>(lse_exact.size() / n_heads);
  for (double& of_head : left) of_head = std::min(of_head / n_tokens, 1.0);
  return left;
}

}  // namespace satchel::runtime
