// Sequences that share pages: the CPU reads each split of them once for all (attend_plan.h), and
// each gets the bits that it gets alone.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/dispatch/attend_plan.h"
#include "support/backends.h"
#include "support/lanes.h"
#include "support/mixed_bit.h"
#include "support/questions.h"

namespace satchel::kernels {
namespace {

using test::Answer;
using test::ask;
using test::ask_all;
using test::LaneFixture;
using test::Question;

constexpr std::size_t kSplit = cpu::AttendPlan::kSplitUnits;

// The first n_shared pages of a lane, then all of another; layouts are the chat's own, as a
// branch's are.
class Chat {
 public:
  Chat(const LaneFixture& document, std::size_t n_shared, const LaneFixture& own)
      : layout_(*document.view().pages.front().layout) {
    for (PageView page : document.view().pages.first(n_shared)) {
      page.layout = &layout_;
      pages_.push_back(page);
    }
    pages_.insert(pages_.end(), own.view().pages.begin(), own.view().pages.end());
    runs_.assign(own.view().runs.begin(), own.view().runs.end());
    end_position_ = own.end_position();
  }
  Chat(const Chat&) = delete;
  LaneView view() const { return {.runs = runs_, .pages = pages_}; }
  std::vector<PageView>& pages() { return pages_; }
  std::int32_t end_position() const { return end_position_; }

 private:
  PageLayout layout_;
  std::vector<PageView> pages_;
  std::vector<ExactRun> runs_;
  std::int32_t end_position_ = 0;
};

std::vector<PageShape> every_kind() {
  PageShape hadamard = test::affine_pages(4);
  hadamard.k.transform = hadamard.v.transform = Transform::hadamard;
  const PageShape mixed_bit{.k = test::graded_operand({6, 5, 4, 4, 4, 3, 3, 3}),
                            .v = test::affine_operand(4, 16)};
  return {test::affine_pages(16),
          test::affine_pages(2),
          test::affine_pages(3),
          test::affine_pages(4),
          test::affine_pages(8),
          hadamard,
          mixed_bit};
}

// Four chats of one document, of which the last goes on from its first half only.
class Chats {
 public:
  static constexpr std::size_t kChats = 4;

  explicit Chats(const PageShape& page, std::int32_t shift = 0, std::size_t n_pages = 2 * kSplit)
      : document_({.n_pages = n_pages, .page = page, .dead_every = 7, .shift = shift}) {
    for (std::size_t i = 0; i < kChats; ++i)
      own_.push_back(std::make_unique<LaneFixture>(
          LaneFixture::Shape{.n_pages = i,
                             .n_last = 5 + 3 * i,
                             .page = page,
                             .first_position = document_.end_position(),
                             .seed = 20 + i}));
    for (std::size_t i = 0; i < kChats; ++i)
      chats_.push_back(
          std::make_unique<Chat>(document_, i + 1 < kChats ? n_pages : n_pages / 2, *own_[i]));
  }
  Chat& operator[](std::size_t i) { return *chats_[i]; }
  std::vector<std::vector<LaneView>> lanes() const {
    std::vector<std::vector<LaneView>> out;
    for (const auto& chat : chats_) out.push_back({chat->view()});
    return out;
  }
  std::vector<Question> questions(std::size_t n_group) const {
    std::vector<Question> out;
    for (std::size_t i = 0; i < kChats; ++i)
      out.push_back({.n_tokens = 1,
                     .n_group = n_group,
                     .first_position = chats_[i]->end_position(),
                     .seed = 30 + i});
    return out;
  }

 private:
  LaneFixture document_;
  std::vector<std::unique_ptr<LaneFixture>> own_;
  std::vector<std::unique_ptr<Chat>> chats_;
};

class EveryJointSplit : public test::OnEveryBackend {
 protected:
  void expect_as_alone(const std::vector<Question>& questions,
                       const std::vector<std::vector<LaneView>>& lanes) {
    const Answer all = ask_all(backend(), questions, lanes);
    std::vector<float> out, lse;
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const Answer one = ask(backend(), questions[i], lanes[i]);
      out.insert(out.end(), one.out.begin(), one.out.end());
      lse.insert(lse.end(), one.lse.begin(), one.lse.end());
    }
    EXPECT_EQ(all.out, out);
    EXPECT_EQ(all.lse, lse);
  }
};

TEST_P(EveryJointSplit, gives_each_chat_the_bits_that_it_gets_alone) {
  const std::vector<PageShape> kinds = every_kind();
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    for (const std::size_t n_group : {1u, 3u, 8u}) {
      SCOPED_TRACE(std::to_string(kind) + ", heads " + std::to_string(n_group));
      Chats chats(kinds[kind]);
      expect_as_alone(chats.questions(n_group), chats.lanes());
    }
}

TEST_P(EveryJointSplit, of_moved_pages_and_of_several_tokens_likewise) {
  Chats chats(test::affine_pages(4), 5);
  std::vector<Question> questions = chats.questions(3);
  expect_as_alone(questions, chats.lanes());
  for (Question& question : questions) question.n_tokens = 3;
  expect_as_alone(questions, chats.lanes());
}

TEST_P(EveryJointSplit, under_a_window_likewise) {
  Chats chats(test::affine_pages(2));
  std::vector<Question> questions = chats.questions(2);
  for (Question& question : questions) question.window = 300;
  expect_as_alone(questions, chats.lanes());
}

// --- the plan of the CPU

// How many sequences each item of a split has, of the only lane.
std::vector<std::size_t> members_of_split(const std::vector<std::vector<LaneView>>& lanes,
                                          std::size_t split, std::size_t n_heads = 3,
                                          std::size_t window = 0) {
  std::vector<HostLaneTable> tables;
  std::vector<Sequence> sequences;
  tables.reserve(lanes.size());
  for (const std::vector<LaneView>& of_chat : lanes) {
    HostLaneTable& table = tables.emplace_back(1);
    EXPECT_TRUE(table.set_pages(0, of_chat[0].pages).ok());
    EXPECT_TRUE(table.set_runs(0, of_chat[0].runs).ok());
    sequences.push_back({.lanes = &table, .first_token = sequences.size(), .n_tokens = 1});
  }
  cpu::AttendPlan plan;
  plan.make({.n_heads = n_heads,
             .n_kv_heads = 1,
             .head_dim = 64,
             .batch = {.n_tokens = sequences.size()},
             .sequences = sequences,
             .window = window});
  std::vector<std::size_t> out;
  for (const cpu::AttendItem& item : plan.items)
    if (item.split == split) out.push_back(item.n_members);
  return out;
}

using Members = std::vector<std::size_t>;

TEST(AttendPlan, reads_a_split_once_for_all_chats_that_hold_its_pages) {
  Chats chats(test::affine_pages(4));
  EXPECT_EQ(members_of_split(chats.lanes(), 0), Members({4}));
  EXPECT_EQ(members_of_split(chats.lanes(), 1), Members({3, 1})) << "the last has half of it";
  EXPECT_EQ(members_of_split(chats.lanes(), 2), Members({1, 1, 1})) << "what is their own";
}

TEST(AttendPlan, tells_apart_chats_that_see_a_page_differently) {
  Chats chats(test::affine_pages(4));
  chats[1].pages()[0].live.clear(3);
  EXPECT_EQ(members_of_split(chats.lanes(), 0), Members({3, 1})) << "a token less";
  chats[2].pages()[1].shift = 9;
  EXPECT_EQ(members_of_split(chats.lanes(), 0), Members({2, 1, 1})) << "and a page elsewhere";
}

TEST(AttendPlan, joins_no_more_rows_than_a_block_has_and_nothing_under_a_window) {
  Chats chats(test::affine_pages(4));
  const std::size_t n_heads = cpu::AttendPlan::kBlockRows / 2;
  EXPECT_EQ(members_of_split(chats.lanes(), 0, n_heads), Members({2, 2}));
  EXPECT_EQ(members_of_split(chats.lanes(), 0, 3, 100), Members({1, 1, 1, 1}));
}

TEST(AttendPlan, borders_of_splits_do_not_move_while_a_chat_grows) {
  Chats chats(test::affine_pages(4), 0, (cpu::AttendPlan::kSplitsMax - 1) * kSplit);
  for (std::size_t split = 0; split + 2 < cpu::AttendPlan::kSplitsMax / 2; ++split)
    EXPECT_EQ(members_of_split(chats.lanes(), split), Members({4})) << split;
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryJointSplit, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
