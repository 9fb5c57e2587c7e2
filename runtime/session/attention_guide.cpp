#include "runtime/session/attention_guide.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace satchel::runtime {
namespace {

using kvcache::SegmentKind;

constexpr std::string_view kSaysNothing =
    "Which of these things was it, and what do you know about that?";

// Copies what each head of each token saw of its lanes.
class LseWatch final : public PrefillWatch {
 public:
  explicit LseWatch(Model& model) : model_(model) {}
  Result<void> see(const LayerStep& step) override {
    const std::size_t n_heads = model_.config().layers[step.layer].attention.n_heads;
    const std::size_t before = seen.size();
    seen.resize(before + step.batch.n_tokens * n_heads);
    SATCHEL_TRY(model_.synchronise());
    return model_.backend().download(std::as_writable_bytes(std::span(seen).subspan(before)),
                                     reinterpret_cast<const std::byte*>(step.work.lse));
  }
  std::vector<float> seen = {};

 private:
  Model& model_;
};

}  // namespace

Result<AttentionGuide::Seen> AttentionGuide::look(kvcache::Cache& fork,
                                                  std::span<const TokenId> text,
                                                  const IndexRange* episode, const ShowFn& show,
                                                  const std::stop_token& stop) const {
  const std::size_t n_before = fork.n_tokens();
  SATCHEL_TRY(show(fork, episode));
  LseWatch watch(*parts_.engine.model);
  const ProgressFn unseen;
  SATCHEL_TRY(parts_.engine.model->read_prompt(
      {.cache = fork,
       .ids = text,
       .request = {.n_tokens = text.size(), .kind = SegmentKind::message},
       .stop = stop,
       .progress = unseen,
       .watch = &watch}));
  SATCHEL_TRY(fork.edit().truncate(n_before));
  return std::move(watch.seen);
}

Result<IndexRange> AttentionGuide::words_in(std::span<const TokenId> message) const {
  const ChatTemplate& chat_template = *parts_.engine.chat_template;
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> empty,
                     chat_template.user_turn(*parts_.engine.tokenizer, ""));
  SATCHEL_TRY_ASSIGN(const std::vector<TokenId> other,
                     chat_template.user_turn(*parts_.engine.tokenizer, kSaysNothing));
  const auto n_head = std::ranges::mismatch(empty, other).in1 - empty.begin();
  const auto head =
      std::ranges::search(message, std::span(empty).first(static_cast<std::size_t>(n_head)));
  IndexRange words{.begin = 0, .end = message.size()};
  if (n_head > 0 && !head.empty())
    words.begin = static_cast<std::size_t>(head.end() - message.begin());
  for (auto at = other.rbegin(), end = empty.rbegin();
       at != other.rend() && end != empty.rend() && words.end > words.begin + 1 && *at == *end &&
       message[words.end - 1] == *at;
       ++at, ++end)
    --words.end;
  return words;
}

AttentionGuide::Shares AttentionGuide::shares(const Seen& without, const Seen& with,
                                              std::size_t n_tokens, const IndexRange& words) const {
  Shares out;
  std::size_t at = 0;  // of the layer
  for (const LayerConfig& layer : parts_.engine.model->config().layers) {
    const std::size_t n_heads = layer.attention.n_heads;
    for (std::size_t head = 0; head < n_heads; ++head) {
      double most = 0;
      for (std::size_t token = words.begin; token < words.end; ++token) {
        const std::size_t i = at + token * n_heads + head;
        most = std::max(most, 1 - std::exp(static_cast<double>(without[i]) - with[i]));
      }
      out.push_back(most);
    }
    at += n_tokens * n_heads;
  }
  return out;
}

Result<std::vector<double>> AttentionGuide::weigh(std::span<const TokenId> question,
                                                  std::span<const IndexRange> episodes,
                                                  const ShowFn& show, const std::stop_token& stop) {
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<kvcache::Cache> fork, parts_.cache->fork());
  const auto shares_of = [&](std::span<const TokenId> text, const IndexRange& words,
                             const Seen& without, const IndexRange& episode) -> Result<Shares> {
    SATCHEL_TRY_ASSIGN(const Seen with, look(*fork, text, &episode, show, stop));
    return shares(without, with, text.size(), words);
  };
  SATCHEL_TRY_ASSIGN(
      const std::vector<TokenId> nothing,
      parts_.engine.chat_template->user_turn(*parts_.engine.tokenizer, kSaysNothing));
  SATCHEL_TRY_ASSIGN(const IndexRange words, words_in(question));
  SATCHEL_TRY_ASSIGN(const IndexRange nothing_words, words_in(nothing));
  SATCHEL_TRY_ASSIGN(const Seen without, look(*fork, question, nullptr, show, stop));
  Seen nothing_without;
  std::vector<double> weights;
  for (const IndexRange& episode : episodes) {
    const std::pair ends{episode.begin, episode.end};
    if (!of_nothing_.contains(ends)) {
      if (nothing_without.empty()) {
        SATCHEL_TRY_ASSIGN(nothing_without, look(*fork, nothing, nullptr, show, stop));
      }
      SATCHEL_TRY_ASSIGN(of_nothing_[ends],
                         shares_of(nothing, nothing_words, nothing_without, episode));
    }
    SATCHEL_TRY_ASSIGN(const Shares of_question, shares_of(question, words, without, episode));
    const Shares& of_nothing = of_nothing_[ends];
    double sum = 0;
    for (std::size_t i = 0; i < of_question.size(); ++i) sum += of_question[i] - of_nothing[i];
    weights.push_back(sum / static_cast<double>(of_question.size()));
  }
  return weights;
}

}  // namespace satchel::runtime
