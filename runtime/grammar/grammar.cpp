#include "runtime/grammar/grammar.h"

#include "runtime/grammar/step_list.h"

namespace satchel::runtime {
namespace {

// Up to n white space, then `next`.
StepList::At spaces(StepList& steps, std::size_t n, StepList::At next) {
  StepList::At at = next;
  for (std::size_t i = 0; i < n; ++i)
    at = steps.fork(next, steps.fork(steps.byte(' ', ' ', at),
                                     steps.fork(steps.byte('\t', '\n', at),  // the two side by side
                                                steps.byte('\r', '\r', at))));
  return at;
}

// Where each part of what is said has a mark: thoughts, as often as they come, then the answer.
StepList::At behind_marks(StepList& steps, const AnswerOpening& opening, bool has_answer_mark,
                          StepList::At answer) {
  const StepList::At again = steps.fork(answer, answer);  // to the beginning, which is made later
  const StepList::At thoughts = steps.until(opening.think_end, again);
  const StepList::At marked = has_answer_mark ? answer : steps.text(opening.answer_begin, answer);
  const StepList::At begin = steps.fork(marked, steps.text(opening.think_begin, thoughts));
  if (!steps.is_full()) steps.at(again) = steps.at(begin);
  return opening.is_thinking ? thoughts : begin;
}

}  // namespace

Grammar Grammar::behind(const AnswerOpening& opening) const {
  if (opening.think_end.empty() && !opening.drops_space) return *this;
  StepList steps(steps_);
  const StepList::At answer = start_;
  StepList::At begin = answer;
  if (!opening.answer_begin.empty()) {
    begin = behind_marks(steps, opening, has_answer_mark_, answer);
  } else if (!opening.think_end.empty()) {
    const StepList::At thoughts = steps.until(opening.think_end, spaces(steps, kSpacesMax, answer));
    begin = opening.is_thinking
                ? thoughts
                : steps.fork(answer,
                             spaces(steps, kSpacesMax, steps.text(opening.think_begin, thoughts)));
  }
  if (opening.drops_space) begin = steps.fork(begin, steps.byte(' ', ' ', begin));
  return {steps.take(), begin};
}

}  // namespace satchel::runtime
