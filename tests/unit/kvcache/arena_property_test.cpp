// Random calls to an arena and to plain lists beside it, which must agree after each.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "arena_fixture.h"

namespace satchel::kvcache {
namespace {

using test::ArenaTest;
using test::random_size;

// What is taken, as plain lists.
class ArenaProperty : public ArenaTest, public testing::WithParamInterface<std::uint64_t> {
 protected:
  static constexpr std::size_t kCapacity = 64 * 1024;
  struct Held {
    ExtentId id;
    std::size_t bytes;  // rounded
    std::size_t n_shares;
    std::uint64_t seed;
  };
  class Addresses final : public ExtentUser {
   public:
    explicit Addresses(ArenaProperty& test) : test_(test) {}
    void extents_moved() override { test_.read_addresses(); }

   private:
    ArenaProperty& test_;
  };

  void read_addresses() {
    addresses_.clear();
    for (const Held& held : held_) addresses_.push_back(arena_->at(held.id));
    ++n_moves_;
  }
  std::size_t used() const {
    std::size_t bytes = 0;
    for (const Held& held : held_) bytes += held.bytes;
    for (const Arena::Lease& lease : leases_) bytes += lease.size();
    return bytes;
  }

  void take_one(std::size_t bytes_max) {
    const std::size_t bytes = random_size(rng_, bytes_max);
    const std::size_t rounded = (bytes + 255) / 256 * 256;
    const bool fits = rounded <= limit_ - used();
    const Result<ExtentId> id = arena_->take(bytes);
    ASSERT_EQ(id.ok(), fits);
    if (!fits) return;
    held_.push_back({.id = *id, .bytes = rounded, .n_shares = 1, .seed = rng_.next()});
    addresses_.push_back(arena_->at(*id));
    fill(*id, held_.back().seed);
  }
  void give_one() {
    if (held_.empty()) return;
    const std::size_t i = static_cast<std::size_t>(rng_.next() % held_.size());
    arena_->give(held_[i].id);
    if (--held_[i].n_shares > 0) return;
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
    addresses_.erase(addresses_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void share_one() {
    if (held_.empty()) return;
    Held& held = held_[static_cast<std::size_t>(rng_.next() % held_.size())];
    arena_->share(held.id);
    ++held.n_shares;
  }
  void take_lease() {
    const std::size_t bytes = random_size(rng_, 16 * 1024) - 1;
    const bool fits = (bytes + 255) / 256 * 256 <= limit_ - used();
    Result<Arena::Lease> lease = arena_->take_scratch(bytes);
    ASSERT_EQ(lease.ok(), fits);
    if (!fits) return;
    leases_.push_back(std::move(lease).value());
    const int mark = static_cast<int>(leases_.size());
    std::memset(leases_.back().data(), mark, leases_.back().size());
  }
  void move_limit(std::size_t limit) {
    const bool fits = limit / 256 * 256 >= used();
    ASSERT_EQ(arena_->set_limit(limit).ok(), fits);
    if (fits) limit_ = limit / 256 * 256;
  }
  void step() {
    const auto roll = rng_.next() % 16;
    if (roll == 0) {
      share_one();
    } else if (roll == 1) {
      take_lease();
    } else if (roll == 2) {
      if (!leases_.empty()) leases_.pop_back();
    } else if (roll == 3) {
      move_limit(random_size(rng_, kCapacity));
    } else if (roll == 4) {
      move_limit(kCapacity);
    } else if (roll < 10) {
      take_one(roll == 5 ? 24 * 1024 : 2048);
    } else {
      give_one();
    }
  }
  void check() {
    arena_->check_invariants();
    ASSERT_EQ(arena_->bytes(), limit_);
    ASSERT_EQ(arena_->used_bytes(), used());
    ASSERT_EQ(arena_->free_bytes(), limit_ - used());
    peak_ = std::max(peak_, used());
    ASSERT_EQ(arena_->peak_bytes(), peak_);
    for (std::size_t i = 0; i < held_.size(); ++i) {
      ASSERT_EQ(arena_->bytes_of(held_[i].id), held_[i].bytes);
      ASSERT_EQ(arena_->n_shares(held_[i].id), held_[i].n_shares);
      ASSERT_EQ(arena_->at(held_[i].id), addresses_[i]) << "moved and did not say so";
    }
  }
  void check_contents() {
    for (const Held& held : held_) ASSERT_TRUE(holds(held.id, held.seed));
    for (std::size_t i = 0; i < leases_.size(); ++i)
      ASSERT_TRUE(std::all_of(
          leases_[i].data(), leases_[i].data() + leases_[i].size(),
          [&](std::byte b) { return b == static_cast<std::byte>(static_cast<int>(i) + 1); }));
  }
  void give_leases() {
    while (!leases_.empty()) leases_.pop_back();
  }

  Rng rng_{GetParam()};
  std::size_t limit_ = kCapacity, peak_ = 0, n_moves_ = 0;
  std::vector<Held> held_;
  std::vector<const std::byte*> addresses_;  // as held_
  std::vector<Arena::Lease> leases_;
  Addresses user_{*this};
};

TEST_P(ArenaProperty, holds_what_a_plain_list_holds_and_fails_only_for_want_of_bytes) {
  open(kCapacity);
  arena_->add_user(user_);
  for (int i = 0; i < 6000 && !HasFatalFailure(); ++i) {
    const std::size_t n_moves = n_moves_;
    step();
    check();
    if (n_moves_ != n_moves || i % 64 == 0) check_contents();
  }
  EXPECT_GT(n_moves_, 20u);
  give_leases();
  arena_->remove_user(user_);
}

TEST_P(ArenaProperty, the_same_calls_give_the_same_places) {
  std::array<std::vector<std::ptrdiff_t>, 2> offsets;
  for (auto& row : offsets) {
    rng_ = Rng(GetParam());
    held_.clear();
    addresses_.clear();
    limit_ = kCapacity;
    open(kCapacity);
    const std::byte* bottom = arena_->at(take(256));
    held_.push_back({.id = ExtentId{0}, .bytes = 256, .n_shares = 1, .seed = 0});
    addresses_.push_back(bottom);
    for (int i = 0; i < 1000 && !HasFatalFailure(); ++i) {
      step();
      for (const Held& held : held_) row.push_back(arena_->at(held.id) - bottom);
    }
    give_leases();
  }
  EXPECT_EQ(offsets[0], offsets[1]);
}

TEST_P(ArenaProperty, a_backend_that_fails_while_holes_are_closed_leaves_it_whole) {
  std::size_t n_failed = 0;
  open(kCapacity);
  arena_->add_user(user_);
  for (int i = 0; i < 600 && !HasFatalFailure(); ++i) {
    for (int j = 0; j < 10 && !HasFatalFailure(); ++j) {
      step();
      check();
    }
    const std::size_t asked = limit_ - used();
    if (asked == 0) continue;
    backend_->fail_from = backend_->n_copies + static_cast<std::size_t>(rng_.next() % 4);
    const Result<ExtentId> id = arena_->take(asked);  // closes every hole there is
    if (id.ok()) {
      arena_->give(*id);
      peak_ = std::max(peak_, used() + asked);
    } else {
      ASSERT_EQ(id.error().code, "DEVICE_LOST");
      ++n_failed;
    }
    check();
    check_contents();
    const Result<Arena::Lease> lease = arena_->take_scratch(asked);
    if (lease.ok()) {
      peak_ = std::max(peak_, used() + asked);
    } else {
      ASSERT_EQ(lease.error().code, "DEVICE_LOST");
    }
    backend_->fail_from.reset();
  }
  EXPECT_GT(n_failed, 50u);
  give_leases();
  arena_->remove_user(user_);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ArenaProperty, testing::Range<std::uint64_t>(0, 6));

}  // namespace
}  // namespace satchel::kvcache
