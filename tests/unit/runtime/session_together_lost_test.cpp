// Chats that answer together when the tails of their caches are packed, and the device fails at
// that: whose cache lost what it held says so and does not go on from nothing; the others go on.
#include <array>
#include <string>

#include "unit/runtime/chain_model.h"
#include "unit/runtime/failing_engine.h"
#include "unit/runtime/together.h"

namespace satchel::runtime {
namespace {

constexpr std::array<const char*, 3> kRecipes = {"full", "kivi-4", "quest"};
// Bytes, each a token: after them the tails lack one token of being packed.
constexpr std::size_t kQuestion = 3 * kvcache::kFlushTokens + kvcache::kSinkTokens - 1;

class TailsArePacked : public ChatTest {
 protected:
  void SetUp() override {
    ChatTest::SetUp();
    engine_ = open_chain(
        {.next = {{'a', 'b'}, {'b', 'c'}, {'c', 'd'}, {'d', ChainToken::end}}, .jinja = ""});
    failing_ = std::make_shared<test::FailingBackend>(
        value_of(kernels::open_backend("cpu", {.n_threads = 1})));
    model_backend_ = std::exchange(engine_->state().backend, failing_);
  }
  void make_chats() {
    journal_ = {};
    for (std::size_t i = 0; i < kRecipes.size(); ++i) {
      chats_[i].reset();
      chat_ = {static_cast<std::int64_t>(i + 1)};
      chats_[i] = open(kRecipes[i], 0, *engine_);
      value_of(chats_[i]->add_user(std::string(kQuestion, 'a')));
      value_of(chats_[i]->read({}, {}));
    }
  }
  std::vector<Result<GenerateReport>> answer() {
    std::vector<ChatTurn> turns;
    for (const auto& chat : chats_) turns.push_back({.session = chat.get()});
    return answer_together(turns);
  }

  std::shared_ptr<kernels::Backend> model_backend_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<test::FailingBackend> failing_;
  std::array<std::unique_ptr<Session>, kRecipes.size()> chats_;
};

TEST_F(TailsArePacked, a_chat_whose_cache_is_lost_says_so_and_is_read_again) {
  std::size_t n_emptied = 0;
  bool has_failed = true;
  for (std::size_t n = 0; has_failed; ++n) {
    make_chats();
    failing_->fail_at_copy(n);
    const auto reports = answer();
    has_failed = failing_->has_failed();
    failing_->fail_at(std::nullopt);
    std::size_t n_failed = 0;
    for (std::size_t i = 0; i < chats_.size(); ++i) {
      if (reports[i].ok()) {
        EXPECT_EQ(reports[i]->text, "bcd") << "copy " << n;
      } else {
        ++n_failed;
        EXPECT_EQ(reports[i].error().code, "DEVICE_LOST");
        if (chats_[i]->n_read() == 0) ++n_emptied;
        EXPECT_EQ(ask(*chats_[i], "a").text, "bcd") << "copy " << n;
      }
      EXPECT_EQ(chats_[i]->n_read(), chats_[i]->tokens().size()) << "copy " << n;
    }
    EXPECT_EQ(n_failed, has_failed ? 1u : 0u) << "copy " << n;
  }
  EXPECT_GE(n_emptied, kRecipes.size());
}

}  // namespace
}  // namespace satchel::runtime
