// What the C API adds to an answer: processor time of a token through satchel_send, with a listener
// and a session that keeps its figures, beside Session::generate without any; rounds in turn, one
// thread, the shortest of each.
//   bench_embed MODEL [TOKENS] [ROUNDS]
#include <satchel/satchel.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "bench/rounds.h"
#include "runtime/engine.h"
#include "runtime/limits/presets.h"

namespace satchel::bench {
namespace {

constexpr const char* kQuestion = "Write a long story about a lighthouse.";

void must_do(int32_t status, satchel_error* error) {
  if (status == SATCHEL_OK) return;
  std::fprintf(stderr, "%s\n", satchel_error_message(error));
  std::exit(1);
}

// Each round a chat of its own, so that both are of the same length.
double direct_ms(runtime::Engine& engine, const runtime::Sampling& sampling) {
  const runtime::SessionOptions options(must(runtime::resolve_recipe("full")));
  const auto session = must(engine.new_session(options));
  must(session->add_user(kQuestion));
  must(session->read({}, {}));
  const double began = now_seconds(Time::of_thread);
  const runtime::GenerateReport report = must(session->generate(sampling, {}, {}, {}));
  return 1e3 * (now_seconds(Time::of_thread) - began) / static_cast<double>(report.n_tokens);
}

double embedded_ms(satchel_model* model, const satchel_sampling& sampling) {
  satchel_session* session = nullptr;
  satchel_error* error = nullptr;
  must_do(satchel_session_create(model, nullptr, nullptr, &session, &error), error);
  satchel_message message = SATCHEL_INIT(satchel_message);
  message.role = SATCHEL_USER;
  message.text = kQuestion;
  message.size = SATCHEL_NUL_ENDED;
  must_do(satchel_append(session, &message, 1, nullptr, &error), error);
  must_do(satchel_prefill(session, nullptr, nullptr, &error), error);
  std::size_t n_bytes = 0;
  const auto hear = [](void* user, const satchel_delta* delta) -> int32_t {
    *static_cast<std::size_t*>(user) += delta->size;
    return 0;
  };
  satchel_listener listener = SATCHEL_INIT(satchel_listener);
  listener.delta = hear;
  listener.user = &n_bytes;
  satchel_result result = SATCHEL_INIT(satchel_result);
  const double began = now_seconds(Time::of_thread);
  must_do(satchel_answer(session, &sampling, &listener, &result, nullptr, &error), error);
  const double ms = 1e3 * (now_seconds(Time::of_thread) - began) / double(result.n_answer);
  satchel_session_free(session);
  return ms;
}

void run(int argc, char** argv) {
  const std::size_t n_tokens = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 64;
  const int n_rounds = argc > 3 ? std::atoi(argv[3]) : 8;
  runtime::EngineOptions options;
  options.model = argv[1];
  options.backend = "cpu";
  options.n_threads = 1;
  const auto engine = must(runtime::Engine::open(options));
  runtime::Sampling sampling;
  sampling.n_tokens_max = n_tokens;
  sampling.ends_loops = false;

  satchel_runtime* runtime = nullptr;
  satchel_model* model = nullptr;
  satchel_error* error = nullptr;
  must_do(satchel_runtime_create(nullptr, &runtime, &error), error);
  satchel_model_options how = SATCHEL_INIT(satchel_model_options);
  how.backend = "cpu";
  how.n_threads = 1;
  must_do(satchel_model_load(runtime, argv[1], &how, nullptr, &model, &error), error);
  satchel_sampling embedded = SATCHEL_INIT(satchel_sampling);
  embedded.n_tokens_max = n_tokens;
  embedded.allow_loops = 1;

  double direct = 1e9, through = 1e9;
  for (int round = 0; round < n_rounds; ++round) {
    direct = std::min(direct, direct_ms(*engine, sampling));
    through = std::min(through, embedded_ms(model, embedded));
  }
  std::printf("%zu tokens: Session %.3f ms each, C API %.3f ms each: %+.2f %%\n", n_tokens, direct,
              through, 100 * (through / direct - 1));
  satchel_model_free(model);
  satchel_runtime_free(runtime);
}

}  // namespace
}  // namespace satchel::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "bench_embed MODEL [TOKENS] [ROUNDS]\n");
    return 2;
  }
  satchel::bench::run(argc, argv);
  return 0;
}
