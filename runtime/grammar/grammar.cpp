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

}  // namespace

Grammar Grammar::behind(const AnswerOpening& opening) const {
  if (opening.think_end.empty() && !opening.drops_space) return *this;
  StepList steps(steps_);
  const StepList::At answer = start_;
  StepList::At begin = answer;
  if (!opening.think_end.empty()) {
    const StepList::At thoughts = steps.until(opening.think_end, spaces(steps, kSpacesMax, answer));
    begin = opening.is_thinking
                ? thoughts
                : steps.fork(steps.text(opening.answer_begin, answer),
                             spaces(steps, kSpacesMax, steps.text(opening.think_begin, thoughts)));
  }
  if (opening.drops_space) begin = steps.fork(begin, steps.byte(' ', ' ', begin));
  return {steps.take(), begin};
}

}  // namespace satchel::runtime
