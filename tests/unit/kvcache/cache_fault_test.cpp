// The backend fails at the n-th call of one operation, for all n: no lane is left in pieces,
// nothing leaks, and life goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cache_checker.h"
#include "kvcache/recipes/pipeline.h"
#include "snapshot_fixture.h"
#include "support/failing_backend.h"
#include "support/sanitized.h"

namespace satchel::kvcache {
namespace {

using Operation = std::function<Result<void>(CacheDriver&)>;

template <class T>
Result<void> without_value(const Result<T>& result) {
  return result.ok() ? Result<void>() : Result<void>(result.error());
}
Operation reads(SegmentKind kind, std::size_t n) {
  return [=](CacheDriver& d) { return without_value(d.read(n, {.kind = kind})); };
}
Operation steps(std::size_t n) {
  return [=](CacheDriver& d) -> Result<void> {
    for (std::size_t i = 0; i < n; ++i) SATCHEL_TRY(d.step());
    return {};
  };
}
// The second step from then on flushes the tails.
Result<void> steps_until_tails_are_long(CacheDriver& d) {
  const auto n_tail = [&d] { return d.view(0, 0).runs.back().n_tokens; };
  for (std::size_t flushed = n_tail(); n_tail() < flushed + kFlushTokens - 2;) {
    SATCHEL_TRY(d.step());
    flushed = std::min(flushed, n_tail());  // how long a flush leaves it depends on the lane
  }
  return {};
}
Result<void> end_turn(CacheDriver& d) {
  return without_value(d.cache().compactor().end_turn());
}
Result<void> probes(CacheDriver& d) {
  return without_value(d.probe_all(150));
}
Operation compacts(TriggerEvent event) {
  return [=](CacheDriver& d) { return without_value(d.cache().compactor().compact(event)); };
}

// One operation, and what came before it, which is the same each time.
struct Script {
  std::string recipe;
  std::string name;
  std::vector<Operation> before;
  Operation operation;
  std::size_t edited = 100000;          // tokens from here on may be gone, or stand elsewhere
  bool can_repeat = true;               // once more after it failed, it is done
  std::vector<StateShape> states = {};  // of recurrent layers
};

class Fault {
 public:
  explicit Fault(const Script& script)
      : script_(script),
        backend_(std::make_shared<test::FailingBackend>(
            kernels::open_backend("cpu", {.n_threads = 1}).value())),
        arena_(Arena::open(backend_, std::size_t{6} << 20).value()),
        before_({.recipe = script.recipe,
                 .n_layers = 2,
                 .n_heads = 2,
                 .n_kv_heads = 1,
                 .head_dim = 32,
                 .states = script.states,
                 .arena = arena_}) {
    before_.check_attention = false;
    for (const Operation& operation : script_.before) EXPECT_TRUE(operation(before_).ok());
    const Pipeline& pipeline = before_.recipe().pipeline();
    merges_ = pipeline.decides() && pipeline.merger().merges();
    bytes_before_ = before_.bytes();
  }
  ~Fault() {
    EXPECT_TRUE(before_.bytes() == bytes_before_) << "a fork's fault has reached what it came from";
    before_.close();
    EXPECT_EQ(arena_->used_bytes(), 0u) << what_;
  }
  Fault(Fault&&) = delete;

  // Whether there was an n-th call to fail.
  bool fails_at(std::size_t n) {
    what_ = script_.name + ", call " + std::to_string(n);
    CacheDriver driver = before_.fork().value();
    CacheChecker checker;
    checker.checks_values = !merges_ && n % 4 == 0;
    checker.check(driver, what_);
    const std::size_t n_before = driver.cache().n_tokens();
    backend_->fail_at(n);
    const Result<void> result = script_.operation(driver);
    const bool has_failed = backend_->has_failed();
    backend_->fail_at(std::nullopt);
    if (has_failed) {
      expect_whole(driver, checker, n_before);
      if (!result.ok() && driver.cache().n_tokens() > 0) expect_can_repeat(driver);
      if (n % 4 == 0) expect_goes_on(driver);
    } else {
      EXPECT_TRUE(result.ok()) << what_ << ": " << result.error().message;
    }
    return has_failed;
  }

 private:
  // Where exact tokens were on their way all is lost; else all that was protected is there.
  void expect_whole(CacheDriver& driver, CacheChecker& checker, std::size_t n_before) {
    Cache& cache = driver.cache();
    EXPECT_TRUE(cache.edit().pin(0, 0).ok())
        << what_;  // an open step is taken back by the next call
    if (cache.n_tokens() == 0 && n_before > 0) {
      driver.clear();
      EXPECT_EQ(cache.stats().n_kept, 0u) << what_;
    } else {
      checker.check(driver, {.first = std::min(script_.edited, n_before), .end = n_before + 1000},
                    what_);
    }
    CacheChecker::check_arena({&before_, &driver}, what_);
  }

  void expect_can_repeat(CacheDriver& driver) {
    if (!script_.can_repeat) return;
    const Result<void> again = script_.operation(driver);
    EXPECT_TRUE(again.ok()) << what_ << ", once more: " << again.error().message;
  }

  void expect_goes_on(CacheDriver& driver) {
    Cache& cache = driver.cache();
    EXPECT_TRUE(driver.read(150, {.kind = SegmentKind::message}).ok()) << what_;
    EXPECT_TRUE(cache.compactor().end_turn().ok()) << what_;
    EXPECT_TRUE(driver.probe_all(200).ok()) << what_;
    EXPECT_TRUE(cache.compactor().compact(TriggerEvent::idle).ok()) << what_;
    CacheChecker after;
    after.checks_values = false;
    after.check(driver, what_ + ", afterwards");
    EXPECT_LE(driver.attention_error(), 1e-3) << what_;
    CacheChecker::check_arena({&before_, &driver}, what_ + ", afterwards");
  }

  const Script& script_;
  std::shared_ptr<test::FailingBackend> backend_;
  std::shared_ptr<Arena> arena_;
  CacheDriver before_;  // each time a fork of it goes on
  std::vector<std::byte> bytes_before_;
  bool merges_ = false;  // then values are not those that were read
  std::string what_;
};

// How many calls the operation makes; each of them fails once.
std::size_t expect_whole_after_any_fault(const Script& script) {
  Fault fault(script);
  std::size_t n = 0;
  while (!testing::Test::HasFailure() && fault.fails_at(n)) n += test::kSanitized ? 5 : 1;
  return n;
}
// Expects that these are at least so many.
void expect_whole_after_any_fault(const Script& script, std::size_t n_calls_min) {
  EXPECT_GE(expect_whole_after_any_fault(script), n_calls_min) << script.name;
}

class FaultOfRecipe : public testing::TestWithParam<std::string> {
 protected:
  // After a turn; `more` of it.
  Script after(std::vector<Operation> more, const std::string& name, Operation operation) {
    std::vector<Operation> before = {reads(SegmentKind::pinned, 20),
                                     reads(SegmentKind::document, 260),
                                     reads(SegmentKind::message, 257)};
    before.insert(before.end(), more.begin(), more.end());
    return {.recipe = GetParam(),
            .name = name,
            .before = std::move(before),
            .operation = std::move(operation)};
  }
};

TEST_P(FaultOfRecipe, leaves_every_lane_whole_in_a_conversation) {
  expect_whole_after_any_fault(after({}, "read", reads(SegmentKind::document, 256)), 20);
  // Three do not begin again where they stopped.
  Script answer = after({steps_until_tails_are_long}, "steps", steps(3));
  answer.can_repeat = false;
  expect_whole_after_any_fault(answer, 3 * 2 * 2 + 1);
  const auto recipe = Recipe::builtin(GetParam());
  const bool waits = recipe->pipeline().requirements(nullptr).probe;
  expect_whole_after_any_fault(after({}, "end_turn", end_turn), waits ? 0 : 2);
  expect_whole_after_any_fault(after({}, "over_limit", compacts(TriggerEvent::over_limit)), 0);
  // As reclaim() does, which leaves a fork the pages that it shares: here all of them.
  const auto shrinks = [](CacheDriver& d) {
    return without_value(d.cache().compactor().shrink_to(0));
  };
  const bool allows = recipe.ok() && !recipe->pipeline().reclaim_steps().empty();
  expect_whole_after_any_fault(after({end_turn}, "shrink", shrinks), allows ? 20 : 0);
  if (!waits) return;
  expect_whole_after_any_fault(after({end_turn}, "probes", probes), 20);
  expect_whole_after_any_fault(after({end_turn, probes}, "decide", compacts(TriggerEvent::idle)),
                               20);
}

TEST_P(FaultOfRecipe, leaves_every_lane_whole_in_an_edit) {
  const auto edited = [](Script script, std::size_t first) {
    script.edited = first;
    return script;
  };
  const auto forget = [](CacheDriver& d) { return d.cache().edit().forget(200, 300); };
  // Where few tokens are held there is little to move.
  expect_whole_after_any_fault(edited(after({}, "forget", forget), 200), 10);
  const auto truncate = [](CacheDriver& d) { return d.truncate(300); };
  expect_whole_after_any_fault(edited(after({}, "truncate", truncate), 300), 2);
  Script move = edited(after({}, "move", [](CacheDriver& d) { return d.move_text(300, 5); }), 300);
  expect_whole_after_any_fault(move, 10);
  const auto fork = [](CacheDriver& d) { return without_value(d.fork()); };
  expect_whole_after_any_fault(after({}, "fork", fork), 5);
}

// What recurrent layers carry is among the bytes that a fork's fault must not reach, and each token
// that stays is still carried.
TEST(FaultOfStates, leaves_what_recurrent_layers_carry) {
  const auto with_states = [](const std::string& name, Operation operation) {
    return Script{.recipe = "minikv",
                  .name = name,
                  .before = {reads(SegmentKind::document, 300), reads(SegmentKind::message, 57)},
                  .operation = std::move(operation),
                  .edited = 300,
                  .states = {{5}, {200, 60}}};
  };
  expect_whole_after_any_fault(with_states("read", reads(SegmentKind::document, 256)), 20);
  Script answer = with_states("steps", steps(3));
  answer.can_repeat = false;
  expect_whole_after_any_fault(answer, 3 * 2);
  const auto truncate = [](CacheDriver& d) {
    return d.truncate(d.cache().edit().truncation_point(320));
  };
  expect_whole_after_any_fault(with_states("truncate", truncate), 2);
  const auto fork = [](CacheDriver& d) { return without_value(d.fork()); };
  expect_whole_after_any_fault(with_states("fork", fork), 5);
}

// A chat without end has more pages at every turn.
TEST_P(FaultOfRecipe, a_turns_end_makes_no_more_calls_after_a_longer_text) {
  const auto n_calls_after = [this](std::size_t n_documents) {
    Script script{.recipe = GetParam(), .name = "end_turn", .before = {}, .operation = end_turn};
    for (std::size_t i = 0; i < n_documents; ++i)
      for (const Operation& operation : {reads(SegmentKind::document, 140), Operation(end_turn),
                                         Operation(probes), compacts(TriggerEvent::idle)})
        script.before.push_back(operation);
    script.before.push_back(reads(SegmentKind::message, 30));
    return expect_whole_after_any_fault(script);
  };
  EXPECT_EQ(n_calls_after(4), n_calls_after(2));
}

// Of recipes of every kind of page, and of decision.
class FaultOfReach : public FaultOfRecipe {};

TEST_P(FaultOfReach, leaves_every_lane_whole_where_text_goes_out_of_reach_or_is_gathered) {
  const Operation reach = [](CacheDriver& d) {
    return d.cache().edit().set_reach({.parts = {{0, 90, 250}, {200, 80, 0}}, .near_first = 430});
  };
  expect_whole_after_any_fault(after({}, "reach", reach), 20);
  const Operation all = [](CacheDriver& d) { return d.cache().edit().set_reach({}); };
  expect_whole_after_any_fault(after({reach}, "all in reach", all), 0);
  const Operation gather = [](CacheDriver& d) -> Result<void> {
    SATCHEL_TRY_ASSIGN(CacheDriver twin, d.fork());
    SATCHEL_TRY(twin.truncate(100));
    SATCHEL_TRY(twin.read(150));
    SATCHEL_TRY(probes(twin));
    SATCHEL_TRY(compacts(TriggerEvent::idle)(twin));
    return d.gather(100, 150, twin);
  };
  Script gathers = after({end_turn, probes, compacts(TriggerEvent::idle), reach}, "gather", gather);
  gathers.edited = 100;
  expect_whole_after_any_fault(gathers, 40);
}

std::string as_test_name(const testing::TestParamInfo<std::string>& row) {
  std::string name = row.param;
  std::ranges::replace(name, '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Builtin, FaultOfReach,
                         testing::Values("full", "minikv", "ladder-3", "quest", "h2o", "kvzip"),
                         as_test_name);
INSTANTIATE_TEST_SUITE_P(Builtin, FaultOfRecipe, testing::ValuesIn(recipe_names()), as_test_name);

}  // namespace
}  // namespace satchel::kvcache
