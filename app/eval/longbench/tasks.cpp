#include "app/eval/longbench/tasks.h"

#include <algorithm>

#include "kernels/base/assert.h"

namespace satchel::eval::longbench {
namespace {

constexpr std::string_view kContext = "{context}", kInput = "{input}";

std::string_view without_newlines_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}

}  // namespace

const Dataset* find_dataset(std::string_view name) {
  if (name.ends_with("_e")) name.remove_suffix(2);
  const auto found = std::ranges::find(datasets(), name, &Dataset::name);
  return found == datasets().end() ? nullptr : &*found;
}

Prompt prompt_of(const Dataset& dataset, std::string_view context, std::string_view input) {
  const std::size_t context_at = dataset.prompt.find(kContext);
  SATCHEL_ASSERT(context_at != dataset.prompt.npos);
  Prompt out{std::string(dataset.prompt.substr(0, context_at)),
             std::string(dataset.prompt.substr(context_at + kContext.size())), false};
  out.context += context;
  const std::size_t input_at = out.question.find(kInput);
  if (input_at != out.question.npos) out.question.replace(input_at, kInput.size(), input);
  return out;
}

bool said_enough(const Dataset& dataset, std::string_view said) {
  if (dataset.judged == Judged::all) return false;
  said = without_newlines_before(said);
  // Line by line, as long as they are whole.
  for (std::size_t end = said.find('\n'); end != said.npos; end = said.find('\n')) {
    const std::string_view line = said.substr(0, end);
    if (dataset.judged == Judged::first_line || is_code(line)) return true;
    said.remove_prefix(end + 1);
  }
  return false;
}

double score(const Dataset& dataset, std::string_view said, std::span<const std::string> answers,
             std::span<const std::string> classes) {
  if (dataset.judged == Judged::first_line) {
    said = without_newlines_before(said);
    said = said.substr(0, said.find('\n'));
  }
  double best = 0;
  for (const std::string& truth : answers)
    best = std::max(best, dataset.metric != nullptr ? dataset.metric(said, truth)
                                                    : classification(said, truth, classes));
  return best;
}

}  // namespace satchel::eval::longbench
