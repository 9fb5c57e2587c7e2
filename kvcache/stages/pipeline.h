// Pipeline: the stages of one recipe, made and checked.
//   needs   a recipe whose trigger can fire names every stage; one that never fires only trigger,
//           codec and reader
//   threads const: shared by all caches of the recipe
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "kernels/contract/page_layout.h"
#include "kvcache/recipes/json.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

class Pipeline {
 public:
  static Result<Pipeline> make(const JsonNode& recipe, std::string_view called);

  double keep() const { return keep_; }
  bool can_evict() const { return keep_ < 1; }
  bool evicts(std::size_t n_new_tokens) const;
  Result<kernels::PageLayout> page_layout(std::size_t head_dim) const;

  // Only where can_evict().
  const Scorer& scorer() const { return *scorer_; }
  const Assigner& assigner() const { return *assigner_; }
  const Merger& merger() const { return *merger_; }
  // The tokens at both ends of the span that no filter lets go: their number.
  std::size_t n_protected(const TokenSpan& span) const;
  Result<void> filter(kernels::Backend& backend, const TokenSpan& span, float* scores) const;
  void allocate(const TokenSpan& span, std::span<std::size_t> budgets) const;

  const Reader& reader() const { return *reader_; }

 private:
  Pipeline() = default;
  Result<void> check_protection(std::string_view called, std::size_t line) const;

  double keep_ = 1;
  std::unique_ptr<Trigger> trigger_;
  std::unique_ptr<Scorer> scorer_;
  std::vector<std::unique_ptr<Filter>> filters_;
  std::unique_ptr<Allocator> allocator_;
  std::unique_ptr<Assigner> assigner_;
  std::unique_ptr<Merger> merger_;
  std::unique_ptr<Codec> k_codec_, v_codec_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace satchel::kvcache
