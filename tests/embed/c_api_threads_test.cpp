// Calls from several threads; also compiled with ThreadSanitizer (tests/sanitize).
#include <gtest/gtest.h>
#include <satchel/satchel.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "embed/c_api.h"

namespace satchel::test {
namespace {

class CApiThreads : public CApi {};

TEST_F(CApiThreads,
       a_second_call_on_a_session_is_busy_and_the_first_can_be_cancelled_from_any_thread) {
  const Model loaded = model();
  const Session chat = session(loaded.get());
  struct Seen {
    satchel_session* session;
    std::atomic<bool> began = false;
    int32_t nested = 0, own_stats = -1;
  } seen{chat.get()};
  const auto hear = [](void* user, const satchel_delta*) -> int32_t {
    auto* at = static_cast<Seen*>(user);
    satchel_stats now = SATCHEL_INIT(satchel_stats);
    at->own_stats = satchel_cache_stats(at->session, &now, nullptr);
    at->nested = satchel_prefill(at->session, nullptr, nullptr, nullptr);
    at->began = true;
    return 0;
  };
  satchel_listener hears = SATCHEL_INIT(satchel_listener);
  hears.delta = hear;
  hears.user = &seen;
  satchel_result result = SATCHEL_INIT(satchel_result);
  std::thread caller([&] {
    satchel_sampling sampling = SATCHEL_INIT(satchel_sampling);
    sampling.temperature = 2;
    sampling.allow_loops = 1;
    sampling.n_tokens_max = SATCHEL_OFF;
    EXPECT_EQ(satchel_send(chat.get(), kPet.data(), kPet.size(), &sampling, &hears, &result,
                           nullptr, nullptr),
              SATCHEL_OK);
  });
  while (!seen.began) std::this_thread::yield();
  satchel_cancel(chat.get());
  caller.join();
  EXPECT_EQ(seen.nested, SATCHEL_BUSY);
  EXPECT_EQ(seen.own_stats, SATCHEL_OK);
  if (result.finish != SATCHEL_END_OF_TURN) {
    EXPECT_EQ(result.finish, SATCHEL_STOPPED);
  }
  EXPECT_FALSE(send(chat.get(), kPet).empty()) << "the session goes on";
}

TEST_F(CApiThreads, two_runtimes_and_two_sessions_in_two_threads_do_not_know_each_other) {
  const Model one = model(), two = model();
  const std::string alone = [&] {
    const Session chat = session(one.get());
    send(chat.get(), kNotes);
    return send(chat.get(), kPet);
  }();
  const auto talk = [&](satchel_model* loaded) {
    satchel_session* made = nullptr;
    EXPECT_EQ(satchel_session_create(loaded, nullptr, nullptr, &made, nullptr), SATCHEL_OK);
    const Session chat(made);
    satchel_sampling sampling = SATCHEL_INIT(satchel_sampling);
    sampling.n_tokens_max = 16;
    for (int i = 0; i < 2; ++i) {
      const std::string_view said = i == 0 ? kNotes : kPet;
      satchel_buffer* text = nullptr;
      EXPECT_EQ(
          satchel_send(made, said.data(), said.size(), &sampling, nullptr, nullptr, &text, nullptr),
          SATCHEL_OK);
      const Buffer owned(text);
      if (i == 1) {
        EXPECT_EQ(satchel_buffer_data(text), alone);
      }
    }
  };
  std::vector<std::thread> threads;
  for (satchel_model* loaded : {one.get(), one.get(), two.get(), two.get()})
    threads.emplace_back(talk, loaded);
  for (std::thread& thread : threads) thread.join();
}

class CApiStream : public CApiThreads {
 protected:
  Stream open(satchel_session* session, std::string_view message,
              const satchel_sampling* sampling = nullptr) {
    satchel_stream* made = nullptr;
    ok(satchel_stream_open(session, message.data(), message.size(), sampling, &made,
                           failure_.out()),
       failure_);
    return Stream(made);
  }
  // Until its end, or so many deltas.
  std::string taken(satchel_stream* stream, int n_most = 1000) {
    std::string text;
    satchel_delta delta = SATCHEL_INIT(satchel_delta);
    for (int n = 0; n < n_most;) {
      int32_t state = SATCHEL_STREAM_ENDED;
      ok(satchel_stream_next(stream, n == 0 ? 1 : -1, &delta, &state, failure_.out()), failure_);
      if (state == SATCHEL_STREAM_ENDED) break;
      if (state == SATCHEL_STREAM_WAITS) continue;
      text.append(delta.text, delta.size);
      ++n;
    }
    return text;
  }
};

TEST_F(CApiStream, gives_the_answer_delta_by_delta_and_then_its_result) {
  const Model loaded = model();
  const Session chat = session(loaded.get());
  send(chat.get(), kNotes);
  const Stream stream = open(chat.get(), kPet);
  const std::string text = taken(stream.get());
  EXPECT_NE(text.find("rabbit"), text.npos);
  satchel_result result = SATCHEL_INIT(satchel_result);
  satchel_buffer* whole = nullptr;
  ok(satchel_stream_result(stream.get(), &result, &whole, failure_.out()), failure_);
  const Buffer owned(whole);
  EXPECT_EQ(text, satchel_buffer_data(whole));
  EXPECT_EQ(result.finish, SATCHEL_END_OF_TURN);
  EXPECT_EQ(taken(stream.get()), "") << "the end stays the end";
}

TEST_F(CApiStream, keeps_its_session_busy) {
  const Model loaded = model();
  const Session chat = session(loaded.get()), other = session(loaded.get());
  // While a callback runs no other session of the model goes on: the stream cannot end meanwhile.
  struct Held {
    std::atomic<bool> began = false, let_go = false;
  } held;
  satchel_listener holds = SATCHEL_INIT(satchel_listener);
  holds.delta = [](void* user, const satchel_delta*) -> int32_t {
    auto* at = static_cast<Held*>(user);
    at->began = true;
    while (!at->let_go) std::this_thread::yield();
    return 0;
  };
  holds.user = &held;
  std::thread holder([&] {
    EXPECT_EQ(satchel_send(other.get(), kPet.data(), kPet.size(), nullptr, &holds, nullptr, nullptr,
                           nullptr),
              SATCHEL_OK);
  });
  while (!held.began) std::this_thread::yield();
  const Stream stream = open(chat.get(), kPet);
  EXPECT_EQ(satchel_prefill(chat.get(), nullptr, nullptr, nullptr), SATCHEL_BUSY);
  held.let_go = true;
  holder.join();
  EXPECT_FALSE(taken(stream.get()).empty());
}

TEST_F(CApiStream, that_is_freed_early_stops_the_answer_and_outlives_its_session_handle) {
  const Model loaded = model();
  Session chat = session(loaded.get());
  satchel_sampling endless = SATCHEL_INIT(satchel_sampling);
  endless.temperature = 2;
  endless.allow_loops = 1;
  endless.n_tokens_max = SATCHEL_OFF;
  Stream stream = open(chat.get(), kPet, &endless);
  EXPECT_FALSE(taken(stream.get(), 1).empty());
  stream.reset();
  EXPECT_FALSE(send(chat.get(), kPet).empty()) << "the session goes on";
  stream = open(chat.get(), kPet);
  chat.reset();
  EXPECT_FALSE(taken(stream.get()).empty());
}

TEST_F(CApiStream, fails_as_the_call_does) {
  const Model loaded = model();
  const Session chat = session(loaded.get());
  std::string text;
  for (int i = 0; i < 200; ++i) text += kNotes;
  const Stream stream = open(chat.get(), text);
  for (int i = 0; i < 2; ++i) {
    int32_t state = SATCHEL_STREAM_DELTA;
    EXPECT_EQ(satchel_stream_next(stream.get(), -1, nullptr, &state, failure_.out()),
              SATCHEL_OUT_OF_MEMORY);
    EXPECT_EQ(state, SATCHEL_STREAM_ENDED);
    EXPECT_EQ(failure_.code(), "CONTEXT_FULL");
  }
  EXPECT_EQ(satchel_stream_result(stream.get(), nullptr, nullptr, failure_.out()),
            SATCHEL_OUT_OF_MEMORY);
  satchel_stream* none = nullptr;
  EXPECT_EQ(satchel_stream_open(chat.get(), nullptr, 0, nullptr, &none, failure_.out()),
            SATCHEL_OK);
  const Stream unasked(none);
  int32_t state = 0;
  EXPECT_EQ(satchel_stream_next(none, -1, nullptr, &state, failure_.out()), SATCHEL_INVALID)
      << "there is no message to answer";
  EXPECT_EQ(satchel_stream_next(nullptr, 0, nullptr, &state, failure_.out()), SATCHEL_INVALID);
  satchel_stream_free(nullptr);
}

}  // namespace
}  // namespace satchel::test
