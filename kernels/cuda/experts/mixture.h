// Mixture: Backend::moe without a wait: experts are chosen on the card, whose kernels find them in
// a table.
//   launches  of few tokens: normed operands; router; choice; gate and up; gated operands; down;
//             sum: 7, of any number of experts. One more where the router has a norm of its own,
//             and where relu needs the gated values written. Of a prompt: operands for the router,
//             and its product; operands; choice, lists; the rest alike.
//   errors    NaN in the router's product is told by check(): whoever waits calls it
//   owns      work for the largest call so far; long prompts go in rounds, within 128 MiB
#pragma once

#include <cstddef>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/experts/expert_choice.h"
#include "kernels/cuda/experts/expert_table.h"
#include "kernels/cuda/products/layer_products.h"

namespace satchel::kernels::cuda {

class Mixture {
 public:
  Mixture(Device& device, LayerProducts& products)
      : device_(&device), products_(&products), tables_(device) {}
  std::size_t bytes() const { return work_.size() + tables_.bytes() + has_nan_.size(); }

  // As Backend::moe; false: it was not done, because it does not know such experts.
  Result<bool> run(const Backend::MixtureOfExperts& args, float* x, std::size_t n_tokens);
  // The error of a router since the last call. Waits where run() was called since.
  Result<void> check();
  void forget_tables() { tables_.forget(); }

 private:
  using Args = Backend::MixtureOfExperts;
  struct Layer;  // of the call that runs

  static Layer layer_of(const Args& args, const ExpertTable& table, std::size_t n_tokens);
  Result<void> reserve(const Args& args, const ExpertTable& table, std::size_t n_tokens);
  Result<void> run_tokens(const Args& args, const ExpertTable& table, float* x,
                          std::size_t n_tokens);
  Result<void> route(const Args& args, const Layer& layer, const float* x);
  Result<void> make_integers(const Args& args, const Layer& layer, const float* x);
  Result<void> make_halves(const Args& args, const Layer& layer, const float* x);
  Result<void> choose(const Args& args, const Layer& layer);
  Result<void> multiply(const Args& args, const Layer& layer);
  Result<void> check(cudaError_t error) { return device_->check(error); }

  Device* device_;
  LayerProducts* products_;
  ExpertTables tables_;
  Buffer work_, has_nan_;
  bool has_run_ = false;  // since the last check()
};

}  // namespace satchel::kernels::cuda
