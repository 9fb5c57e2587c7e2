#include "app/eval/measure/epicache.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "app/eval/measure/scripted_journal.h"
#include "runtime/session/transcript.h"
#include "runtime/tokenizer/words.h"

namespace satchel::eval {
namespace {

constexpr std::size_t kRoundsMost = 20;  // of k-means; chosen, it settles in fewer

double dot(const WordVector& a, const WordVector& b) {
  double sum = 0;
  for (const auto& [word, weight] : a)
    if (const auto at = b.find(word); at != b.end()) sum += weight * at->second;
  return sum;
}

void add(const WordVector& more, WordVector& to) {
  for (const auto& [word, weight] : more) to[word] += weight;
}

void normalise(WordVector& vector) {
  const double length = std::sqrt(dot(vector, vector));
  if (length == 0) return;
  for (auto& [word, weight] : vector) weight /= length;
}

// The first of the most similar ones.
template <class Items, class Centre>
std::size_t nearest(const WordVector& vector, const Items& items, const Centre& centre) {
  std::size_t best = 0;
  double most = -1;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (const double near = dot(vector, centre(items[i])); near > most) {
      most = near;
      best = i;
    }
  return best;
}

// The first text, then each time the one that is farthest from all chosen before.
std::vector<WordVector> first_centres(std::span<const WordVector> vectors, std::size_t n) {
  std::vector<WordVector> centres = {vectors[0]};
  std::vector<double> near(vectors.size(), -1);
  while (centres.size() < std::min(n, vectors.size())) {
    for (std::size_t i = 0; i < vectors.size(); ++i)
      near[i] = std::max(near[i], dot(vectors[i], centres.back()));
    centres.push_back(
        vectors[static_cast<std::size_t>(std::ranges::min_element(near) - near.begin())]);
  }
  return centres;
}

std::vector<WordVector> centres_of(std::span<const WordVector> vectors,
                                   std::span<const std::size_t> topic_of, std::size_t n) {
  std::vector<WordVector> centres(n);
  for (std::size_t i = 0; i < vectors.size(); ++i) add(vectors[i], centres[topic_of[i]]);
  for (WordVector& centre : centres) normalise(centre);
  return centres;
}

// Turns of a chat, and what a group of them is as tokens.
class ChatTurns {
 public:
  ChatTurns(const runtime::Engine& engine, std::span<const ChatMessage> messages)
      : engine_(engine) {
    for (const ChatMessage& message : messages) {
      if (turns_.empty() || message.speaker == Speaker::user) turns_.emplace_back();
      turns_.back().push_back(message);
      texts_.resize(turns_.size());
      texts_.back() += message.text + "\n";
    }
  }
  std::span<const std::string> texts() const { return texts_; }

  // Behind the system prompt.
  Result<std::vector<std::int32_t>> ids(std::span<const std::size_t> turns) const {
    const runtime::Thinking thinking = engine_.chat_template().least_thinking();
    std::vector<ChatMessage> messages;
    for (const std::size_t turn : turns)
      messages.insert(messages.end(), turns_[turn].begin(), turns_[turn].end());
    ScriptedJournal journal(messages, engine_.chat_template().default_system(thinking));
    runtime::Transcript transcript({.tokenizer = engine_.tokenizer(),
                                    .chat_template = engine_.chat_template(),
                                    .model_fingerprint = engine_.fingerprint(),
                                    .system = {},
                                    .thinking = thinking,
                                    .journal = &journal,
                                    .chat = ScriptedJournal::kScript});
    SATCHEL_TRY(transcript.load());
    const auto tokens = transcript.tokens();
    return std::vector<std::int32_t>(tokens.begin(), tokens.end());
  }

 private:
  const runtime::Engine& engine_;
  std::vector<std::vector<ChatMessage>> turns_;
  std::vector<std::string> texts_;
};

// Both halves of a topic: by words where they tell, else the older and the newer turns.
std::vector<Topic> parted(const Topic& topic, std::span<const WordVector> vectors) {
  std::vector<WordVector> own;
  for (const std::size_t member : topic.members) own.push_back(vectors[member]);
  std::vector<Topic> parts = topics_of(own, 2);
  if (parts.size() < 2) {
    const std::size_t half = own.size() / 2;
    parts = topics_of(std::span(own).first(half), 1);
    Topic newer = topics_of(std::span(own).subspan(half), 1)[0];
    for (std::size_t& member : newer.members) member += half;
    newer.medoid += half;
    parts.push_back(std::move(newer));
  }
  for (Topic& part : parts) {
    for (std::size_t& member : part.members) member = topic.members[member];
    part.medoid = topic.members[part.medoid];
  }
  return parts;
}

}  // namespace

WordVectors::WordVectors(std::span<const std::string> texts) : n_texts_(texts.size()) {
  for (const std::string& text : texts) {
    std::unordered_map<std::string, bool> seen;
    runtime::for_each_word(text, [&](std::string_view word) { seen[std::string(word)] = true; });
    for (const auto& [word, is_seen] : seen) ++n_texts_with_[word];
  }
}

WordVector WordVectors::of(std::string_view text) const {
  WordVector out;
  runtime::for_each_word(text, [&](std::string_view word) { out[std::string(word)] += 1; });
  for (auto& [word, weight] : out) {
    const auto at = n_texts_with_.find(word);
    const std::size_t n_with = at == n_texts_with_.end() ? 0 : at->second;
    weight *= std::log((1 + static_cast<double>(n_texts_)) / (1 + static_cast<double>(n_with))) + 1;
  }
  normalise(out);
  return out;
}

std::vector<Topic> topics_of(std::span<const WordVector> vectors, std::size_t n) {
  if (vectors.empty()) return {};
  std::vector<WordVector> centres = first_centres(vectors, n);
  std::vector<std::size_t> topic_of(vectors.size(), std::numeric_limits<std::size_t>::max());
  for (std::size_t round = 0; round < kRoundsMost; ++round) {
    std::vector<std::size_t> now;
    for (const WordVector& vector : vectors)
      now.push_back(nearest(
          vector, centres, [](const WordVector& c) -> auto& { return c; }));
    if (now == topic_of) break;
    topic_of = std::move(now);
    centres = centres_of(vectors, topic_of, centres.size());
  }
  std::vector<Topic> out;
  for (std::size_t t = 0; t < centres.size(); ++t) {
    Topic topic{.members = {}, .centre = centres[t]};
    for (std::size_t i = 0; i < vectors.size(); ++i)
      if (topic_of[i] == t) topic.members.push_back(i);
    if (topic.members.empty()) continue;
    topic.medoid = topic.members[nearest(
        topic.centre, topic.members, [&](std::size_t i) -> const auto& { return vectors[i]; })];
    out.push_back(std::move(topic));
  }
  return out;
}

Result<EpiCache> EpiCache::read(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                std::span<const ChatMessage> messages, std::size_t n_after,
                                std::stop_token stop) {
  const ChatTurns turns(engine, messages);
  EpiCache out(engine, WordVectors(turns.texts()));
  std::vector<WordVector> vectors;
  for (const std::string& text : turns.texts()) vectors.push_back(out.words_.of(text));
  std::vector<Topic> topics = topics_of(vectors, kTopics);
  while (!topics.empty()) {
    Topic topic = std::move(topics.back());
    topics.pop_back();
    std::vector<std::size_t> read = topic.members;
    read.push_back(topic.medoid);
    SATCHEL_TRY_ASSIGN(const std::vector<std::int32_t> ids, turns.ids(read));
    if (ids.size() + n_after > engine.config().context && topic.members.size() > 1) {
      for (Topic& part : parted(topic, vectors)) topics.push_back(std::move(part));
      continue;
    }
    SATCHEL_TRY_ASSIGN(
        PackedText text,
        PackedText::read(engine, recipe, {.ids = ids, .n_after = n_after, .form = TextForm::chat},
                         stop));
    out.episodes_.push_back({std::move(topic.centre), std::move(text)});
  }
  return out;
}

Result<Spoken> EpiCache::answer(const std::string& question, std::size_t n_tokens_max) {
  const runtime::ChatTemplate& chat = engine_->chat_template();
  SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> ids, chat.user_turn(engine_->tokenizer(), question));
  SATCHEL_TRY_ASSIGN(const auto head,
                     chat.assistant_head(engine_->tokenizer(), chat.least_thinking()));
  ids.insert(ids.end(), head.begin(), head.end());
  PackedText& text = episodes_[nearest(
                                   words_.of(question), episodes_,
                                   [](const Episode& e) -> auto& { return e.centre; })]
                         .text;
  Spoken out{.text = {}, .context_tokens = text.stats().n_tokens + ids.size()};
  SATCHEL_TRY_ASSIGN(out.text, text.answer(ids, {.n_tokens_max = n_tokens_max}));
  return out;
}

kvcache::CacheStats EpiCache::stats() const {
  kvcache::CacheStats out;
  for (const Episode& episode : episodes_) {
    const kvcache::CacheStats one = episode.text.stats();
    out.n_tokens += one.n_tokens;
    out.fp16_bytes += one.fp16_bytes;
    out.bytes += one.bytes;
    out.body_fp16_bytes += one.body_fp16_bytes;
    out.body_bytes += one.body_bytes;
    out.n_kept += one.n_kept;
    out.n_evicted += one.n_evicted;
  }
  return out;
}

}  // namespace satchel::eval
