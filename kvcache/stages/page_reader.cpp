#include "kvcache/stages/page_reader.h"

#include <algorithm>

namespace satchel::kvcache {

Result<void> PageReader::read_budget(Params& params) {
  SATCHEL_TRY_ASSIGN(tokens_,
                     params.count("tokens", {.fallback = 1024, .min = 1, .max = 1u << 30}));
  SATCHEL_TRY_ASSIGN(pages_, params.count("pages", {.fallback = 3, .min = 1, .max = 1u << 20}));
  SATCHEL_TRY_ASSIGN(dense_layers_,
                     params.count("dense_layers", {.fallback = 2, .min = 0, .max = 1000}));
  return {};
}

void PageReader::choose(const Step& step, std::vector<std::size_t>& chosen) const {
  const std::size_t n_pages = step.pages.size();
  SATCHEL_ASSERT(step.scale > 0 && step.work.size() == 2 * n_pages);
  for (std::size_t page = 0; page < n_pages; ++page)
    if (step.pages[page].live.count() > 0) chosen.push_back(page);
  if (step.layer < dense_layers_ || chosen.size() <= pages_) return;
  const std::span<float> shares = step.work.first(n_pages);
  std::fill(shares.begin(), shares.end(), kNotThere);
  for (std::size_t first = 0; first < step.q.size(); first += step.head_dim)
    raise_shares(step, step.q.subspan(first, step.head_dim), chosen);
  for (const std::size_t page : chosen)
    if (step.pages[page].shift != 0) shares[page] = kNeverEvict;
  std::sort(chosen.begin(), chosen.end(), [&](std::size_t a, std::size_t b) {
    return shares[a] != shares[b] ? shares[a] > shares[b] : a < b;
  });
  chosen.resize(n_enough(step, shares, chosen));
  std::sort(chosen.begin(), chosen.end());
}

// How many of the pages, best first, are read.
std::size_t PageReader::n_enough(const Step& step, std::span<const float> shares,
                                 std::span<const std::size_t> order) const {
  std::size_t n_tokens = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool is_enough = i >= pages_ && n_tokens >= tokens_;
    if (is_enough && shares[order[i]] != kNeverEvict) return i;
    n_tokens += step.pages[order[i]].live.count();
  }
  return order.size();
}

// One query head's shares of the pages, kept where larger than those of the heads before.
void PageReader::raise_shares(const Step& step, std::span<const float> q,
                              std::span<const std::size_t> pages) const {
  const std::span<float> shares = step.work.first(step.pages.size());
  const std::span<float> weights = step.work.last(step.pages.size());
  LogSum all;
  for (const std::size_t page : pages) {
    const kernels::PageView& view = step.pages[page];
    SATCHEL_ASSERT(step.notes[page].size() == note_bytes(step.head_dim));
    const double found = weight(
        {.note = step.notes[page], .n_tokens = view.n_tokens, .live = view.live}, q, step.scale);
    weights[page] = std::isfinite(found) ? static_cast<float>(found) : kNotThere;
    all.add(static_cast<double>(weights[page]));
  }
  const auto logsumexp = static_cast<float>(all.value());
  for (const std::size_t page : pages)
    if (std::isfinite(weights[page]))
      shares[page] = std::max(shares[page], weights[page] - logsumexp);
}

double product(std::span<const float> q, std::span<const std::byte> rows, std::size_t row) {
  double sum = 0;
  for (std::size_t c = 0; c < q.size(); ++c)
    sum += static_cast<double>(q[c] * half_at(rows, row * q.size() + c));
  return sum;
}

}  // namespace satchel::kvcache
