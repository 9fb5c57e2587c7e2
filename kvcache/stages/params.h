// Params: the parameters of one stage in a recipe. Each is read by name with a type, a range and a
// default. A key that the stage did not read is an error, so that typos are found.
//   errors  invalid, RECIPE: `balanced.json line 7: "bits" must be 2, 4 or 8, but is 5.`
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "kvcache/base/json.h"

namespace satchel::kvcache {

class Params {
 public:
  // `node` must outlive this. A string node is a stage without parameters.
  Params(const JsonNode& node, std::string_view called) : node_(node), called_(called) {}

  template <class T>
  struct Range {
    T fallback = 0, min = 0, max = 0;
  };
  Result<std::size_t> count(std::string_view key, Range<std::size_t> range);
  Result<std::size_t> one_of(std::string_view key, std::size_t fallback,
                             std::initializer_list<std::size_t> allowed);
  Result<bool> flag(std::string_view key, bool fallback);
  Result<double> number(std::string_view key, Range<double> range);
  // Fails if the recipe has a key that the stage did not read.
  Result<void> check_all_known() const;
  // The parameters that a stage read, in its order: all that it supports.
  struct Asked {
    std::string key, fallback;  // the fallback as JSON
    std::string allowed;        // "2, 4 or 8"
  };
  std::span<const Asked> asked() const { return asked_; }

 private:
  // The node of `key`, or null.
  const JsonNode* take(std::string_view key, std::string fallback, std::string allowed);
  Error wrong(const JsonNode& node) const;  // for the parameter read last

  const JsonNode& node_;
  std::string called_;
  std::vector<Asked> asked_;
};

}  // namespace satchel::kvcache
