#include "runtime/grammar/grammar_builder.h"

#include <algorithm>
#include <utility>

#include "kernels/base/size_text.h"
#include "runtime/grammar/rule_checks.h"

namespace satchel::runtime {
namespace {

// What is used more often than once becomes a rule, unless calling it takes as many steps.
constexpr std::size_t kTextToShare = 2;

}  // namespace

Error bad_grammar(const TextPlace& place, const std::string& what) {
  const std::string where = place.line == 0 ? ""
                                            : "Line " + std::to_string(place.line) + ", column " +
                                                  std::to_string(place.column) + ": ";
  return {ErrorKind::invalid, "GRAMMAR", where + what};
}

GrammarBuilder::Node GrammarBuilder::add(Expression expression) {
  expressions_.push_back(std::move(expression));
  return expressions_.size() - 1;
}

GrammarBuilder::Node GrammarBuilder::text(std::string_view bytes) {
  return add({.kind = Kind::text, .bytes = std::string(bytes)});
}

GrammarBuilder::Node GrammarBuilder::one_of(CodePoints characters) {
  return add({.kind = Kind::one_of, .characters = std::move(characters)});
}

GrammarBuilder::Node GrammarBuilder::sequence(std::vector<Node> parts) {
  return add({.kind = Kind::sequence, .parts = std::move(parts)});
}

GrammarBuilder::Node GrammarBuilder::any_of(std::vector<Node> choices) {
  return add({.kind = Kind::any_of, .parts = std::move(choices)});
}

GrammarBuilder::Node GrammarBuilder::repeat(Node what, std::size_t least, std::size_t most) {
  return add({.kind = Kind::repeat, .parts = {what}, .least = least, .most = most});
}

GrammarBuilder::Node GrammarBuilder::until(std::string_view mark) {
  return add({.kind = Kind::until, .bytes = std::string(mark)});
}

GrammarBuilder::Node GrammarBuilder::without(std::string_view mark) {
  return add({.kind = Kind::without, .bytes = std::string(mark)});
}

std::size_t GrammarBuilder::rule_index(const std::string& name, const TextPlace& place) {
  const auto [found, is_new] = by_name_.try_emplace(name, rules_.size());
  if (is_new) rules_.push_back({.name = name, .place = place});
  return found->second;
}

GrammarBuilder::Node GrammarBuilder::rule(const std::string& name, const TextPlace& place) {
  return add({.kind = Kind::rule, .rule = rule_index(name, place)});
}

bool GrammarBuilder::define(const std::string& name, Node node, const TextPlace& place) {
  Rule& rule = rules_[rule_index(name, place)];
  if (rule.node) return false;
  rule.node = node;
  rule.place = place;
  return true;
}

bool GrammarBuilder::is_defined(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found != by_name_.end() && rules_[found->second].node.has_value();
}

Error GrammarBuilder::too_large() const {
  return bad_grammar({}, "The grammar takes more than " + count_text(Grammar::kStepsMax) +
                             " steps. Lower the counts of its repetitions, or make it shorter.");
}

Result<Grammar> GrammarBuilder::compile(const std::string& root) {
  const std::size_t first = rule_index(root, {});
  for (const Rule& rule : rules_)
    if (!rule.node)
      return bad_grammar(
          rule.place, "There is no rule \"" + rule.name + "\". Define it: " + rule.name + " ::= …");
  std::swap(rules_[0], rules_[first]);  // for check_rules()
  for (Expression& one : expressions_)
    if (one.kind == Kind::rule && (one.rule == 0 || one.rule == first))
      one.rule = one.rule == 0 ? first : 0;
  by_name_.clear();

  StepList steps;
  const StepList::At end = steps.end();
  for (std::size_t i = 0; i < rules_.size() && !steps.is_full(); ++i) {  // they become more
    const StepList::At entry = emit(steps, *rules_[i].node, end);
    rules_[i].entry = entry;
  }
  if (steps.is_full()) return too_large();
  std::vector<std::uint32_t> entries;
  for (const Rule& rule : rules_) entries.push_back(rule.entry);
  for (StepList::At at = 0; at < steps.size(); ++at)
    if (steps.at(at).kind == GrammarStep::Kind::call)
      steps.at(at).other = entries[steps.at(at).other];
  std::vector<GrammarStep> made = steps.take();

  const RuleChecks checks = check_rules(made, entries);
  if (checks.endless) {
    const Rule& rule = rules_[*checks.endless];
    return bad_grammar(rule.place,
                       "The rule \"" + rule.name +
                           "\" can never end: each of its choices calls it again, or has no text. "
                           "Give it one that ends.");
  }
  if (!checks.circle.empty()) return left_recursion(checks.circle);
  return Grammar(std::move(made), entries[0]);
}

// Rules without a name are repeated parts of others.
Error GrammarBuilder::left_recursion(const std::vector<std::size_t>& circle) const {
  const Rule* first = nullptr;
  std::string names;
  for (const std::size_t i : circle) {
    if (rules_[i].name.empty()) continue;
    if (first == nullptr) first = &rules_[i];
    names += rules_[i].name + " → ";
  }
  if (first == nullptr) first = &rules_[0];
  return bad_grammar(first->place, "The rule \"" + first->name + "\" begins with itself (" + names +
                                       first->name +
                                       "). Write it as a repetition: list ::= item (\",\" item)*.");
}

GrammarBuilder::Node GrammarBuilder::shared(Node node) {
  const Expression& what = expressions_[node];
  if (what.kind == Kind::rule || (what.kind == Kind::text && what.bytes.size() <= kTextToShare))
    return node;
  if (const auto found = shared_.find(node); found != shared_.end()) return found->second;
  rules_.push_back({.name = "", .place = {}, .node = node});
  const Node called = add({.kind = Kind::rule, .rule = rules_.size() - 1});
  shared_[node] = called;
  return called;
}

StepList::At GrammarBuilder::emit(StepList& steps, Node node, StepList::At next) {
  if (steps.is_full()) return next;
  const Expression what = expressions_[node];  // a copy: shared() adds others
  switch (what.kind) {
    case Kind::text:
      return steps.text(what.bytes, next);
    case Kind::one_of:
      return what.characters.spell(steps, next);
    case Kind::sequence:
      for (std::size_t i = what.parts.size(); i-- > 0;) next = emit(steps, what.parts[i], next);
      return next;
    case Kind::any_of:
      return emit_any(steps, what, next);
    case Kind::repeat:
      return emit_repeat(steps, what, next);
    case Kind::until:
      return steps.until(what.bytes, next);
    case Kind::without:
      return steps.without(what.bytes, next);
    case Kind::rule:
      return steps.call(static_cast<StepList::At>(what.rule), next);
  }
  return next;
}

StepList::At GrammarBuilder::emit_any(StepList& steps, const Expression& what, StepList::At next) {
  if (what.parts.empty()) return steps.byte(1, 0, next);  // no byte is in this range
  StepList::At all = emit(steps, what.parts.back(), next);
  for (std::size_t i = what.parts.size() - 1; i-- > 0 && !steps.is_full();)
    all = steps.fork(emit(steps, what.parts[i], next), all);
  return all;
}

StepList::At GrammarBuilder::emit_repeat(StepList& steps, const Expression& what,
                                         StepList::At next) {
  const bool is_open = what.most == kNoEnd;
  const std::size_t n_copies = is_open ? what.least : what.most;
  const Node one = n_copies > 1 ? shared(what.parts[0]) : what.parts[0];
  StepList::At at = next;
  if (is_open) {
    const StepList::At again = steps.fork(next, next);
    const StepList::At body = emit(steps, one, again);
    if (!steps.is_full()) steps.at(again).next = body;
    at = again;
  } else {
    for (std::size_t i = what.least; i < what.most && !steps.is_full(); ++i)
      at = steps.fork(emit(steps, one, at), next);
  }
  for (std::size_t i = 0; i < what.least && !steps.is_full(); ++i) at = emit(steps, one, at);
  return at;
}

}  // namespace satchel::runtime
