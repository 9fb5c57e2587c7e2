// Chats as bytes: made into sessions again that go on without prefilling, or refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "c_api.h"

namespace satchel::test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kOther = "Which pet does Estelle Ibarra keep?";

// The bundled model, and what makes its layers see 128 tokens.
std::string windowed_model(const std::filesystem::path& folder) {
  std::ifstream from(kBundledModel, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(from)), std::istreambuf_iterator<char>());
  constexpr std::size_t kHead = 24, kCountAt = 16;  // of a GGUF file: magic … number of pairs
  std::string pairs;                                // 64 bytes, so that tensors stay aligned
  for (const auto& [key, value] :
       {std::pair<std::string, std::uint32_t>("llama.attention.sliding_window", 128), {"x.", 0}}) {
    const std::uint64_t size = key.size();
    constexpr std::uint32_t kU32 = 4;
    pairs.append(reinterpret_cast<const char*>(&size), 8).append(key);
    pairs.append(reinterpret_cast<const char*>(&kU32), 4);
    pairs.append(reinterpret_cast<const char*>(&value), 4);
  }
  EXPECT_EQ(pairs.size() % 32, 0u);
  bytes[kCountAt] = static_cast<char>(bytes[kCountAt] + 2);
  bytes.insert(kHead, pairs);
  const std::filesystem::path path = folder / "windowed.gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}

class CApiSnapshot : public CApi {
 protected:
  Model load(const std::string& path, satchel_store* kept = nullptr) {
    const Runtime owner = runtime();
    satchel_model_options options = SATCHEL_INIT(satchel_model_options);
    options.backend = "cpu";
    options.n_threads = 2;
    options.store = kept;
    satchel_model* made = nullptr;
    ok(satchel_model_load(owner.get(), path.c_str(), &options, nullptr, &made, failure_.out()),
       failure_);
    return Model(made);
  }
  // Has a document and an answer.
  Session begun(satchel_model* model, const char* recipe, int n_notes = 12,
                const char* name = nullptr) {
    Session chat = session(model, name, recipe);
    std::string text;
    for (int i = 0; i < n_notes; ++i) text += kNotes;
    ok(satchel_append_document(chat.get(), "notes", text.data(), text.size(), nullptr, nullptr,
                               failure_.out()),
       failure_);
    send(chat.get(), kPet);
    return chat;
  }
  std::string saved(satchel_session* session) {
    satchel_buffer* bytes = nullptr;
    ok(satchel_snapshot_save(session, &bytes, failure_.out()), failure_);
    const Buffer owned(bytes);
    return {satchel_buffer_data(bytes), satchel_buffer_size(bytes)};
  }
  Session loaded(satchel_model* model, const std::string& bytes, const char* name = nullptr,
                 const satchel_session_options* options = nullptr) {
    satchel_session* made = nullptr;
    report_ = SATCHEL_INIT(satchel_resume_report);
    ok(satchel_snapshot_load(model, bytes.data(), bytes.size(), name, options, nullptr, &report_,
                             &made, failure_.out()),
       failure_);
    return Session(made);
  }
  // What it is refused with; nothing may be half made.
  std::string refusal(satchel_model* model, std::string_view bytes, const char* name = nullptr,
                      const satchel_session_options* options = nullptr) {
    auto* made = reinterpret_cast<satchel_session*>(&report_);
    report_ = SATCHEL_INIT(satchel_resume_report);
    report_.n_reused = 7;
    EXPECT_NE(satchel_snapshot_load(model, bytes.data(), bytes.size(), name, options, nullptr,
                                    &report_, &made, failure_.out()),
              SATCHEL_OK);
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(report_.n_reused, 0u);
    return failure_.code();
  }
  void expect_reused_whole() const {
    EXPECT_EQ(report_.outcome, SATCHEL_RESUME_RESTORED);
    EXPECT_EQ(report_.n_recomputed, 0u);
    EXPECT_EQ(report_.n_reused, report_.n_tokens);
    EXPECT_EQ(report_.reason, nullptr);
    EXPECT_GT(report_.n_tokens, 300u);
  }

  satchel_resume_report report_ = SATCHEL_INIT(satchel_resume_report);
};

class EveryRecipe : public CApiSnapshot, public testing::WithParamInterface<const char*> {
 protected:
  void expect_goes_on(satchel_model* here, satchel_model* there) {
    const Session chat = begun(here, GetParam());
    const std::string bytes = saved(chat.get());
    const satchel_stats held = stats(chat.get());
    const std::string next = send(chat.get(), kOther), last = send(chat.get(), kPet);
    const Session again = loaded(there, bytes);
    expect_reused_whole();
    EXPECT_EQ(stats(again.get()).bytes, held.bytes);
    EXPECT_EQ(stats(again.get()).n_evicted, held.n_evicted);
    satchel_result result = SATCHEL_INIT(satchel_result);
    EXPECT_EQ(send(again.get(), kOther, &result), next);
    EXPECT_EQ(result.n_reused, report_.n_tokens);
    EXPECT_EQ(result.resume_outcome, SATCHEL_RESUME_RESTORED);
    EXPECT_EQ(send(again.get(), kPet), last);
    EXPECT_EQ(messages(again.get()), messages(chat.get()));
    EXPECT_THAT(messages(again.get()), HasSubstr("Quentin works as a baker."));
  }
};

TEST_P(EveryRecipe, answers_as_if_it_had_never_been_bytes) {
  const Model here = model(), there = model();
  expect_goes_on(here.get(), there.get());
}

TEST_P(EveryRecipe, a_model_whose_layers_see_a_window_goes_on_too) {
  const std::string path = windowed_model(folder_.path());
  const Model here = load(path), there = load(path);
  expect_goes_on(here.get(), there.get());
}

INSTANTIATE_TEST_SUITE_P(Recipes, EveryRecipe,
                         testing::Values("full", "balanced", "compact", "extreme", "kivi-2",
                                         "streamingllm"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_F(CApiSnapshot, goes_into_a_store_and_comes_out_of_it) {
  std::string bytes;
  {
    const Model here = model();
    const Session chat = begun(here.get(), "compact");
    bytes = saved(chat.get());
  }
  {
    const Store kept = store();
    const Model there = model(kept.get());
    const Session chat = loaded(there.get(), bytes, "from elsewhere");
    expect_reused_whole();
    EXPECT_EQ(refusal(there.get(), bytes, "from elsewhere"), "CHAT_EXISTS");
    const Session unnamed = loaded(there.get(), bytes);
    expect_reused_whole();
    EXPECT_EQ(saved(unnamed.get()), bytes);  // each is all that the other is
  }
  const Store kept = store();
  const Model there = model(kept.get());
  satchel_session* made = nullptr;
  ok(satchel_session_open(there.get(), "from elsewhere", nullptr, nullptr, &report_, &made,
                          failure_.out()),
     failure_);
  const Session chat(made);
  expect_reused_whole();
  EXPECT_THAT(send(made, kOther), HasSubstr("parrot"));
}

TEST_F(CApiSnapshot, a_chat_is_not_changed_by_being_saved_and_an_empty_one_is_not_saved) {
  const Model here = model();
  const Session chat = begun(here.get(), "balanced");
  const std::string bytes = saved(chat.get());
  EXPECT_EQ(saved(chat.get()), bytes);
  const Session empty = session(here.get());
  satchel_buffer* none = nullptr;
  EXPECT_EQ(satchel_snapshot_save(empty.get(), &none, failure_.out()), SATCHEL_INVALID);
  EXPECT_EQ(none, nullptr);
  EXPECT_THAT(failure_.message(), HasSubstr("no messages"));
  // What was not prefilled yet is prefilled where it goes on.
  satchel_message said = SATCHEL_INIT(satchel_message);
  said.role = SATCHEL_USER;
  said.text = kOther.data();
  said.size = kOther.size();
  ok(satchel_append(chat.get(), &said, 1, nullptr, failure_.out()), failure_);
  const Session again = loaded(here.get(), saved(chat.get()));
  EXPECT_EQ(report_.outcome, SATCHEL_RESUME_RESTORED);
  EXPECT_STREQ(report_.reason, "not_saved");
  EXPECT_GT(report_.n_recomputed, 0u);
  EXPECT_EQ(report_.n_reused + report_.n_recomputed, report_.n_tokens);
}

TEST_F(CApiSnapshot, other_options_recompute_and_say_why) {
  const Model here = model(), there = model();
  const std::string bytes = saved(begun(here.get(), "full").get());
  satchel_session_options options = SATCHEL_INIT(satchel_session_options);
  options.recipe = "compact";
  const Session chat = loaded(there.get(), bytes, nullptr, &options);
  EXPECT_EQ(report_.outcome, SATCHEL_RESUME_OTHER_RECIPE);
  EXPECT_EQ(report_.n_reused, 0u);
  EXPECT_EQ(report_.n_recomputed, report_.n_tokens);
  EXPECT_THAT(send(chat.get(), kOther), HasSubstr("parrot"));
}

TEST_F(CApiSnapshot, a_limit_that_is_too_low_is_refused_and_under_a_low_one_it_is_recomputed) {
  const Model here = model(), there = model();
  const Session chat = begun(here.get(), "full", 40);
  const std::string bytes = saved(chat.get());
  satchel_session_options options = SATCHEL_INIT(satchel_session_options);
  options.limit_bytes = 1 << 16;
  EXPECT_EQ(refusal(there.get(), bytes, nullptr, &options), "MEMORY");
  const std::uint64_t least = number_of(failure_.detail(), "least_limit_bytes");
  EXPECT_GT(least, options.limit_bytes);
  options.limit_bytes = least;
  const Session again = loaded(there.get(), bytes, nullptr, &options);
  EXPECT_EQ(report_.outcome, SATCHEL_RESUME_OTHER_FORMAT);
  EXPECT_STREQ(report_.reason, "over_limit");
  EXPECT_EQ(report_.n_recomputed, report_.n_tokens);
  EXPECT_LE(stats(again.get()).used_bytes, least);
}

TEST_F(CApiSnapshot, a_cut_behind_which_a_window_has_moved_recomputes_and_says_why) {
  const Model here = load(windowed_model(folder_.path()));
  const Session chat = session(here.get(), nullptr, "full");
  send(chat.get(), kPet);
  satchel_result first = SATCHEL_INIT(satchel_result);
  send(chat.get(), kOther, &first);
  EXPECT_EQ(first.n_recomputed, 0u);
  EXPECT_EQ(first.reason, nullptr);
  const std::uint64_t n_kept = stats(chat.get()).n_tokens;
  std::string notes;
  for (int i = 0; i < 12; ++i) notes += kNotes;
  send(chat.get(), notes);
  ok(satchel_truncate(chat.get(), first.answer_id, failure_.out()), failure_);
  satchel_result again = SATCHEL_INIT(satchel_result);
  send(chat.get(), kPet, &again);
  EXPECT_STREQ(again.reason, "window");
  EXPECT_EQ(again.n_recomputed, n_kept);
  EXPECT_GT(again.n_prefilled, n_kept);
}

TEST_F(CApiSnapshot, another_model_and_bytes_of_tomorrow_are_refused_by_name) {
  const Model here = model();
  const Model other = load(windowed_model(folder_.path()));
  std::string bytes = saved(begun(here.get(), "full").get());
  EXPECT_EQ(refusal(other.get(), bytes), "CHAT_MODEL");
  EXPECT_EQ(refusal(here.get(), bytes, "named"), "NO_STORE");
  EXPECT_EQ(refusal(here.get(), bytes + "x"), "CHAT_DAMAGED");
  EXPECT_EQ(refusal(here.get(), ""), "CHAT_DAMAGED");
  bytes[8] = 2;
  EXPECT_EQ(refusal(here.get(), bytes), "CHAT_VERSION");
  EXPECT_EQ(satchel_snapshot_load(here.get(), nullptr, 0, nullptr, nullptr, nullptr, nullptr,
                                  nullptr, failure_.out()),
            SATCHEL_INVALID);
}

TEST_F(CApiSnapshot, damage_at_every_hundredth_byte_and_every_loss_leave_nothing) {
  const Store kept = store();
  const Model here = model(kept.get());
  const std::string bytes = saved(begun(here.get(), "balanced", 2, "whole").get());
  for (std::size_t at = 0; at < bytes.size(); at += 101) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    const std::string code = refusal(here.get(), damaged);
    EXPECT_TRUE(code == "CHAT_DAMAGED" || code == "CHAT_VERSION") << at << " " << code;
    EXPECT_EQ(refusal(here.get(), std::string_view(bytes).substr(0, at)), "CHAT_DAMAGED") << at;
  }
  satchel_buffer* json = nullptr;
  ok(satchel_chats(here.get(), &json, failure_.out()), failure_);
  const Buffer owned(json);
  const std::string listed = satchel_buffer_data(json);
  EXPECT_EQ(listed.find("\"name\""), listed.rfind("\"name\"")) << listed;
}

TEST_F(CApiSnapshot, loading_can_be_stopped_and_leaves_no_chat) {
  const Store kept = store();
  const Model here = model(kept.get());
  const std::string bytes = saved(begun(here.get(), "full", 40, "whole").get());
  satchel_session_options options = SATCHEL_INIT(satchel_session_options);
  options.recipe = "balanced";
  satchel_listener stops = SATCHEL_INIT(satchel_listener);
  stops.progress = [](void*, int32_t, std::uint64_t, std::uint64_t) { return int32_t{1}; };
  satchel_session* made = nullptr;
  EXPECT_EQ(satchel_snapshot_load(here.get(), bytes.data(), bytes.size(), "copy", &options, &stops,
                                  nullptr, &made, failure_.out()),
            SATCHEL_CANCELLED);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(
      satchel_session_open(here.get(), "copy", nullptr, nullptr, nullptr, &made, failure_.out()),
      SATCHEL_NOT_FOUND);
  const Session chat = loaded(here.get(), bytes, "copy");  // the name is free
  expect_reused_whole();
}

}  // namespace
}  // namespace satchel::test
