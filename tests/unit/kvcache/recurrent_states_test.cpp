// States of recurrent layers: passes that stay and passes that don't, checkpoints, cuts, memory
// that is short, forks, the way to a snapshot and back.
#include "kvcache/recurrent/recurrent_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/registry/registry.h"
#include "kvcache/recurrent/checkpoints.h"
#include "support/failing_backend.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAre;

TEST(Checkpoints, are_wanted_where_a_prefill_begins_and_ends_and_in_between) {
  EXPECT_THAT(wanted_checkpoints(0, 300, 128), ElementsAre(128, 256, 300));
  EXPECT_THAT(wanted_checkpoints(100, 110, 128), ElementsAre(100, 110));
  EXPECT_THAT(wanted_checkpoints(128, 256, 128), ElementsAre(128, 256));
  EXPECT_THAT(wanted_checkpoints(0, 1, 128), ElementsAre(1));
}

TEST(Checkpoints, stand_closer_the_nearer_they_are_to_the_end_of_the_text) {
  constexpr std::size_t kEnd = 131072, kInterval = 128;
  std::vector<std::size_t> all;
  for (std::size_t at = kInterval; at <= kEnd; at += kInterval) all.push_back(at);
  const std::vector<std::size_t> left = thinned(all, kEnd, kCheckpointsMost);
  ASSERT_EQ(left.size(), kCheckpointsMost);
  EXPECT_EQ(left.back(), kEnd);
  EXPECT_EQ(left[left.size() - 2], kEnd - kInterval);
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::size_t before = i == 0 ? 0 : left[i - 1];
    EXPECT_LE(left[i] - before, std::max<std::size_t>(kInterval, (kEnd - before) * 2 / 5)) << i;
  }
}

// Also where they come one after the other, as a chat grows.
TEST(Checkpoints, that_are_thinned_as_a_text_grows_leave_no_wide_gap_near_its_end) {
  std::vector<std::size_t> left;
  for (std::size_t end = 128; end <= 65536; end += 128) {
    left.push_back(end);
    left = thinned(left, end, kCheckpointsMost);
    for (std::size_t i = 1; i < left.size(); ++i)
      ASSERT_LE(left[i] - left[i - 1], std::max<std::size_t>(128, (end - left[i - 1]) / 2)) << end;
  }
}

constexpr std::size_t kValues[] = {5, 300}, kExact = 40;

// Layers whose states say what the last token of the text is: its position and the text's mark.
class Text {
 public:
  Text(std::shared_ptr<Arena> arena, kernels::Backend& backend, bool packs = false,
       std::size_t head_dim = 256)
      : arena_(std::move(arena)),
        shape_(shape(head_dim)),
        states_(backend, *arena_, shape_, packs) {
    EXPECT_TRUE(states_.take().ok());
  }
  static CacheShape shape(std::size_t head_dim = 256) {
    LayerShape layer{.n_heads = 1, .n_kv_heads = 1, .head_dim = head_dim};
    return {.layers = {layer}, .states = {{kValues[0]}, {kValues[1], kExact}}};
  }

  // Tokens behind the text, in chunks; adopts them, if it is to. Checks what each layer is given.
  void pass(std::size_t n_tokens, float mark, bool stays = true, std::size_t n_chunk = 40) {
    ASSERT_TRUE(states_.begin().ok());
    ASSERT_TRUE(states_.stage(n_tokens, 0).ok());
    run(n_text_, n_tokens, mark, n_chunk);
    if (!stays) return states_.drop_staged();
    states_.adopt(serial_);
    n_text_ += n_tokens;
    mark_ = mark;
  }
  void run(std::size_t first, std::size_t n_tokens, float mark, std::size_t n_chunk = 40) {
    for (std::size_t layer = 0; layer < 2; ++layer)
      for (std::size_t at = 0, n = 0; at < n_tokens; at += n) {
        n = std::min({n_chunk, n_tokens - at, states_.n_to_checkpoint(layer)});
        const kernels::StateSequence carried = states_.carry(layer, n);
        if (at > 0) {
          EXPECT_EQ(carried.before[0], static_cast<float>(first + at));
        }
        fill(carried.behind, layer, first + at + n, mark);
        ASSERT_TRUE(states_.keep(layer).ok());
      }
  }
  // What the next pass would begin with: -1: zeros.
  float position(std::size_t layer = 0) {
    EXPECT_TRUE(states_.begin().ok());
    const float* before = states_.carry(layer, 1).before;
    return before == nullptr ? -1 : before[0];
  }
  float mark(std::size_t layer = 1) {
    EXPECT_TRUE(states_.begin().ok());
    return states_.carry(layer, 1).before[kValues[layer] - 1];
  }
  void cut(std::size_t n_tokens) {
    ASSERT_TRUE(states_.prepare_cut(n_tokens).ok());
    states_.cut(n_tokens);
    n_text_ = n_tokens;
  }
  RecurrentStates& operator*() { return states_; }
  RecurrentStates* operator->() { return &states_; }
  std::uint64_t& serial() { return serial_; }

 private:
  static void fill(float* to, std::size_t layer, std::size_t position, float mark) {
    std::fill_n(to, kValues[layer], static_cast<float>(position));
    to[kValues[layer] - 1] = mark;
  }
  std::shared_ptr<Arena> arena_;
  CacheShape shape_;
  RecurrentStates states_;
  std::size_t n_text_ = 0;
  float mark_ = 0;
  std::uint64_t serial_ = 1;
};

// Gives checkpoints back when it is asked, as a cache does.
struct User final : ExtentUser {
  User(Arena& arena_in, RecurrentStates& states_in) : arena(arena_in), states(states_in) {
    arena.add_user(*this);
  }
  ~User() override { arena.remove_user(*this); }
  User(const User&) = delete;
  void extents_moved() override {}
  bool give_spare() override { return states.give_spare(); }
  Arena& arena;
  RecurrentStates& states;
};

class States : public testing::Test {
 protected:
  static std::shared_ptr<kernels::Backend> open() {
    return std::make_shared<test::FailingBackend>(
        std::move(kernels::open_backend("reference", {}).value()));
  }
  test::FailingBackend& failing() { return static_cast<test::FailingBackend&>(*backend_); }

  std::shared_ptr<kernels::Backend> backend_ = open();
  std::shared_ptr<Arena> arena_ = Arena::open(backend_, 1 << 20).value();
  Text text_{arena_, *backend_};
  User user_{*arena_, *text_};
};

TEST_F(States, begin_with_zeros_and_go_on_where_a_pass_ended) {
  EXPECT_EQ(text_.position(), -1);
  text_.pass(100, 7);
  EXPECT_EQ(text_.position(0), 100);
  EXPECT_EQ(text_.position(1), 100);
  text_.pass(3, 8);
  EXPECT_EQ(text_.position(), 103);
  EXPECT_EQ(text_.mark(), 8);
}

TEST_F(States, of_a_pass_that_does_not_stay_leave_no_trace) {
  text_.pass(150, 7);
  const std::size_t n = text_->n_checkpoints(), used = arena_->unused_bytes();
  text_.pass(200, 9, false);
  EXPECT_EQ(text_.position(), 150);
  EXPECT_EQ(text_.mark(), 7);
  EXPECT_EQ(text_->n_checkpoints(), n);
  EXPECT_EQ(arena_->unused_bytes(), used);
  for (const std::size_t position : {150u, 149u, 128u, 127u})
    EXPECT_EQ(text_->nearest(position), position == 149 ? 128 : position == 127 ? 0 : position);
}

TEST_F(States, go_back_to_the_nearest_checkpoint_and_forget_what_follows) {
  text_.pass(300, 7);
  text_.pass(50, 8);
  EXPECT_EQ(text_->nearest(340), 300u);
  EXPECT_EQ(text_->nearest(290), 256u);
  EXPECT_EQ(text_->nearest(128), 128u);
  EXPECT_FALSE(text_->prepare_cut(200).ok()) << "nothing is known there";
  text_.cut(256);
  EXPECT_EQ(text_.position(0), 256);
  EXPECT_EQ(text_.mark(), 7);
  EXPECT_EQ(text_->nearest(1000), 256u);
  text_.pass(44, 9);
  EXPECT_EQ(text_.position(1), 300);
  EXPECT_EQ(text_.mark(), 9);
  text_.cut(0);
  EXPECT_EQ(text_.position(), -1);
  EXPECT_EQ(text_->n_checkpoints(), 0u);
  EXPECT_EQ(arena_->free_bytes(), arena_->unused_bytes());
}

TEST_F(States, of_a_replay_come_from_a_checkpoint_and_change_nothing) {
  text_.pass(300, 7);
  const auto at = text_->begin_at(290);
  ASSERT_TRUE(at.ok());
  ASSERT_EQ(*at, 256u);
  EXPECT_EQ(text_->carry(0, 1).before[0], 256);
  text_.run(257, 0, 1);
  EXPECT_EQ(text_.position(), 300);
  EXPECT_EQ(text_->begin_at(100).value(), 0u);
  EXPECT_EQ(text_->carry(0, 1).before, nullptr);
  EXPECT_EQ(text_.position(), 300);
}

TEST_F(States, checkpoints_count_as_free_and_go_where_memory_is_short) {
  text_.pass(128 * 8, 7);
  ASSERT_EQ(text_->n_checkpoints(), 8u);
  const std::size_t free = arena_->free_bytes();
  EXPECT_EQ(free - arena_->unused_bytes(), text_->checkpoint_bytes());
  const auto lease = arena_->take_scratch(arena_->unused_bytes() + 1);
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(text_->n_checkpoints(), 7u);
  EXPECT_EQ(text_->nearest(128 * 8 - 1), 128u * 7) << "the oldest went";
  arena_->check_invariants();
  const auto all = arena_->take(arena_->free_bytes());
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(text_->n_checkpoints(), 0u);
  EXPECT_EQ(text_.position(), 1024) << "the running states stay";
  EXPECT_FALSE(arena_->take(1).ok());
  text_.pass(10, 8);
  EXPECT_EQ(text_->n_checkpoints(), 0u) << "no memory for any";
  EXPECT_EQ(text_.position(), 1034);
  arena_->give(*all);
}

TEST_F(States, a_lower_limit_takes_checkpoints_first) {
  text_.pass(128 * 8, 7);
  const std::size_t used = arena_->used_bytes();
  ASSERT_TRUE(arena_->set_limit(used).ok());
  EXPECT_EQ(text_->n_checkpoints(), 0u);
  EXPECT_EQ(arena_->free_bytes(), 0u);
  arena_->check_invariants();
  EXPECT_FALSE(arena_->set_limit(used - 256).ok());
}

TEST_F(States, keep_no_more_checkpoints_than_a_share_of_the_arena_has_room_for) {
  for (int i = 0; i < 80; ++i) text_.pass(128, 7);
  EXPECT_EQ(text_->n_checkpoints(), kCheckpointsMost);
  EXPECT_EQ(text_->nearest(80 * 128 - 1), 79u * 128);
  ASSERT_TRUE(arena_->set_limit(kCheckpointShare * text_->bytes()).ok());
  text_.pass(128, 7);
  EXPECT_EQ(text_->n_checkpoints(), 2u);
  EXPECT_EQ(text_->nearest(81 * 128), 81u * 128);
}

TEST_F(States, a_fork_shares_checkpoints_and_goes_its_own_way) {
  text_.pass(300, 7);
  Text twin(arena_, *backend_);
  const User user(*arena_, *twin);
  const std::size_t unused = arena_->unused_bytes();
  ASSERT_TRUE(text_->copy_to(*twin).ok());
  EXPECT_EQ(arena_->unused_bytes(), unused);
  twin.cut(256);
  EXPECT_EQ(twin.position(), 256);
  EXPECT_EQ(text_.position(), 300);
  text_.cut(0);
  EXPECT_EQ(twin->nearest(200), 128u);
  twin.cut(128);
  EXPECT_EQ(twin.position(), 128);
  const auto all = arena_->take(arena_->free_bytes());
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(twin->n_checkpoints(), 0u);
  arena_->give(*all);
}

TEST_F(States, that_are_left_are_neither_continued_nor_saved) {
  text_.pass(300, 7);
  text_->leave();
  const auto begun = text_->begin();
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().code, "CACHE_RANGE");
  EXPECT_TRUE(text_->saved(text_.serial()).empty());
  EXPECT_EQ(text_->nearest(123), 123u) << "its lanes can be cut anywhere";
  text_->clear();
  EXPECT_EQ(text_.position(), -1);
}

// Brings what `from` holds to `to`, but for one serial.
void restore(RecurrentStates& from, std::span<const SavedState> saved, std::uint64_t lost,
             RecurrentStates& to) {
  to.expect(saved, 0);
  for (const SavedState& state : saved)
    for (std::size_t layer = 0; layer < from.n_layers(); ++layer) {
      std::vector<std::byte> bytes(from.layer_bytes(layer, state.is_packed));
      ASSERT_TRUE(from.download(state.serial, layer, bytes).ok());
      if (!to.expects(state.serial) || (state.serial == lost && layer == 1)) continue;
      ASSERT_TRUE(to.put(state.serial, layer, bytes).ok());
    }
}

TEST_F(States, come_back_from_where_they_were_saved) {
  text_.pass(300, 7);
  text_.pass(20, 8);
  for (int i = 0; i < 3; ++i) {  // steps make no checkpoint
    ASSERT_TRUE(text_->begin().ok());
    text_.run(320 + std::size_t(i), 1, 9);
    text_->adopt(text_.serial());
  }
  const std::vector<SavedState> saved = text_->saved(text_.serial());
  ASSERT_EQ(saved.size(), 5u);
  EXPECT_EQ(saved.back().position, 323u);
  EXPECT_EQ(text_->saved(text_.serial()), saved) << "serials stay";
  for (std::size_t lost = 0; lost <= saved.size(); ++lost) {
    Text again(arena_, *backend_);
    const User user(*arena_, *again);
    restore(*text_, saved, lost < saved.size() ? saved[lost].serial : 0, *again);
    const std::size_t whole = again->nearest_whole(323, 323);
    EXPECT_EQ(whole, lost == 4 ? 320u : 323u) << lost;
    EXPECT_EQ(again->nearest_whole(310, 323), lost == 2 ? 256u : 300u) << lost;
    again->adopt_saved(323);
    again.cut(whole);
    EXPECT_EQ(again.position(), static_cast<float>(whole));
    EXPECT_EQ(again.mark(), lost == 4 ? 8 : 9);
    EXPECT_EQ(again->nearest(310), lost == 2 ? 256u : 300u);
  }
}

// Each value of the second layer's state is then another one.
class PackedStates : public States {
 protected:
  static float value(std::size_t i) {
    return std::sin(static_cast<float>(i)) * (i % 7 == 0 ? 50.0f : 1.0f);
  }
  // A token that leaves these states, which are then cut back to, one token further.
  void pass_values(Text& text) {
    for (const std::size_t n : {1u, 1u}) {
      ASSERT_TRUE(text->begin().ok());
      ASSERT_TRUE(text->stage(n, 0).ok());
      for (std::size_t layer = 0; layer < 2; ++layer) {
        float* const to = text->carry(layer, n).behind;
        for (std::size_t i = 0; i < kValues[layer]; ++i) to[i] = value(i);
        ASSERT_TRUE(text->keep(layer).ok());
      }
      text->adopt(text.serial());
    }
  }
  static std::vector<float> running(Text& text) {
    EXPECT_TRUE(text->begin().ok());
    const float* const values = text->carry(1, 1).before;
    return {values, values + kValues[1]};
  }
  static void expect_near(const std::vector<float>& got) {
    for (std::size_t i = 0; i < kExact; ++i) EXPECT_EQ(got[i], value(i)) << i;
    double squares = 0;
    for (std::size_t i = kExact; i < kValues[1]; ++i) {
      EXPECT_LE(std::abs(got[i] - value(i)), 50.0f / 127 * .5001f) << i;
      squares += std::abs(got[i] - value(i));
    }
    EXPECT_GT(squares, 0) << "nothing was packed";
  }
  Text packed_{arena_, *backend_, true};
};

TEST_F(PackedStates, come_back_within_half_a_step_and_their_first_values_as_they_were) {
  pass_values(packed_);
  const std::vector<float> exact = running(packed_);
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_EQ(exact[i], value(i));
  packed_.cut(1);
  expect_near(running(packed_));
}

TEST_F(PackedStates, are_saved_packed_but_for_the_running_ones) {
  pass_values(packed_);
  const std::vector<SavedState> saved = packed_->saved(packed_.serial());
  ASSERT_EQ(saved.size(), 2u);
  EXPECT_TRUE(saved[0].is_packed);
  EXPECT_FALSE(saved[1].is_packed);
  EXPECT_EQ(saved[1].position, 2u);
  EXPECT_LT(packed_->layer_bytes(1, true), packed_->layer_bytes(1, false) * 2 / 5);
  Text again(arena_, *backend_, true);
  restore(*packed_, saved, 0, *again);
  again->adopt_saved(2);
  EXPECT_EQ(running(again), running(packed_));
  again.cut(1);
  expect_near(running(again));
  EXPECT_EQ(again->saved(again.serial()).back().position, 1u);
}

TEST_F(PackedStates, stand_beside_exact_ones_where_a_fork_has_another_recipe) {
  pass_values(text_);
  ASSERT_TRUE(text_->copy_to(*packed_).ok());
  for (const SavedState& each : packed_->saved(packed_.serial())) EXPECT_FALSE(each.is_packed);
  packed_.cut(1);
  const std::vector<float> got = running(packed_);
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], value(i));
}

// Of a text of n tokens, the checkpoints of a snapshot take a twentieth of its fp16 bytes.
TEST_F(States, of_a_long_text_are_saved_as_far_as_they_are_few_beside_it) {
  constexpr std::size_t kHeadDim = 32;
  Text text(arena_, *backend_, false, kHeadDim);
  std::size_t n_text = 0;
  for (int i = 0; i < 20; ++i, n_text += 128) text.pass(128, 7);
  const std::vector<SavedState> saved = text->saved(text.serial());
  const std::size_t bytes = text->bytes() / 2,
                    of_text = n_text * Text::shape(kHeadDim).fp16_bytes_per_token();
  EXPECT_GT(saved.size(), kSavedLeast + 1);
  EXPECT_LT(saved.size() - 1, text->n_checkpoints());
  EXPECT_LE((saved.size() - 1) * bytes, of_text / kSavedShare + bytes);
  EXPECT_EQ(saved[saved.size() - 2].position, n_text - 128);
}

TEST_F(States, a_copy_that_fails_changes_nothing) {
  text_.pass(300, 7);
  failing().fail_at_copy(0);
  EXPECT_FALSE(text_->prepare_cut(256).ok());
  failing().fail_at_copy(0);
  ASSERT_TRUE(text_->begin().ok());
  text_->drop_staged();
  EXPECT_TRUE(text_->stage(10, 0).ok()) << "a checkpoint stands where it begins: nothing is copied";
  text_->drop_staged();
  failing().fail_at({});
  EXPECT_EQ(text_.position(), 300);
  EXPECT_EQ(text_->nearest(299), 256u);
  Text twin(arena_, *backend_);
  failing().fail_at_copy(0);
  EXPECT_FALSE(text_->copy_to(*twin).ok());
  failing().fail_at({});
  EXPECT_EQ(twin.position(), -1);
}

}  // namespace
}  // namespace satchel::kvcache
