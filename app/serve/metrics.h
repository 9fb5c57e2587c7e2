// Metrics: what the server counts since it began. Numbers only: no words, no names.
//   threads  any
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace satchel::serve {

struct Metrics {
  std::array<std::atomic<std::uint64_t>, 6> responses = {};  // by the first digit of the status
  std::atomic<std::uint64_t> answers = 0, answers_cut = 0, clients_left = 0;
  std::atomic<std::uint64_t> prompt_tokens = 0, cached_tokens = 0, answer_tokens = 0;
  std::atomic<std::uint64_t> chats_closed = 0;  // to make room
  // As they were last.
  std::atomic<std::uint64_t> chats_open = 0, chats_known = 0;
  std::atomic<std::uint64_t> arena_bytes = 0, arena_used_bytes = 0;
};

// As Prometheus reads it (text format 0.0.4).
std::string to_text(const Metrics& metrics, std::uint64_t n_asked);

}  // namespace satchel::serve
