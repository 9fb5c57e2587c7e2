// GrammarBuilder: a grammar as a tree of expressions, and its compilation.
//   errors  compile(): invalid, GRAMMAR: a rule is missing, begins with itself or can never end;
//           or there are too many steps (Grammar::kStepsMax)
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/grammar/code_points.h"
#include "runtime/grammar/grammar.h"

namespace satchel::runtime {

// In a text, from 1; 0: none.
struct TextPlace {
  std::size_t line = 0, column = 0;
};
Error bad_grammar(const TextPlace& place, const std::string& what);

class GrammarBuilder {
 public:
  using Node = std::size_t;
  static constexpr std::size_t kNoEnd = std::numeric_limits<std::size_t>::max();
  // Of whoever reads a text: what a repetition counts up to, and groups inside one another.
  static constexpr std::size_t kCountMax = 100'000, kGroupsMax = 64;

  Node text(std::string_view bytes);
  Node one_of(CodePoints characters);
  Node sequence(std::vector<Node> parts);
  Node any_of(std::vector<Node> choices);
  Node repeat(Node what, std::size_t least, std::size_t most = kNoEnd);
  Node maybe(Node what) { return repeat(what, 0, 1); }
  Node until(std::string_view mark);    // the shortest text that ends with it
  Node without(std::string_view mark);  // a text in which it does not stand
  // May be defined later. place: of its first use, for messages
  Node rule(const std::string& name, const TextPlace& place = {});
  // False: it has been defined.
  bool define(const std::string& name, Node node, const TextPlace& place = {});
  bool is_defined(const std::string& name) const;

  Result<Grammar> compile(const std::string& root);

 private:
  enum class Kind { text, one_of, sequence, any_of, repeat, until, without, rule };
  struct Expression {
    Kind kind = Kind::text;
    std::string bytes = {};
    CodePoints characters = {};
    std::vector<Node> parts = {};
    std::size_t least = 0, most = 0;
    std::size_t rule = 0;
  };
  struct Rule {
    std::string name;
    TextPlace place;
    std::optional<Node> node = {};
    StepList::At entry = 0;
  };

  Node add(Expression expression);
  std::size_t rule_index(const std::string& name, const TextPlace& place);
  StepList::At emit(StepList& steps, Node node, StepList::At next);
  StepList::At emit_repeat(StepList& steps, const Expression& what, StepList::At next);
  StepList::At emit_any(StepList& steps, const Expression& what, StepList::At next);
  Node shared(Node node);  // as a rule of its own where it is used often
  Error too_large() const;
  Error left_recursion(const std::vector<std::size_t>& circle) const;

  std::vector<Expression> expressions_;
  std::vector<Rule> rules_;
  std::map<std::string, std::size_t> by_name_;
  std::map<Node, Node> shared_;
};

}  // namespace satchel::runtime
