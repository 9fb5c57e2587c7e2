// Recipe: one published (or the user's own) system as data: a choice per stage with parameters,
// read from a small JSON text.
//   trigger -> scorer -> filter -> allocator -> assigner -> merger -> codec (K, V) -> reader
//   errors  invalid, code RECIPE: names the recipe, the place and what would be right
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/base/result.h"

namespace satchel::kvcache {

struct BuiltinRecipe {
  std::string_view name, json;
};
std::span<const BuiltinRecipe> builtin_recipes();  // by name

class Pipeline;  // stages/pipeline.h: the stages, made and checked

class Recipe {
 public:
  // `called` stands at the head of messages: a file's name.
  static Result<Recipe> parse(std::string_view json, std::string_view called = "recipe");
  static Result<Recipe> builtin(std::string_view name);
  // The same recipe with another share of tokens kept, (0, 1]. A recipe that never evicts refuses
  // all but 1.
  Result<Recipe> with_keep(double keep) const;

  // What it comes down to where memory is short: its last codec, its least share, and no step further.
  // Itself where it allows nothing.
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
