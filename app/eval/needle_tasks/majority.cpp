// What most people do, in a text in which nothing else is said: no single sentence tells, so much
// of the text must be left (the global information of SCBench, arXiv:2412.10319).
#include "app/eval/needle_tasks/haystack.h"
#include "app/eval/needle_tasks/words.h"

namespace satchel::eval {
namespace {

struct Habit {
  std::string_view does;
  std::string_view what[4];
};
constexpr Habit kHabits[] = {{"wears", {"blue", "green", "red", "white"}},
                             {"feeds", {"dogs", "cats", "horses", "ducks"}},
                             {"picks", {"apples", "pears", "plums", "cherries"}},
                             {"drinks", {"tea", "coffee", "milk", "wine"}},
                             {"prefers", {"spring", "summer", "autumn", "winter"}}};
constexpr std::size_t kHabitCount = std::size(kHabits);
constexpr std::size_t kOthersOf = std::size(kHabits[0].what) - 1;

}  // namespace

std::vector<std::string> habit_sentences(Rng& rng, std::size_t n, std::vector<Needle>& asked) {
  constexpr std::size_t kMost = 8, kOf = 10;  // of ten people
  std::vector<std::vector<std::string_view>> what;
  for (const Habit& habit : kHabits) {
    what.push_back(draw(rng, habit.what, std::size(habit.what)));  // the first one is the most's
    asked.push_back(
        {.ask = " Bertram " + std::string(habit.does), .values = {std::string(what.back()[0])}});
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t habit = i % kHabitCount, turn = i / kHabitCount;
    const std::size_t which = turn % kOf < kMost ? 0 : 1 + turn % kOthersOf;
    const auto names = draw_below(rng, 2) == 0 ? std::span<const std::string_view>(kMen)
                                               : std::span<const std::string_view>(kWomen);
    out.push_back(std::string(names[draw_below(rng, names.size())]) + " " +
                  std::string(kHabits[habit].does) + " " + std::string(what[habit][which]) + ".");
  }
  shuffle(rng, out);
  return out;
}

NeedleContext make_majority(Rng& rng, std::size_t size) {
  constexpr std::size_t kAtLeast = 50;
  NeedleContext out;
  out.parts = {hide(rng, {}, habit_sentences(rng, kAtLeast + size, out.needles))};
  shuffle(rng, out.needles);
  return out;
}

}  // namespace satchel::eval
