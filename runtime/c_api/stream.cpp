// Answers that the host takes delta by delta; a thread of the stream's own makes them.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "runtime/c_api/talk.h"

// Invariant: what the thread writes is read under the mutex.
struct satchel_stream {
  struct Delta {
    std::string text;
    bool is_thought = false;
  };
  struct Ended {
    satchel_result result;
    std::string text;
  };

  std::shared_ptr<satchel::c_api::Session> session;
  std::unique_ptr<satchel::c_api::SessionCall> call;  // until it has ended
  std::stop_source stop;
  std::optional<std::string> message;
  satchel::runtime::Sampling sampling;
  std::thread thread;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Delta> deltas;
  std::optional<satchel::Result<Ended>> ended;
  Delta taken;  // what the host holds
};

namespace satchel::c_api {
namespace {

satchel_listener listener_of(satchel_stream& stream) {
  satchel_listener listener = SATCHEL_INIT(satchel_listener);
  listener.user = &stream;
  listener.delta = [](void* user, const satchel_delta* delta) -> int32_t {
    auto& to = *static_cast<satchel_stream*>(user);
    const std::scoped_lock lock(to.mutex);
    to.deltas.push_back({{delta->text, delta->size}, delta->is_thought != 0});
    to.changed.notify_all();
    return 0;
  };
  return listener;
}

void run(satchel_stream& stream) {
  using Ended = satchel_stream::Ended;
  Result<Ended> ended = runtime::caught<Ended>([&]() -> Result<Ended> {
    SATCHEL_TRY_ASSIGN(runtime::GenerateReport report,
                       ask(*stream.call, stream.message, stream.sampling));
    return Ended{result_of(report, *stream.session), std::move(report.text)};
  });
  stream.call.reset();
  const std::scoped_lock lock(stream.mutex);
  stream.ended = std::move(ended);
  stream.changed.notify_all();
}

Result<void> start(satchel_stream& stream) {
  try {
    stream.thread = std::thread([&stream] { run(stream); });
  } catch (const std::system_error&) {
    return Error{ErrorKind::out_of_memory, "MEMORY", "The system has no thread left for a stream."};
  }
  return {};
}

// What is there within the time: SATCHEL_STREAM_…
int32_t wait_for(satchel_stream& stream, std::unique_lock<std::mutex>& lock, int32_t timeout_ms) {
  const auto is_something = [&] { return !stream.deltas.empty() || stream.ended; };
  if (timeout_ms < 0) {
    stream.changed.wait(lock, is_something);
  } else if (!stream.changed.wait_for(lock, std::chrono::milliseconds(timeout_ms), is_something)) {
    return SATCHEL_STREAM_WAITS;
  }
  return stream.deltas.empty() ? SATCHEL_STREAM_ENDED : SATCHEL_STREAM_DELTA;
}

}  // namespace
}  // namespace satchel::c_api

using namespace satchel;
using namespace satchel::c_api;

int32_t satchel_stream_open(satchel_session* session, const char* message, size_t size,
                            const satchel_sampling* sampling, satchel_stream** stream,
                            satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (stream == nullptr) return missing("stream");
    *stream = nullptr;
    auto made = std::make_unique<satchel_stream>();
    SATCHEL_TRY_ASSIGN(made->sampling, sampling_of(sampling));
    if (message != nullptr) {
      SATCHEL_TRY_ASSIGN(made->message, text_of(message, size, "message"));
    }
    const satchel_listener listener = listener_of(*made);
    SATCHEL_TRY_ASSIGN(made->call, SessionCall::begin(session, &listener));
    made->session = session->shared;
    made->stop = made->call->stop();
    SATCHEL_TRY(start(*made));
    *stream = made.release();
    return {};
  });
}

int32_t satchel_stream_next(satchel_stream* stream, int32_t timeout_ms, satchel_delta* delta,
                            int32_t* state, satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (state == nullptr) return missing("state");
    *state = SATCHEL_STREAM_ENDED;
    SATCHEL_TRY(clear(delta));
    if (stream == nullptr) return missing("stream");
    std::unique_lock lock(stream->mutex);
    *state = wait_for(*stream, lock, timeout_ms);
    if (*state == SATCHEL_STREAM_ENDED && !stream->ended->ok()) return stream->ended->error();
    if (*state != SATCHEL_STREAM_DELTA) return {};
    stream->taken = std::move(stream->deltas.front());
    stream->deltas.pop_front();
    give(delta, {.struct_size = 0,
                 .is_thought = stream->taken.is_thought,
                 .text = stream->taken.text.c_str(),
                 .size = stream->taken.text.size()});
    return {};
  });
}

int32_t satchel_stream_result(satchel_stream* stream, satchel_result* result, satchel_buffer** text,
                              satchel_error** err) {
  return guard(err, [&]() -> Result<void> {
    if (text != nullptr) *text = nullptr;
    SATCHEL_TRY(clear(result));
    if (stream == nullptr) return missing("stream");
    std::unique_lock lock(stream->mutex);
    stream->changed.wait(lock, [&] { return stream->ended.has_value(); });
    if (!stream->ended->ok()) return stream->ended->error();
    give(result, (*stream->ended)->result);
    give_text(text, (*stream->ended)->text);
    return {};
  });
}

void satchel_stream_free(satchel_stream* stream) {
  if (stream == nullptr) return;
  stream->stop.request_stop();
  stream->thread.join();
  delete stream;
}
