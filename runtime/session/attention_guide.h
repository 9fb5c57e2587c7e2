// AttentionGuide: which episodes a question attends to, where its words do not tell.
//   weight   of each head the greatest share of attention that any token of the question gives the
//            episode, shown to it alone; less what a question that says nothing gives it; the mean
//            over all heads of all layers
//   source   ours. In one pass over all episodes, or with queries that have not seen the episode,
//            it hardly tells them apart (docs/benchmarks/2026-11-beyond-context.md)
//   cost     passes over the question: one, and one for each episode; and once for an episode over
//            the other question
//   errors   those of Cache::fork, CacheEdit::set_reach and Model::read_prompt
//   threads  one call at a time
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "kernels/base/index_range.h"
#include "runtime/session/chat_parts.h"

namespace satchel::runtime {

class AttentionGuide {
 public:
  // Shows a fork of the chat's cache the system prompt and one episode alone; null: no episode.
  using ShowFn = std::function<Result<void>(kvcache::Cache& fork, const IndexRange* episode)>;

  explicit AttentionGuide(const ChatParts& parts) : parts_(parts) {}

  // The episodes' weights [episodes]. question: a message's token ids. None of the episodes rests.
  Result<std::vector<double>> weigh(std::span<const TokenId> question,
                                    std::span<const IndexRange> episodes, const ShowFn& show,
                                    const std::stop_token& stop);
  // Other text may come to stand where there is text now.
  void forget() { of_nothing_.clear(); }

 private:
  // Log-sum-exps of what a text's tokens see [layers][tokens][heads]; side by side.
  using Seen = std::vector<float>;
  using Shares = std::vector<double>;  // [heads of all layers]
  Result<Seen> look(kvcache::Cache& fork, std::span<const TokenId> text, const IndexRange* episode,
                    const ShowFn& show, const std::stop_token& stop) const;
  // The tokens that are the words of a message, without what the template puts around them.
  Result<IndexRange> words_in(std::span<const TokenId> message) const;
  Shares shares(const Seen& without, const Seen& with, std::size_t n_tokens,
                const IndexRange& words) const;

  ChatParts parts_;
  // Of a question that says nothing, by the episode's ends. Thinning an episode changes little.
  std::map<std::pair<std::size_t, std::size_t>, Shares> of_nothing_ = {};
};

}  // namespace satchel::runtime
