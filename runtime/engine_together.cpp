// Several chats of one engine that answer at once.
#include <optional>
#include <vector>

#include "runtime/engine.h"
#include "runtime/session/session_state.h"
#include "runtime/session/turn.h"

namespace satchel::runtime {
namespace {

// A turn whose next token is to be decoded.
struct NextToken {
  Turn* turn = nullptr;
  TokenId token = 0;
  std::size_t n_before = 0;  // tokens in its cache
};

// One token of each chat. If the joint step fails, each chat that it left unchanged decodes its
// token alone, so that only those fail that would have failed alone; this also reclaims memory if
// it is full. A chat whose cache lost tokens on the way gets the step's error: it caused that.
void decode_all(Model& model, std::span<const NextToken> next, std::vector<DecodeItem>& items) {
  items.clear();
  for (const NextToken& each : next)
    items.push_back(
        {.cache = &each.turn->cache(), .id = each.token, .logits = each.turn->logits()});
  Result<void> together;
  if (next.size() > 1) together = model.decode(items);
  for (const auto& [turn, token, n_before] : next) {
    const std::size_t n = turn->cache().n_tokens();
    if (n == n_before)
      turn->decoded(turn->decode(token));
    else
      turn->decoded(n > n_before ? Result<void>() : together);
  }
}

}  // namespace

std::vector<Result<GenerateReport>> Engine::generate(std::span<const TurnRequest> requests) {
  std::vector<Turn> turns;
  turns.reserve(requests.size());
  for (const TurnRequest& request : requests) {
    Session::State& chat = *request.session->state_;
    turns.emplace_back(chat.parts, chat.prefill, request);
    turns.back().begin();
  }
  std::vector<std::optional<Result<GenerateReport>>> reports(turns.size());
  std::vector<NextToken> next;
  std::vector<DecodeItem> items;
  do {
    next.clear();
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (reports[i]) continue;
      const std::optional<TokenId> token = turns[i].choose();
      if (token)
        next.push_back({&turns[i], *token, turns[i].cache().n_tokens()});
      else
        reports[i] = turns[i].close();
    }
    decode_all(*state_->model, next, items);
  } while (!next.empty());
  std::vector<Result<GenerateReport>> out;
  for (std::size_t i = 0; i < turns.size(); ++i) out.push_back(turns[i].measure(*reports[i]));
  return out;
}

}  // namespace satchel::runtime
