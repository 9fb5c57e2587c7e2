// Params: what a recipe gives one stage, read by name with a type, a range and a default. A key that
// no read() asked for is an error, so a slip of the pen is found.
//   errors  invalid, RECIPE: `balanced.json line 7: "bits" must be 2, 4 or 8, is 5.`
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "kvcache/recipes/json.h"

namespace satchel::kvcache {

class Params {
 public:
  // `node` must outlive this; a string stands for a stage without parameters.
  Params(const JsonNode& node, std::string_view called) : node_(node), called_(called) {}

  struct CountRange {
    std::size_t fallback = 0, min = 0, max = 0;
  };
  Result<std::size_t> count(std::string_view key, CountRange range);
  Result<std::size_t> one_of(std::string_view key, std::size_t fallback,
                             std::initializer_list<std::size_t> allowed);
  Result<bool> flag(std::string_view key, bool fallback);
  struct NumberRange {
    double fallback = 0, min = 0, max = 0;
  };
  Result<double> number(std::string_view key, NumberRange range);
  // Fails if the recipe has a key that was not asked for.
  Result<void> check_all_known() const;
  // What a stage asked for, in its order: all it can be given.
  struct Asked {
    std::string key, fallback;  // the fallback as JSON
    std::string allowed;        // "2, 4 or 8"
  };
  std::span<const Asked> asked() const { return asked_; }

 private:
  // The node of `key`, or null.
  const JsonNode* take(std::string_view key, std::string fallback, std::string allowed);
  Error wrong(const JsonNode& node) const;  // of what was asked for last

  const JsonNode& node_;
  std::string called_;
  std::vector<Asked> asked_;
};

}  // namespace satchel::kvcache
