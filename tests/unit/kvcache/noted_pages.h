// Pages of known keys with a page selector's notes of them; positions count on from 0.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

struct NotedPages {
  std::size_t head_dim = 0;
  std::vector<std::vector<std::byte>> notes;
  std::vector<kernels::PageView> pages;
  std::vector<std::int32_t> positions;
  mutable std::vector<kernels::LiveMask> read;  // as the last choice left it

  // keys [n_tokens, head_dim] of each page
  NotedPages(const Reader& reader, std::span<const std::vector<float>> keys, std::size_t d)
      : head_dim(d) {
    for (const std::vector<float>& k : keys) {
      const std::size_t n = k.size() / d;
      reader.note(k, d, notes.emplace_back(reader.note_bytes(d)));
      const auto first = static_cast<std::int32_t>(positions.size());
      for (std::size_t t = 0; t < n; ++t) positions.push_back(first + static_cast<std::int32_t>(t));
      pages.push_back({.n_tokens = static_cast<std::uint32_t>(n),
                       .live = kernels::LiveMask::first(n),
                       .first_position = first,
                       .last_position = positions.back()});
    }
  }

  // q [n_group, head_dim]. Behind layer 0 a reader that carries is told what a lane would leave
  // that held the second half of the text alone.
  std::vector<std::size_t> choose(const Reader& reader, std::span<const float> q,
                                  std::size_t layer = 5, float scale = 1) const {
    const std::vector<std::span<const std::byte>> noted(notes.begin(), notes.end());
    std::vector<float> work(2 * std::max(pages.size(), positions.size()));
    if (!reader.chooses_tokens()) work.resize(2 * pages.size());
    read.clear();
    for (const kernels::PageView& page : pages) read.push_back(page.live);
    Reader::Carried carried = carried_to(reader, layer);
    std::vector<float> attention;
    if (reader.n_carried() > 0 && reader.needs_attention(layer, carried))
      for (std::size_t i = 0; i < positions.size(); ++i)
        attention.push_back(static_cast<float>(i * 7919 % 1000) / 1000);
    std::vector<std::size_t> chosen;
    chosen.reserve(pages.size());
    reader.choose({.layer = layer,
                   .scale = scale,
                   .q = q,
                   .head_dim = head_dim,
                   .notes = noted,
                   .pages = pages,
                   .work = work,
                   .read = read,
                   .positions = positions,
                   .attention = attention,
                   .carried = &carried},
                  chosen);
    return chosen;
  }

 private:
  Reader::Carried carried_to(const Reader& reader, std::size_t layer) const {
    if (layer == 0) return {};
    const std::size_t n = std::min(reader.n_carried(), positions.size() / 2);
    return {.is_set = true,
            .layer = layer,
            .positions = {positions.end() - static_cast<std::ptrdiff_t>(n), positions.end()}};
  }
};

}  // namespace satchel::kvcache
