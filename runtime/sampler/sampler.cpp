#include "runtime/sampler/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace satchel::runtime {
namespace {

std::string number_text(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

Error out_of_range(const char* field, double value, const char* range) {
  return Error{ErrorKind::invalid, "PARAM",
               std::string(field) + " must be " + range + ", but is " + number_text(value) + "."};
}

// Divides what speaks for a token that came lately, multiplies what speaks against it.
void penalise_all(std::span<float> logits, std::span<const std::int32_t> recent, double penalty) {
  for (std::size_t i = 0; i < recent.size(); ++i) {
    const std::int32_t id = recent[i];
    if (std::find(recent.begin(), recent.begin() + static_cast<std::ptrdiff_t>(i), id) !=
        recent.begin() + static_cast<std::ptrdiff_t>(i))
      continue;  // once for each token, however often it came
    float& logit = logits[static_cast<std::size_t>(id)];
    const auto exact = static_cast<double>(logit);
    logit = static_cast<float>(exact > 0 ? exact / penalty : exact * penalty);
  }
}

// A vocabulary is read in blocks: the largest of a block is a vector maximum, and only the few
// blocks that hold a token worth keeping are read one by one.
constexpr std::size_t kBlock = 256;

template <class Visit>
void for_each_block(std::span<const float> logits, std::size_t first, const Visit& visit) {
  for (; first < logits.size(); first += kBlock)
    visit(first, logits.subspan(first, std::min(kBlock, logits.size() - first)));
}

// NaN counts as nothing.
float largest_of(std::span<const float> block) {
  constexpr std::size_t kLanes = 16;  // four vectors at once, so that none waits for another
  float most[kLanes];
  std::ranges::fill(most, -std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + kLanes <= block.size(); i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j)  // std::max() is no vector to g++
      most[j] = block[i + j] > most[j] ? block[i + j] : most[j];
  for (; i < block.size(); ++i) most[0] = std::max(most[0], block[i]);
  return *std::ranges::max_element(most);
}

std::int32_t argmax(std::span<const float> logits) {
  float most = -std::numeric_limits<float>::infinity();
  std::size_t first_of_best = 0;
  for_each_block(logits, 0, [&](std::size_t first, std::span<const float> block) {
    const float largest = largest_of(block);
    if (largest > most) most = largest, first_of_best = first;
  });
  const auto from_best = logits.subspan(first_of_best);
  const auto at = std::ranges::find(from_best, most);
  if (at == from_best.end()) return 0;  // all NaN
  return static_cast<std::int32_t>(first_of_best) +
         static_cast<std::int32_t>(at - from_best.begin());
}

}  // namespace

Result<void> check(const Sampling& sampling) {
  const auto within = [](double x, double low, double high) { return x >= low && x <= high; };
  if (!within(sampling.temperature, 0, 2))
    return out_of_range("temperature", sampling.temperature, "from 0 to 2");
  if (!within(sampling.top_p, 0, 1) || sampling.top_p == 0)
    return out_of_range("top_p", sampling.top_p, "above 0 and at most 1");
  if (!within(sampling.min_p, 0, 1) || sampling.min_p == 1)
    return out_of_range("min_p", sampling.min_p, "at least 0 and below 1");
  if (!within(sampling.repetition_penalty, 1, 2))
    return out_of_range("repetition_penalty", sampling.repetition_penalty, "from 1 to 2");
  if (std::ranges::any_of(sampling.stops, &std::string::empty))
    return Error{ErrorKind::invalid, "PARAM", "A stop text must not be empty."};
  return {};
}

void Sampler::penalise(std::span<float> logits, std::span<const std::int32_t> recent) const {
  if (sampling_.repetition_penalty > 1)
    penalise_all(logits, recent.last(std::min(recent.size(), sampling_.repetition_window)),
                 sampling_.repetition_penalty);
}

std::int32_t Sampler::choose(std::span<float> logits, std::span<const std::int32_t> recent) {
  penalise(logits, recent);
  return sampling_.temperature == 0 ? argmax(logits) : draw_from(logits);
}

std::optional<std::int32_t> Sampler::choose(std::span<float> logits,
                                            std::span<const std::int32_t> recent,
                                            TokenFilter& filter) {
  penalise(logits, recent);
  if (sampling_.temperature == 0) {
    const std::int32_t likeliest = argmax(logits);
    if (filter.allows(likeliest)) return likeliest;
  }
  if (!filter.mask(logits)) return std::nullopt;
  return sampling_.temperature == 0 ? argmax(logits) : draw_from(logits);
}

std::int32_t Sampler::draw_from(std::span<const float> logits) {
  rank(logits);
  cut_tail();
  return draw();
}

// candidates_: the top_k, likeliest first, ties to the lower id. The least likely of those found so
// far stands at the front of a heap, so that a large vocabulary is read once and hardly ever
// written.
void Sampler::rank(std::span<const float> logits) {
  const auto likelier = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  const std::size_t keep =
      sampling_.top_k == 0 ? logits.size() : std::min(sampling_.top_k, logits.size());
  candidates_.clear();
  for (std::size_t i = 0; i < keep; ++i)
    candidates_.push_back({static_cast<std::int32_t>(i), logits[i]});
  std::make_heap(candidates_.begin(), candidates_.end(), likelier);
  for_each_block(logits, keep, [&](std::size_t first, std::span<const float> block) {
    if (!(largest_of(block) > candidates_.front().logit)) return;
    for (std::size_t i = 0; i < block.size(); ++i) {
      if (!(block[i] > candidates_.front().logit)) continue;  // an equal one has the higher id
      std::pop_heap(candidates_.begin(), candidates_.end(), likelier);
      candidates_.back() = {static_cast<std::int32_t>(first + i), block[i]};
      std::push_heap(candidates_.begin(), candidates_.end(), likelier);
    }
  });
  std::sort_heap(candidates_.begin(), candidates_.end(), likelier);
  while (candidates_.size() > 1 && std::isinf(candidates_.back().logit)) candidates_.pop_back();
}

// Turns logits into weights relative to the likeliest token (weight 1), then drops what top-p and
// min-p leave out.
void Sampler::cut_tail() {
  const double top = static_cast<double>(candidates_.front().logit);
  weights_.clear();
  double sum = 0;
  for (const Candidate& candidate : candidates_) {
    weights_.push_back(
        std::exp((static_cast<double>(candidate.logit) - top) / sampling_.temperature));
    sum += weights_.back();
  }
  double so_far = 0;
  std::size_t keep = 0;
  while (keep < weights_.size() && (keep == 0 || so_far < sampling_.top_p * sum))
    so_far += weights_[keep++];
  while (keep > 1 && weights_[keep - 1] < sampling_.min_p) --keep;
  weights_.resize(keep);
}

std::int32_t Sampler::draw() {
  double sum = 0;
  for (const double weight : weights_) sum += weight;
  double rest = rng_.uniform() * sum;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    rest -= weights_[i];
    if (rest < 0) return candidates_[i].id;
  }
  return candidates_[weights_.size() - 1].id;  // rounding left a crumb
}

}  // namespace satchel::runtime
