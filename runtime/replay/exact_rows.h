// ExactRows: the last hidden states of a text as it was first read and samples of its attention
// (MeasuredRows), retained in the arena until the text has been compressed and can be compared.
//   invariants  holds one extent of the arena while !empty(), otherwise none; the destructor gives
//               it back, so it must run before the arena's
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>

#include "runtime/fidelity/fidelity.h"
#include "runtime/model/model.h"

namespace satchel::runtime {

class ExactRows {
 public:
  // The model outlives this.
  explicit ExactRows(Model& model) : model_(model) {}
  ~ExactRows() { drop(); }
  ExactRows(const ExactRows&) = delete;

  // Copies what read_prompt kept of the last n_tokens of the cache's text. Without memory for it
  // nothing is retained and the text will not be measured; that is no error.
  //   needs   empty()
  Result<void> keep(kvcache::Cache& cache, std::size_t n_tokens, const std::byte* kept);
  void drop();

  bool empty() const { return n_ == 0; }
  std::size_t n() const { return n_; }      // rows
  std::size_t end() const { return end_; }  // position behind the last one's token
  std::size_t bytes() const;                // of the arena

  // Compares what the cache, whose text is `tokens`, holds now with the first prefill.
  //   needs   !empty()
  Result<Fidelity> compare(kvcache::Cache& cache, std::span<const std::int32_t> tokens,
                           const std::stop_token& stop) const;

 private:
  Model& model_;
  kvcache::Arena* arena_ = nullptr;
  kvcache::ExtentId extent_ = {};
  std::size_t end_ = 0, n_ = 0;
};

}  // namespace satchel::runtime
