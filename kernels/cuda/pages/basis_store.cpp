#include "kernels/cuda/pages/basis_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

namespace satchel::kernels::cuda {
namespace {

// PageBasis::from_factor.
float factor_of(std::span<const float> from) {
  float most = 0;
  for (const float x : from) most = std::max(most, std::abs(x));
  return most > 0 && std::isfinite(most) ? std::ldexp(1.0f, 8 - std::ilogb(most)) : 1.0f;
}

}  // namespace

Result<void> BasisStore::begin() {
  if (bytes_ > kBasesBytesMost) {
    for (const auto& [id, sent] : named_) bytes_ -= sent.memory->size();
    named_.clear();
  }
  for (const auto& [to, sent] : of_this_call_) bytes_ -= sent.memory->size();
  of_this_call_.clear();
  return {};
}

Result<SentBasis> BasisStore::of(const Basis& basis, std::size_t head_dim) {
  const auto found = named_.find(basis.id);
  if (basis.id != 0 && found != named_.end()) return found->second;
  const auto here = of_this_call_.find(basis.to);
  if (basis.id == 0 && here != of_this_call_.end()) return here->second;
  SATCHEL_TRY_ASSIGN(const SentBasis sent, send(basis, head_dim));
  bytes_ += sent.memory->size();
  if (basis.id != 0)
    named_.emplace(basis.id, sent);
  else
    of_this_call_.emplace(basis.to, sent);
  return sent;
}

// [to][from][back][frequencies]
Result<SentBasis> BasisStore::send(const Basis& basis, std::size_t head_dim) {
  const std::span<const double> frequencies = basis.rope.inverse_frequency;
  const std::size_t n = head_dim * head_dim;
  std::vector<std::byte> bytes(3 * n * sizeof(float) + frequencies.size_bytes());
  auto* to = reinterpret_cast<float*>(bytes.data());
  std::memcpy(to, basis.to, n * sizeof(float));
  std::memcpy(to + n, basis.from, n * sizeof(float));
  for (std::size_t i = 0; i < n; ++i)
    to[2 * n + i] = basis.from[i % head_dim * head_dim + i / head_dim];
  if (!frequencies.empty())
    std::memcpy(bytes.data() + 3 * n * sizeof(float), frequencies.data(), frequencies.size_bytes());
  SATCHEL_TRY_ASSIGN(Buffer memory, device_->allocate(bytes.size()));
  SATCHEL_TRY(device_->upload(memory.data(), bytes));
  const auto* there = reinterpret_cast<const float*>(memory.data());
  return SentBasis{.memory = std::make_shared<const Buffer>(std::move(memory)),
                   .basis = {.to = there,
                             .from = there + n,
                             .from_factor = factor_of({basis.from, n}),
                             .back = there + 2 * n,
                             .frequencies = reinterpret_cast<const double*>(there + 3 * n),
                             .n_pairs = static_cast<unsigned>(frequencies.size()),
                             .has_halves = basis.rope.pairs == RopePairs::halves}};
}

}  // namespace satchel::kernels::cuda
