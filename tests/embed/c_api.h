// What tests of the C API share: handles that free themselves, what a call failed with, a fixture
// with the bundled model. Links libsatchel.so and nothing else of ours.
#pragma once

#include <gtest/gtest.h>
#include <satchel/satchel.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "support/bundled_model.h"
#include "support/temp_folder.h"

namespace satchel::test {

inline constexpr std::string_view kNotes =
    "Matteo Thorsen keeps a rabbit. We had tea. Estelle Ibarra keeps a parrot. Quentin works as a "
    "baker.";
inline constexpr std::string_view kPet = "Which pet does Matteo Thorsen keep?";

template <auto free>
struct Free {
  template <class T>
  void operator()(T* handle) const {
    free(handle);
  }
};
using Runtime = std::unique_ptr<satchel_runtime, Free<satchel_runtime_free>>;
using Store = std::unique_ptr<satchel_store, Free<satchel_store_free>>;
using Model = std::unique_ptr<satchel_model, Free<satchel_model_free>>;
using Session = std::unique_ptr<satchel_session, Free<satchel_session_free>>;
using Stream = std::unique_ptr<satchel_stream, Free<satchel_stream_free>>;
using Buffer = std::unique_ptr<satchel_buffer, Free<satchel_buffer_free>>;

// What a call failed with; "" where it did not.
class Failure {
 public:
  Failure() = default;
  Failure(const Failure&) = delete;
  ~Failure() { satchel_error_free(error_); }
  satchel_error** out() {
    satchel_error_free(error_);
    error_ = nullptr;
    return &error_;
  }
  std::string code() const { return satchel_error_code(error_); }
  std::string message() const { return satchel_error_message(error_); }
  std::string detail() const { return satchel_error_detail(error_); }

 private:
  satchel_error* error_ = nullptr;
};

// Of a JSON object of numbers; 0: it is not there.
inline std::uint64_t number_of(const std::string& json, const std::string& name) {
  const std::size_t at = json.find("\"" + name + "\":");
  return at == json.npos ? 0 : std::strtoull(json.c_str() + at + name.size() + 3, nullptr, 10);
}

class CApi : public testing::Test {
 protected:
  static void ok(int32_t status, const Failure& failure) {
    ASSERT_EQ(status, SATCHEL_OK) << failure.code() << ": " << failure.message();
  }
  Runtime runtime() {
    satchel_runtime* made = nullptr;
    ok(satchel_runtime_create(nullptr, &made, failure_.out()), failure_);
    return Runtime(made);
  }
  Model model(satchel_store* store = nullptr) {
    const Runtime owner = runtime();  // the model keeps it
    satchel_model_options options = SATCHEL_INIT(satchel_model_options);
    options.backend = "cpu";
    options.n_threads = 2;
    options.store = store;
    satchel_model* made = nullptr;
    ok(satchel_model_load(owner.get(), kBundledModel.c_str(), &options, nullptr, &made,
                          failure_.out()),
       failure_);
    return Model(made);
  }
  Store store() {
    const Runtime owner = runtime();
    satchel_store_options options = SATCHEL_INIT(satchel_store_options);
    const std::string folder = folder_.path().string();
    options.folder = folder.c_str();
    satchel_store* made = nullptr;
    ok(satchel_store_open(owner.get(), &options, &made, failure_.out()), failure_);
    return Store(made);
  }
  Session session(satchel_model* model, const char* name = nullptr, const char* recipe = nullptr) {
    satchel_session_options options = SATCHEL_INIT(satchel_session_options);
    options.recipe = recipe;
    satchel_session* made = nullptr;
    ok(satchel_session_create(model, name, &options, &made, failure_.out()), failure_);
    return Session(made);
  }
  std::string send(satchel_session* session, std::string_view text,
                   satchel_result* result = nullptr) {
    satchel_sampling sampling = SATCHEL_INIT(satchel_sampling);
    sampling.n_tokens_max = 16;
    satchel_buffer* answer = nullptr;
    ok(satchel_send(session, text.data(), text.size(), &sampling, nullptr, result, &answer,
                    failure_.out()),
       failure_);
    const Buffer owned(answer);
    return satchel_buffer_data(answer);
  }
  std::string messages(satchel_session* session) {
    satchel_buffer* json = nullptr;
    ok(satchel_messages(session, &json, failure_.out()), failure_);
    const Buffer owned(json);
    return satchel_buffer_data(json);
  }
  static satchel_stats stats(satchel_session* session) {
    satchel_stats out = SATCHEL_INIT(satchel_stats);
    EXPECT_EQ(satchel_cache_stats(session, &out, nullptr), SATCHEL_OK);
    return out;
  }

  TempFolder folder_;
  Failure failure_;
};

}  // namespace satchel::test
