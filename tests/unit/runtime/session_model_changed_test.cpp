// A model's file that changes while it is open: nothing is answered with it, and nothing saved that
// would be taken for what the right file makes of the text.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/contract/cache_key.h"
#include "runtime/gguf/mapping_guard.h"
#include "support/temp_folder.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;

class ModelChanged : public ChatTest {
 protected:
  void SetUp() override {
    ChatTest::SetUp();
    guard_mappings();
    fs::copy_file(bundled_model(), path_);
    engine_ = open_engine(path_);
    session_ = open("compact", 0, *engine_);
    value_of(session_->add_document("notes", held_out_notes()));
    value_of(session_->read({}, {}));
  }

  // One byte in the middle, as a synchronising program writes it; then the old time.
  void write_in_place(bool sets_time_back) const {
    const int file = ::open(path_.c_str(), O_RDWR);
    ASSERT_GE(file, 0);
    struct stat before {};
    ASSERT_EQ(::fstat(file, &before), 0);
    const char byte = 'x';
    ASSERT_EQ(::pwrite(file, &byte, 1, before.st_size / 2), 1);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    EXPECT_TRUE(!sets_time_back || ::futimens(file, times) == 0);
    (void)::close(file);
  }

  template <class T>
  static void expect_changed(const Result<T>& answer, const char* of) {
    ASSERT_FALSE(answer.ok()) << of;
    EXPECT_EQ(answer.error().code, "MODEL_CHANGED") << of << ": " << answer.error().message;
    EXPECT_THAT(answer.error().message, HasSubstr("m.gguf")) << of;
    EXPECT_THAT(answer.error().message, HasSubstr("Open the model again")) << of;
  }
  void expect_nothing_is_taken_or_saved() {
    const std::size_t n_messages = stored().size();
    const auto saved = value_of(records_.newest_manifest(cache_key(chat_)));
    expect_changed(session_->add_user("Where is the brass bell?"), "add_user");
    expect_changed(session_->add_document("", "A note."), "add_document");
    expect_changed(session_->generate({.n_tokens_max = 4}, {}, {}, {}), "generate");
    expect_changed(session_->idle({}, {}), "idle");
    expect_changed(session_->save(), "save");
    EXPECT_EQ(stored().size(), n_messages);
    const auto still = value_of(records_.newest_manifest(cache_key(chat_)));
    EXPECT_EQ(still.has_value() ? still->generation : 0u,
              saved.has_value() ? saved->generation : 0u);
  }

  const test::TempFolder folder_;
  const fs::path path_ = folder_ / "m.gguf";
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

TEST_F(ModelChanged, between_turns_takes_nothing_and_saves_nothing) {
  write_in_place(false);
  expect_nothing_is_taken_or_saved();
}

TEST_F(ModelChanged, and_given_its_old_time_again_is_noticed_all_the_same) {
  value_of(session_->save());
  write_in_place(true);
  expect_nothing_is_taken_or_saved();
}

TEST_F(ModelChanged, cut_off_ends_no_process) {
  fs::resize_file(path_, 4096);
  expect_nothing_is_taken_or_saved();
}

TEST_F(ModelChanged, while_it_answers_ends_the_answer_whose_words_are_kept) {
  value_of(session_->add_user(held_out_questions().at(0)));
  int n_deltas = 0;
  const auto on_delta = [&](std::string_view) {
    if (++n_deltas == 2) fs::resize_file(path_, 4096);
    return true;
  };
  expect_changed(session_->generate({.n_tokens_max = 400}, on_delta, {}, {}), "generate");
  EXPECT_LE(n_deltas, 3);
  EXPECT_EQ(stored().back().state, MessageState::interrupted);
  EXPECT_NE(stored().back().text, "");
  expect_nothing_is_taken_or_saved();
}

TEST_F(ModelChanged, given_a_further_name_goes_on) {
  fs::create_hard_link(path_, folder_ / "further.gguf");
  EXPECT_EQ(ask(*session_, held_out_questions().at(0)).finish, Finish::end_of_turn);
  value_of(session_->save());
}

TEST_F(ModelChanged, given_a_further_name_and_rid_of_its_first_goes_on) {
  fs::create_hard_link(path_, folder_ / "further.gguf");
  (void)ask(*session_, held_out_questions().at(0));
  fs::remove(path_);
  (void)ask(*session_, held_out_questions().at(1));
  value_of(session_->save());
}

TEST_F(ModelChanged, after_a_further_name_is_noticed_all_the_same) {
  fs::create_hard_link(path_, folder_ / "further.gguf");
  (void)ask(*session_, held_out_questions().at(0));
  write_in_place(true);
  expect_nothing_is_taken_or_saved();
}

TEST_F(ModelChanged, replaced_under_its_name_goes_on_with_what_was_opened) {
  fs::copy_file(bundled_model(), folder_ / "new.gguf");
  fs::rename(folder_ / "new.gguf", path_);
  EXPECT_EQ(ask(*session_, held_out_questions().at(0)).finish, Finish::end_of_turn);
  value_of(session_->save());
}

}  // namespace
}  // namespace satchel::runtime
