// A chat that is closed and opened again after each message says, token for token, what it says
// without that: for every recipe, after 1, 5 and 20 rounds.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support/usable_recipes.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

class Rounds : public ChatTest, public testing::WithParamInterface<std::string> {
 protected:
  static constexpr std::size_t kRounds = 20;
  using Ids = std::vector<std::int32_t>;

  // The ids after 1, 5 and 20 rounds.
  std::map<std::size_t, Ids> talk(bool is_closed_each_time) {
    journal_ = {};
    records_ = {};
    std::map<std::size_t, Ids> seen;
    std::unique_ptr<Session> session = open(GetParam());
    value_of(session->add_document("notes", held_out_notes()));
    value_of(session->read({}, {}));
    value_of(session->save());
    for (std::size_t round = 1; round <= kRounds; ++round) {
      if (is_closed_each_time) {
        session = open(GetParam());
        const ResumeReport report = resume(*session);
        EXPECT_EQ(report.reason, kvcache::RereadReason::none) << report.message;
        EXPECT_EQ(report.n_reread, 0u) << "round " << round;
      }
      ask(*session, held_out_questions().at(round % 4), 3);
      if (round == 5 || round == 15) idle(*session);
      value_of(session->save());
      if (round == 1 || round == 5 || round == kRounds)
        seen[round] = {session->tokens().begin(), session->tokens().end()};
    }
    return seen;
  }
};

TEST_P(Rounds, of_closing_and_opening_change_no_token) {
  const std::map<std::size_t, Ids> uninterrupted = talk(false);
  for (const auto& [round, ids] : talk(true)) EXPECT_EQ(ids, uninterrupted.at(round)) << round;
}

INSTANTIATE_TEST_SUITE_P(Recipes, Rounds, testing::ValuesIn(test::usable_recipes()),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace satchel::runtime
