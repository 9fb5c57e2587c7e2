#include "kernels/cuda/experts/expert_table.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda/device/workspace_layout.h"
#include "kernels/cuda/products/cuda_weight.h"

namespace satchel::kernels::cuda {
namespace {

using Expert = Backend::Expert;

constexpr std::size_t kKeptMost = 512;  // layers; chosen

bool same(const Expert& a, const Expert& b) {
  return a.gate == b.gate && a.up == b.up && a.down == b.down && a.gate_bias == b.gate_bias &&
         a.up_bias == b.up_bias && a.down_bias == b.down_bias;
}

const DeviceMatrix& matrix_of(const Weight& weight) {
  return CudaWeight::of(weight).matrix();
}

bool alike(const DeviceMatrix& a, const DeviceMatrix& b) {
  return a.type == b.type && a.n_out == b.n_out && a.n_in == b.n_in;
}

bool are_alike(std::span<const Expert> experts) {
  const Expert& first = experts[0];
  return std::ranges::all_of(experts, [&](const Expert& each) {
    return (each.gate != nullptr) == (first.gate != nullptr) &&
           (each.gate == nullptr || alike(matrix_of(*each.gate), matrix_of(*first.up))) &&
           alike(matrix_of(*each.up), matrix_of(*first.up)) &&
           alike(matrix_of(*each.down), matrix_of(*first.down));
  });
}

ExpertMatrix row_of(const Weight& weight, const float* bias) {
  const DeviceMatrix& matrix = matrix_of(weight);
  return {.bytes = matrix.bytes, .bias = bias, .factors = matrix.factors};
}

}  // namespace

bool ExpertTables::Kept::is_of(const Backend::MixtureOfExperts& args) const {
  return std::ranges::equal(experts, args.experts, same) &&
         std::ranges::equal(factors, args.expert_factors) &&
         std::ranges::equal(choice_biases, args.choice_biases);
}

Result<const ExpertTable*> ExpertTables::of(const Backend::MixtureOfExperts& args) {
  const auto found = kept_.find(args.experts.data());
  if (found == kept_.end() || !found->second.is_of(args)) {
    if (found == kept_.end() && kept_.size() == kKeptMost) forget();
    SATCHEL_TRY_ASSIGN(Kept made, make(args));
    kept_.insert_or_assign(args.experts.data(), std::move(made));
  }
  const Kept& kept = kept_.at(args.experts.data());
  return kept.are_alike ? &kept.table : nullptr;
}

Result<ExpertTables::Kept> ExpertTables::make(const Backend::MixtureOfExperts& args) const {
  const auto values = [](std::span<const float> of) {
    return std::vector<float>(of.begin(), of.end());
  };
  Kept kept{.experts = {args.experts.begin(), args.experts.end()},
            .factors = values(args.expert_factors),
            .choice_biases = values(args.choice_biases),
            .are_alike = are_alike(args.experts)};
  if (!kept.are_alike) return kept;
  std::vector<ExpertMatrix> gates, ups, downs;
  for (const Expert& each : kept.experts) {
    if (each.gate != nullptr) gates.push_back(row_of(*each.gate, each.gate_bias));
    ups.push_back(row_of(*each.up, each.up_bias));
    downs.push_back(row_of(*each.down, each.down_bias));
  }
  std::vector<std::byte> bytes;
  const auto add = [&bytes](const auto& array) {
    const std::size_t at = bytes.size();
    bytes.resize(at + padded256(array.size() * sizeof(array[0])));
    if (!array.empty())
      std::memcpy(bytes.data() + at, array.data(), array.size() * sizeof(array[0]));
    return at;
  };
  const std::size_t gates_at = add(gates), ups_at = add(ups), downs_at = add(downs);
  const std::size_t factors_at = add(kept.factors), biases_at = add(kept.choice_biases);
  SATCHEL_TRY_ASSIGN(kept.memory, device_->allocate(bytes.size()));
  SATCHEL_TRY(device_->upload(kept.memory.data(), bytes));
  const auto there = [&kept]<class T>(const std::vector<T>& array, std::size_t at) {
    return array.empty() ? nullptr : reinterpret_cast<const T*>(kept.memory.data() + at);
  };
  kept.table = {.up = matrix_of(*kept.experts[0].up),
                .down = matrix_of(*kept.experts[0].down),
                .gates = there(gates, gates_at),
                .ups = there(ups, ups_at),
                .downs = there(downs, downs_at),
                .factors = there(kept.factors, factors_at),
                .choice_biases = there(kept.choice_biases, biases_at)};
  return kept;
}

std::size_t ExpertTables::bytes() const {
  std::size_t sum = 0;
  for (const auto& [experts, kept] : kept_) sum += kept.memory.size();
  return sum;
}

}  // namespace satchel::kernels::cuda
