// Answers with drafts from the text before: token for token those without, for every recipe, greedy
// and drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "runtime/sampler/lookup_drafts.h"
#include "support/usable_recipes.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::runtime {
namespace {

struct Talk {
  std::vector<std::int32_t> ids;
  DraftCounts drafts;
  std::size_t n_tokens = 0;
  std::size_t n_accepted_at_fixed_times = 0;  // of the same answers, a draft takes .1 of a step
};

// What the session does, of the answer from `begin` on, without a model and its times.
std::size_t n_accepted_at_fixed_times(std::span<const std::int32_t> ids, std::size_t begin) {
  LookupDrafts drafts;
  for (std::size_t at = begin; at < ids.size();) {
    const auto left = ids.subspan(at);
    const auto tried = drafts.after(ids.first(at), left.size() - 1);
    const auto end = std::ranges::mismatch(tried, left).in1;
    const auto n_accepted = static_cast<std::size_t>(end - tried.begin());
    drafts.took(1 + 0.1 * static_cast<double>(tried.size()),
                {.n_drafted = tried.size(), .n_accepted = n_accepted});
    at += 1 + n_accepted;
  }
  return drafts.counts().n_accepted;
}

class Drafts : public ChatTest, public testing::WithParamInterface<std::string> {
 protected:
  Talk talk(const std::string& recipe, Sampling sampling) {
    journal_ = {};
    const std::unique_ptr<Session> session = open(recipe);
    value_of(session->add_document("notes", held_out_notes()));
    Talk out;
    for (const std::string& question : held_out_questions()) {
      value_of(session->add_user(question));
      const std::size_t n_before = session->tokens().size();
      const GenerateReport report = value_of(session->generate(sampling, {}, {}, {}));
      EXPECT_EQ(session->n_read(), session->tokens().size());
      out.drafts.n_drafted += report.drafts.n_drafted;
      out.drafts.n_accepted += report.drafts.n_accepted;
      out.n_tokens += report.n_tokens;
      out.n_accepted_at_fixed_times += n_accepted_at_fixed_times(session->tokens(), n_before);
    }
    expect_journal_holds(*session);
    out.ids.assign(session->tokens().begin(), session->tokens().end());
    return out;
  }
  static Sampling without(Sampling sampling) {
    sampling.drafts = false;
    return sampling;
  }
  static Sampling by_the_model(Sampling sampling) {
    sampling.self_draft_pages = 1;
    return without(sampling);
  }
};

TEST_P(Drafts, change_no_token) {
  const Sampling greedy = Sampling::plain_greedy(40);
  const Sampling drawn{.temperature = 1, .seed = 5, .n_tokens_max = 40};
  for (const Sampling& sampling : {greedy, drawn}) {
    const Talk with = talk(GetParam(), sampling), plain = talk(GetParam(), without(sampling));
    EXPECT_EQ(with.ids, plain.ids);
    EXPECT_EQ(talk(GetParam(), by_the_model(sampling)).ids, plain.ids);
    EXPECT_GT(with.n_tokens, 20u);
    EXPECT_EQ(plain.drafts.n_drafted, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Recipes, Drafts, testing::ValuesIn(test::usable_recipes()),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

using SomeDrafts = Drafts;

TEST_F(SomeDrafts, are_accepted_where_an_answer_quotes) {
  const Talk with = talk("balanced", Sampling::plain_greedy(40));
  EXPECT_GT(with.n_accepted_at_fixed_times, 5u);
  // In the session, how many are tried follows the measured time of a step.
  EXPECT_GT(with.drafts.n_accepted, 0u);
  EXPECT_GE(with.drafts.n_drafted, with.drafts.n_accepted);
}

TEST_F(SomeDrafts, come_from_the_model_itself_where_it_is_asked_to) {
  const Talk with = talk("balanced", by_the_model(Sampling::plain_greedy(40)));
  EXPECT_GT(with.drafts.n_accepted, 0u);
}

TEST_F(SomeDrafts, end_where_the_listener_has_heard_enough) {
  for (std::size_t n_heard = 1; n_heard < 12; ++n_heard) {
    std::string said[2];
    std::vector<std::int32_t> ids[2];
    for (const bool drafts : {false, true}) {
      journal_ = {};
      const std::unique_ptr<Session> session = open("balanced");
      value_of(session->add_document("notes", held_out_notes()));
      value_of(session->add_user(held_out_questions()[0]));
      Sampling sampling = Sampling::plain_greedy(40);
      sampling.drafts = drafts;
      std::size_t n = 0;
      const GenerateReport report = value_of(session->generate(
          {.sampling = sampling, .delta = [&](std::string_view) { return ++n < n_heard; }}));
      value_of(session->add_user(held_out_questions()[1]));
      said[drafts] = report.text + value_of(session->generate(sampling, {}, {}, {})).text;
      ids[drafts].assign(session->tokens().begin(), session->tokens().end());
    }
    EXPECT_EQ(said[1], said[0]);
    EXPECT_EQ(ids[1], ids[0]);
  }
}

}  // namespace
}  // namespace satchel::runtime
