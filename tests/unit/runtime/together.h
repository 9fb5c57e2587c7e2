// Chats that answer at once, each on a thread of its own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "runtime/chat/decode_group.h"
#include "runtime/session/session.h"

namespace satchel::runtime {

struct ChatTurn {
  Session* session = nullptr;
  TurnRequest request = {};
};

// They read their prompts one after the other, in this order; no step comes before all have.
inline std::vector<Result<GenerateReport>> answer_together(std::span<const ChatTurn> turns) {
  CallQueue queue;
  DecodeGroup group(queue);
  auto first = std::make_unique<CallQueue::Permit>(queue.wait({}).value());
  std::vector<std::unique_ptr<DecodeGroup::Member>> members;
  for (std::size_t i = 0; i < turns.size(); ++i)
    members.push_back(std::make_unique<DecodeGroup::Member>(group, ChatHandle{i + 1}));
  std::vector<std::optional<Result<GenerateReport>>> reports(turns.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < turns.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto permit = queue.wait({});
      TurnRequest request = turns[i].request;
      request.decode = [&](Turn& turn, TokenId token) { return members[i]->decode(turn, token); };
      reports[i] = turns[i].session->generate(request);
      members[i].reset();
    });
    while (queue.n_waiting() != i + 1) std::this_thread::yield();
  }
  first.reset();
  threads.clear();
  std::vector<Result<GenerateReport>> out;
  for (auto& report : reports) out.push_back(std::move(*report));
  return out;
}

}  // namespace satchel::runtime
