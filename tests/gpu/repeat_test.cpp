// The same call again and again gives the same bits: what several blocks add up together must not
// depend on which of them comes last. racecheck sees shared memory only, so that merges through
// device memory are looked at this way.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gpu/packed_lanes.h"
#include "support/open_named.h"

namespace satchel::bench {
namespace {

using kernels::Backend;

class Repeated : public testing::Test {
 protected:
  void SetUp() override {
    const char* other = std::getenv("SATCHEL_TEST_ROW");  // to try the test itself: cpu
    auto opened = test::open_named(other == nullptr ? "cuda" : other);
    if (!opened.ok()) GTEST_SKIP() << "cuda: " << opened.error().message;
    backend_ = std::move(opened).value();
    is_card_ = other == nullptr;
  }
  Backend& backend() { return *backend_; }
  std::size_t n_launches() const { return is_card_ ? 100'000 : 20; }

 private:
  std::unique_ptr<Backend> backend_;
  bool is_card_ = false;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST_F(Repeated, attention_over_pages_gives_the_same_bits_each_time) {
  constexpr std::size_t kTokens = 4096;
  const Tokens tokens(backend(), kTokens);
  for (const Tier& tier : tiers()) {
    PackedLanes lanes(backend(), tier, tokens,
                      {.n_tokens = kTokens, .n_sequences = 1, .n_layers = 1});
    lanes.attend(0);
    const std::vector<float> first = lanes.out();
    std::size_t n_other = 0;
    for (std::size_t i = 0; i < n_launches() / tiers().size(); ++i) {
      lanes.attend(0);
      n_other += !same_bits(lanes.out(), first);
    }
    EXPECT_EQ(n_other, 0u) << tier.name;
  }
}

// Calls in a row without anyone waiting: the next one's blocks start while the last one's end.
TEST_F(Repeated, calls_that_follow_one_another_at_once_do_not_meet) {
  constexpr std::size_t kTokens = 1024, kRounds = 50;
  const Tokens tokens(backend(), kTokens);
  PackedLanes lanes(backend(), tiers().at(2), tokens,
                    {.n_tokens = kTokens, .n_sequences = 4, .n_layers = 3});
  for (std::size_t layer = 0; layer < 3; ++layer) lanes.attend(layer);
  const std::vector<float> third = lanes.out();
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < n_launches() / kRounds + 1; ++i)
      for (std::size_t layer = 0; layer < 3; ++layer) lanes.attend(layer);
    EXPECT_TRUE(same_bits(lanes.out(), third)) << round;
  }
}

}  // namespace
}  // namespace satchel::bench
