#include "kvcache/lanes/lane.h"

namespace satchel::kvcache {

std::size_t Lane::exact_bytes(std::size_t head_dim, const Capacity& capacity) {
  return exact_block_bytes(capacity.n_sinks, head_dim) +
         exact_block_bytes(capacity.n_tail, head_dim);
}

Lane::Lane(Arena& arena, std::size_t head_dim, ExtentId exact, const Capacity& capacity,
           std::size_t tail_kept)
    : arena_(arena),
      head_dim_(head_dim),
      exact_(exact),
      capacity_(capacity),
      tail_kept_(tail_kept) {}

std::size_t Lane::n_body() const {
  std::size_t n = 0;
  for (const PageRecord& page : pages_) n += page.live.count();
  return n;
}

std::size_t Lane::n_slots() const {
  std::size_t n = n_sinks_ + n_tail_;
  for (const PageRecord& page : pages_) n += page.n_tokens;
  return n;
}

ExactBlock Lane::sinks() const {
  return exact_block(arena_.at(exact_), capacity_.n_sinks, head_dim_);
}

ExactBlock Lane::tail() const {
  return exact_block(arena_.at(exact_) + exact_block_bytes(capacity_.n_sinks, head_dim_),
                     capacity_.n_tail, head_dim_);
}

void Lane::set_lengths(std::size_t n_sinks, std::size_t n_tail) {
  SATCHEL_ASSERT(n_sinks <= capacity_.n_sinks && n_tail <= capacity_.n_tail);
  n_sinks_ = n_sinks;
  n_tail_ = n_tail;
  n_runs_ = 0;
  if (n_sinks > 0) runs_[n_runs_++] = sinks().run(n_sinks);
  if (n_tail > 0) runs_[n_runs_++] = tail().run(n_tail);
}

void Lane::set_exact(ExtentId exact, const Capacity& capacity, std::size_t tail_kept) {
  exact_ = exact;
  capacity_ = capacity;
  tail_kept_ = tail_kept;
  set_lengths(n_sinks_, n_tail_);
}

void Lane::reserve_pages(std::size_t n_pages) {
  pages_.reserve(n_pages);
  views_.reserve(n_pages);
}

void Lane::add_page(const PageRecord& page) {
  pages_.push_back(page);
  views_.emplace_back();
  set_view(pages_.size() - 1);
}

void Lane::replace_page(std::size_t index, const PageRecord& page) {
  pages_[index] = page;
  set_view(index);
}

void Lane::drop_empty_pages() {
  std::size_t to = 0;
  for (std::size_t from = 0; from < pages_.size(); ++from) {
    if (pages_[from].live.count() == 0) {
      arena_.give(pages_[from].extent);
      continue;
    }
    pages_[to] = pages_[from];
    views_[to++] = views_[from];
  }
  pages_.resize(to);
  views_.resize(to);
}

void Lane::give_all() {
  for (const PageRecord& page : pages_) arena_.give(page.extent);
  pages_.clear();
  views_.clear();
  arena_.give(exact_);
}

void Lane::refresh() {
  set_lengths(n_sinks_, n_tail_);
  for (std::size_t i = 0; i < pages_.size(); ++i) set_view(i);
}

void Lane::set_view(std::size_t index) {
  const PageRecord& page = pages_[index];
  views_[index] = {.bytes = arena_.at(page.extent),
                   .layout = page.layout,
                   .n_tokens = page.n_tokens,
                   .live = page.live,
                   .shift = page.shift,
                   .first_position = page.first_position,
                   .last_position = page.last_position};
}

}  // namespace satchel::kvcache
