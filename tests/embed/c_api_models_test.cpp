// Models: looked at before they are loaded, moved to the CPU, compressed as a scorer of the host's
// says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "embed/c_api.h"

namespace satchel::test {
namespace {

using testing::HasSubstr;

TEST_F(CApi, a_model_file_is_inspected_without_loading_it) {
  satchel_buffer* json = nullptr;
  ok(satchel_model_inspect(kBundledModel.c_str(), &json, failure_.out()), failure_);
  const std::string said = Buffer(json) ? satchel_buffer_data(json) : "";
  const Model loaded = model();
  satchel_model_info info = SATCHEL_INIT(satchel_model_info);
  ok(satchel_model_describe(loaded.get(), &info, failure_.out()), failure_);
  EXPECT_EQ(number_of(said, "context"), info.n_context);
  EXPECT_EQ(number_of(said, "layers"), info.n_layers);
  EXPECT_EQ(number_of(said, "vocabulary"), info.n_vocabulary);
  EXPECT_GT(number_of(said, "file_bytes"), info.weight_bytes / 2);
  EXPECT_THAT(said, HasSubstr("\"refusal\":null"));
  EXPECT_EQ(satchel_model_inspect("/no/such.gguf", &json, failure_.out()), SATCHEL_NOT_FOUND);
  EXPECT_EQ(json, nullptr);
  const std::string damaged = (folder_.path() / "damaged.gguf").string();
  std::ofstream(damaged) << "GGUF" << '\3' << std::string(7, '\0');
  EXPECT_EQ(satchel_model_inspect(damaged.c_str(), &json, failure_.out()), SATCHEL_CORRUPT);
}

TEST_F(CApi, a_model_moves_to_the_cpu_and_answers_what_was_not_answered) {
  const Store kept = store();
  const Model loaded = model(kept.get());
  const Session chat = session(loaded.get(), "notes"), other = session(loaded.get());
  send(chat.get(), kNotes);
  send(other.get(), kNotes);
  satchel_resume_report report = SATCHEL_INIT(satchel_resume_report);
  satchel_result result = SATCHEL_INIT(satchel_result);
  const auto moved = [&] {
    satchel_buffer* text = nullptr;
    ok(satchel_use_cpu(chat.get(), nullptr, nullptr, &report, &result, &text, failure_.out()),
       failure_);
    const Buffer owned(text);
    return std::string(satchel_buffer_data(text));
  };
  EXPECT_EQ(moved(), "") << "everything has an answer";
  EXPECT_EQ(report.outcome, SATCHEL_RESUME_RESTORED);
  EXPECT_GT(report.n_reused, 0u);
  satchel_message said = SATCHEL_INIT(satchel_message);
  said.role = SATCHEL_USER;
  said.text = kPet.data();
  said.size = kPet.size();
  ok(satchel_append(chat.get(), &said, 1, nullptr, failure_.out()), failure_);
  EXPECT_THAT(moved(), HasSubstr("rabbit"));
  EXPECT_GT(result.n_answer, 0u);
  EXPECT_FALSE(send(other.get(), kPet).empty()) << "in the store under a name of its own";
}

TEST_F(CApi, without_a_model_every_call_says_so_until_the_cpu_has_it_again) {
  const Store kept = store();
  const Model loaded = model(kept.get());
  const Session chat = session(loaded.get(), "notes");
  send(chat.get(), kNotes);
  satchel_listener stops = SATCHEL_INIT(satchel_listener);
  stops.progress = [](void*, int32_t phase, uint64_t, uint64_t) {
    return int32_t{phase == SATCHEL_PHASE_LOAD};
  };
  const auto move = [&](const satchel_listener* listener) {
    return satchel_use_cpu(chat.get(), nullptr, listener, nullptr, nullptr, nullptr,
                           failure_.out());
  };
  ASSERT_EQ(move(&stops), SATCHEL_CANCELLED);
  satchel_model_info info = SATCHEL_INIT(satchel_model_info);
  satchel_estimate estimate = SATCHEL_INIT(satchel_estimate);
  satchel_session* none = nullptr;
  satchel_buffer* text = nullptr;
  const int32_t id = 1;
  std::size_t n = 0;
  const std::vector<std::function<int32_t()>> calls = {
      [&] { return satchel_model_describe(loaded.get(), &info, failure_.out()); },
      [&] { return satchel_tokenize(loaded.get(), "a", 1, nullptr, 0, &n, failure_.out()); },
      [&] { return satchel_detokenize(loaded.get(), &id, 1, &text, failure_.out()); },
      [&] {
        return satchel_estimate_memory(loaded.get(), "full", 0, 0, &estimate, failure_.out());
      },
      [&] { return satchel_session_create(loaded.get(), "x", nullptr, &none, failure_.out()); }};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i](), SATCHEL_INVALID) << i;
    EXPECT_EQ(failure_.code(), "NO_MODEL") << i;
  }
  ok(move(nullptr), failure_);
  EXPECT_THAT(send(chat.get(), kPet), HasSubstr("rabbit"));
}

#ifdef SATCHEL_TEST_LIBRARIES
// The n-th call of a GPU fails, while the prompt is prefilled or the answer made.
TEST_F(CApi, a_lost_gpu_is_left_for_the_cpu_which_answers_the_question) {
  satchel_runtime_options options = SATCHEL_INIT(satchel_runtime_options);
  options.backend_folder = SATCHEL_TEST_LIBRARIES "/fake";
  satchel_runtime* made = nullptr;
  ok(satchel_runtime_create(&options, &made, failure_.out()), failure_);
  const Runtime with_gpu(made);
  for (const char* lost_at : {"20", "150"}) {
    setenv("SATCHEL_TEST_GPU_LOST_AT", lost_at, 1);
    const Store kept = store();
    satchel_model_options on_gpu = SATCHEL_INIT(satchel_model_options);
    on_gpu.backend = "cuda";
    on_gpu.store = kept.get();
    satchel_model* loaded = nullptr;
    ok(satchel_model_load(with_gpu.get(), kBundledModel.c_str(), &on_gpu, nullptr, &loaded,
                          failure_.out()),
       failure_);
    const Model owner(loaded);
    const Session chat = session(loaded, lost_at);
    EXPECT_EQ(satchel_send(chat.get(), kPet.data(), kPet.size(), nullptr, nullptr, nullptr, nullptr,
                           failure_.out()),
              SATCHEL_DEVICE_LOST);
    unsetenv("SATCHEL_TEST_GPU_LOST_AT");
    satchel_buffer* text = nullptr;
    ok(satchel_use_cpu(chat.get(), nullptr, nullptr, nullptr, nullptr, &text, failure_.out()),
       failure_);
    const Buffer owned(text);
    EXPECT_STRNE(satchel_buffer_data(text), "");
    satchel_model_info info = SATCHEL_INIT(satchel_model_info);
    ok(satchel_model_describe(loaded, &info, failure_.out()), failure_);
    EXPECT_EQ(info.on_gpu, 0u);
  }
}
#endif

// --- scorers

std::string recipe_with(std::string_view scorer) {
  return R"({"recipe":1,"name":"host's","source":"test","differs":"","keep":0.3,"tail":16,
    "trigger":{"use":"end_of_prompt","min_tokens":64},"scorer":{"use":")" +
         std::string(scorer) + R"("},"filter":[{"use":"protect","sinks":4,"tail":16}],
    "allocator":{"use":"uniform"},"assigner":{"use":"top_k"},"merger":{"use":"none"},
    "codec":{"k":{"use":"hadamard_affine","bits":4,"group":32},
             "v":{"use":"hadamard_affine","bits":4,"group":32}},"reader":{"use":"all"}})";
}

// The formula of the scorer l2norm, times `user`'s sign.
int32_t short_keys(void* user, const satchel_scored_lane* lane, float* scores) {
  for (std::uint64_t t = 0; t < lane->n_tokens; ++t) {
    double squares = 0;
    for (std::uint64_t c = 0; c < lane->head_dim; ++c) {
      const double x = lane->k[t * lane->head_dim + c];
      squares += x * x;
    }
    scores[t] = *static_cast<float*>(user) * static_cast<float>(1 / (1 + std::sqrt(squares)));
  }
  return lane->v == nullptr ? 1 : 0;
}

class CApiScorer : public CApi {
 protected:
  static int32_t add(const char* name, void* user,
                     int32_t (*score)(void*, const satchel_scored_lane*, float*),
                     satchel_error** err) {
    satchel_scorer scorer = SATCHEL_INIT(satchel_scorer);
    scorer.name = name;
    scorer.user = user;
    scorer.score = score;
    return satchel_scorer_register(&scorer, err);
  }
  int32_t read(satchel_session* session) {
    std::string text;
    for (int i = 0; i < 20; ++i) text += kNotes;
    return satchel_append_document(session, "notes", text.data(), text.size(), nullptr, nullptr,
                                   failure_.out());
  }
  // What compression by a recipe with this scorer cost a document.
  double kl_with(satchel_model* model, std::string_view scorer) {
    const Session chat = session(model, nullptr, recipe_with(scorer).c_str());
    ok(read(chat.get()), failure_);
    EXPECT_GT(stats(chat.get()).n_evicted, 0u);
    satchel_fidelity fidelity = SATCHEL_INIT(satchel_fidelity);
    EXPECT_EQ(satchel_fidelity_stats(chat.get(), &fidelity, nullptr), SATCHEL_OK);
    EXPECT_EQ(fidelity.is_measured, 1u);
    return fidelity.kl;
  }
};

TEST_F(CApiScorer, a_hosts_scorer_compresses_as_one_of_ours_with_the_same_formula) {
  EXPECT_EQ(satchel_recipe_check(recipe_with("mine").c_str(), nullptr, failure_.out()),
            SATCHEL_INVALID);
  EXPECT_THAT(failure_.message(), HasSubstr("there is no scorer \"mine\""));
  static float plus = 1, minus = -1;
  ok(add("mine", &plus, short_keys, failure_.out()), failure_);
  ok(add("opposite", &minus, short_keys, failure_.out()), failure_);
  const Model loaded = model();
  const double ours = kl_with(loaded.get(), "l2norm");
  EXPECT_EQ(kl_with(loaded.get(), "mine"), ours);
  EXPECT_NE(kl_with(loaded.get(), "opposite"), ours);
}

TEST_F(CApiScorer, what_is_no_scorer_or_fails_is_refused_and_the_chat_goes_on) {
  EXPECT_EQ(add("l2norm", nullptr, short_keys, failure_.out()), SATCHEL_INVALID);
  EXPECT_EQ(failure_.code(), "STAGES");
  EXPECT_EQ(add(nullptr, nullptr, short_keys, failure_.out()), SATCHEL_INVALID);
  EXPECT_EQ(add("none", nullptr, nullptr, failure_.out()), SATCHEL_INVALID);
  EXPECT_EQ(satchel_scorer_register(nullptr, failure_.out()), SATCHEL_INVALID);
  const auto ends = [](void*, const satchel_scored_lane*, float*) -> int32_t { return 1; };
  const auto no_number = [](void*, const satchel_scored_lane*, float* scores) -> int32_t {
    scores[0] = std::numeric_limits<float>::quiet_NaN();
    return 0;
  };
  ok(add("ends", nullptr, ends, failure_.out()), failure_);
  ok(add("no number", nullptr, no_number, failure_.out()), failure_);
  const Model loaded = model();
  for (const char* name : {"ends", "no number"}) {
    const Session chat = session(loaded.get(), nullptr, recipe_with(name).c_str());
    EXPECT_EQ(read(chat.get()), SATCHEL_INVALID) << name;
    EXPECT_EQ(failure_.code(), "SCORER");
    satchel_memory_request request = SATCHEL_INIT(satchel_memory_request);
    request.recipe = "full";
    ok(satchel_memory_change_apply(chat.get(), &request, nullptr, nullptr, failure_.out()),
       failure_);
    EXPECT_THAT(send(chat.get(), kPet), HasSubstr("rabbit"));
  }
}

}  // namespace
}  // namespace satchel::test
