// Several chats of one engine that answer at once.
#include <optional>
#include <vector>

#include "runtime/engine.h"
#include "runtime/session/turn.h"

namespace satchel::runtime {
namespace {

// A turn whose next token is to be decoded.
struct Waiting {
  Turn* turn = nullptr;
  TokenId token = 0;
};

// One token of each. Where the step fails for want of memory, those it left as they were take it
// alone, which makes room; what it took further without logits has failed with it.
void decode_all(Model& model, std::span<const Waiting> waiting, std::vector<DecodeItem>& items) {
  items.clear();
  std::vector<std::size_t> n_before;
  for (const Waiting& each : waiting) {
    items.push_back(
        {.cache = &each.turn->cache(), .id = each.token, .logits = each.turn->logits()});
    n_before.push_back(each.turn->cache().n_tokens());
  }
  const Result<void> step = model.decode(items);
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    Turn& turn = *waiting[i].turn;
    const bool alone = !step.ok() && step.error().kind == ErrorKind::out_of_memory &&
                       turn.cache().n_tokens() == n_before[i];
    turn.decoded(alone ? turn.decode(waiting[i].token) : step);
  }
}

}  // namespace

std::vector<Result<GenerateReport>> Engine::generate(std::span<const TurnRequest> requests) {
  std::vector<Turn> turns;
  turns.reserve(requests.size());
  for (const TurnRequest& request : requests) {
    turns.emplace_back(*request.session->state_, request);
    turns.back().begin();
  }
  std::vector<std::optional<Result<GenerateReport>>> reports(turns.size());
  std::vector<Waiting> waiting;
  std::vector<DecodeItem> items;
  do {
    waiting.clear();
    for (std::size_t i = 0; i < turns.size(); ++i) {
      if (reports[i]) continue;
      const std::optional<TokenId> token = turns[i].choose();
      if (token)
        waiting.push_back({&turns[i], *token});
      else
        reports[i] = turns[i].end();
    }
    if (waiting.size() == 1)
      waiting[0].turn->decoded(waiting[0].turn->decode(waiting[0].token));
    else if (!waiting.empty())
      decode_all(*state_->model, waiting, items);
  } while (!waiting.empty());
  std::vector<Result<GenerateReport>> out;
  for (std::optional<Result<GenerateReport>>& report : reports) out.push_back(*std::move(report));
  return out;
}

}  // namespace satchel::runtime
