// Recipe: a published or user-defined compression method as data: one choice per stage with
// parameters, read from a small JSON text.
//   trigger -> scorer -> filter -> allocator -> assigner -> merger -> codec (K, V) -> reader
//   errors  invalid, code RECIPE: names the recipe, the place and the expected value
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace satchel::kvcache {

struct BuiltinRecipe {
  std::string_view name, json;
};
std::span<const BuiltinRecipe> builtin_recipes();  // by name

class Pipeline;  // recipes/pipeline.h: the stages, constructed and checked

class Recipe {
 public:
  // Messages begin with `called`, for example a file name.
  static Result<Recipe> parse(std::string_view json, std::string_view called = "recipe");
  static Result<Recipe> builtin(std::string_view name);
  // The same recipe with another share of retained tokens, (0, 1]. A recipe that never evicts
  // accepts only 1.
  Result<Recipe> with_keep(double keep) const;

  // The same recipe with at least so many bits for each number of keys and of values: codecs of
  // fewer become klt at 8 bits, or exact above that; steps under memory pressure that then change
  // nothing go.
  Result<Recipe> with_bits_from(std::size_t k_bits, std::size_t v_bits) const;

  // The recipe after all its steps under memory pressure: its last codec, its smallest share, and
  // no further steps. The recipe itself if it allows none.
  Result<Recipe> at_floor() const;

  const std::string& name() const { return name_; }
  const std::string& source() const { return source_; }
  const std::string& differs() const { return differs_; }
  double keep() const { return keep_; }              // share of a span's tokens kept on average
  const std::string& json() const { return json_; }  // canonical: keys sorted, no blanks
  const std::string& hash() const { return hash_; }  // xxh3-128 of json(), hex
  const Pipeline& pipeline() const { return *pipeline_; }

 private:
  Recipe() = default;
  std::string name_, source_, differs_, json_, hash_;
  double keep_ = 1;
  std::shared_ptr<const Pipeline> pipeline_;
};

}  // namespace satchel::kvcache
