#include "kernels/cuda/pages/basis_store.h"

#include <cstring>
#include <utility>

namespace satchel::kernels::cuda {

Result<void> BasisStore::begin() {
  if (bytes_ > kBasesBytesMost) {
    for (const auto& [id, sent] : named_) bytes_ -= sent.memory.size();
    named_.clear();
  }
  for (const auto& [to, sent] : of_this_call_) bytes_ -= sent.memory.size();
  of_this_call_.clear();
  return {};
}

Result<PageBasis> BasisStore::of(const Basis& basis, std::size_t head_dim) {
  const auto found = named_.find(basis.id);
  if (basis.id != 0 && found != named_.end()) return found->second.basis;
  const auto here = of_this_call_.find(basis.to);
  if (basis.id == 0 && here != of_this_call_.end()) return here->second.basis;
  SATCHEL_TRY_ASSIGN(Sent sent, send(basis, head_dim));
  const PageBasis there = sent.basis;
  bytes_ += sent.memory.size();
  if (basis.id != 0)
    named_.emplace(basis.id, std::move(sent));
  else
    of_this_call_.emplace(basis.to, std::move(sent));
  return there;
}

// [to][back][frequencies]
Result<BasisStore::Sent> BasisStore::send(const Basis& basis, std::size_t head_dim) {
  const std::span<const double> frequencies = basis.rope.inverse_frequency;
  const std::size_t n = head_dim * head_dim;
  std::vector<std::byte> bytes(2 * n * sizeof(float) + frequencies.size_bytes());
  auto* to = reinterpret_cast<float*>(bytes.data());
  std::memcpy(to, basis.to, n * sizeof(float));
  for (std::size_t i = 0; i < n; ++i)
    to[n + i] = basis.from[i % head_dim * head_dim + i / head_dim];
  if (!frequencies.empty())
    std::memcpy(bytes.data() + 2 * n * sizeof(float), frequencies.data(), frequencies.size_bytes());
  Sent sent;
  SATCHEL_TRY_ASSIGN(sent.memory, device_->allocate(bytes.size()));
  SATCHEL_TRY(device_->upload(sent.memory.data(), bytes));
  const auto* there = reinterpret_cast<const float*>(sent.memory.data());
  sent.basis = {.to = there,
                .back = there + n,
                .frequencies = reinterpret_cast<const double*>(there + 2 * n),
                .n_pairs = static_cast<unsigned>(frequencies.size()),
                .has_halves = basis.rope.pairs == RopePairs::halves};
  return sent;
}

}  // namespace satchel::kernels::cuda
