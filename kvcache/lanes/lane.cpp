#include "kvcache/lanes/lane.h"

#include <algorithm>
#include <tuple>

namespace satchel::kvcache {

std::size_t Lane::exact_bytes(const TokenShape& token, const Capacity& capacity) {
  return exact_block_bytes(capacity.n_sinks, token) + exact_block_bytes(capacity.n_tail, token);
}

Lane::Lane(Arena& arena, const Reach& reach, const TokenShape& token, ExtentId exact,
           const Capacity& capacity, std::size_t tail_kept)
    : arena_(arena),
      reach_(reach),
      token_(token),
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

bool Lane::owns_bytes(std::size_t index) const {
  const auto has_own_serial = [](const PageRecord& page) {
    return page.serial == page.bytes_serial;
  };
  if (has_own_serial(pages_[index])) return true;
  for (std::size_t i = 0; i < pages_.size(); ++i)
    if (pages_[i].extent == pages_[index].extent && i != index &&
        (i < index || has_own_serial(pages_[i])))
      return false;
  return true;
}

ExactBlock Lane::sinks() const {
  return exact_block(arena_.at(exact_), capacity_.n_sinks, token_);
}

ExactBlock Lane::tail() const {
  return exact_block(arena_.at(exact_) + exact_block_bytes(capacity_.n_sinks, token_),
                     capacity_.n_tail, token_);
}

ExactBlock Lane::moved_sinks() const {
  SATCHEL_ASSERT(has_moved_sinks_);
  return exact_block(arena_.at(moved_sinks_), capacity_.n_sinks, token_);
}

kernels::ExactRun Lane::seen_sinks() const {
  return (reach_.sinks_moved() == 0 ? sinks() : moved_sinks()).run(n_sinks_);
}

void Lane::set_moved_sinks(ExtentId extent) {
  SATCHEL_ASSERT(!has_moved_sinks_);
  moved_sinks_ = extent;
  has_moved_sinks_ = true;
}

void Lane::give_moved_sinks() {
  if (has_moved_sinks_) arena_.give(moved_sinks_);
  has_moved_sinks_ = false;
}

void Lane::set_lengths(std::size_t n_sinks, std::size_t n_tail) {
  SATCHEL_ASSERT(n_sinks <= capacity_.n_sinks && n_tail <= capacity_.n_tail);
  n_sinks_ = n_sinks;
  n_tail_ = n_tail;
  n_runs_ = 0;
  if (n_sinks > 0) runs_[n_runs_++] = seen_sinks();
  if (n_tail > 0) runs_[n_runs_++] = tail().run(n_tail);
}

void Lane::set_exact(ExtentId exact, const Capacity& capacity, std::size_t tail_kept) {
  exact_ = exact;
  capacity_ = capacity;
  tail_kept_ = tail_kept;
  set_lengths(n_sinks_, n_tail_);
}

void Lane::reserve_pages(std::size_t n_pages) {
  if (pages_.capacity() >= n_pages && views_.capacity() >= n_pages) return;
  const std::size_t n = std::max(n_pages, pages_.capacity() + pages_.capacity() / 2);
  pages_.reserve(n);
  views_.reserve(n);
}

void Lane::add_page(const PageRecord& page) {
  if (!in_reach(page)) {
    pages_.push_back(page);
    return;
  }
  const std::size_t index = views_.size();
  pages_.insert(pages_.begin() + static_cast<std::ptrdiff_t>(index), page);
  views_.emplace_back();
  set_view(index);
}

void Lane::replace_page(std::size_t index, const PageRecord& page) {
  pages_[index] = page;
  if (index < views_.size()) set_view(index);
}

void Lane::drop_empty_pages() {
  std::size_t to = 0, n_views = 0;
  for (std::size_t from = 0; from < pages_.size(); ++from) {
    if (pages_[from].live.count() == 0) {
      arena_.give(pages_[from].extent);
      continue;
    }
    pages_[to] = pages_[from];
    if (from < views_.size()) views_[n_views++] = views_[from];
    ++to;
  }
  pages_.resize(to);
  views_.resize(n_views);
}

void Lane::give_all() {
  for (const PageRecord& page : pages_) arena_.give(page.extent);
  pages_.clear();
  views_.clear();
  give_moved_sinks();
  arena_.give(exact_);
}

void Lane::refresh() {
  set_lengths(n_sinks_, n_tail_);
  for (std::size_t i = 0; i < views_.size(); ++i) set_view(i);
}

// Two pages may begin at one position where a page is seen in two parts.
void Lane::arrange() {
  const auto hidden = std::stable_partition(
      pages_.begin(), pages_.end(), [this](const PageRecord& page) { return in_reach(page); });
  const auto comes_first = [](const PageRecord& a, const PageRecord& b) {
    return std::tie(a.first_position, a.serial) < std::tie(b.first_position, b.serial);
  };
  std::sort(pages_.begin(), hidden, comes_first);
  std::sort(hidden, pages_.end(), comes_first);
  views_.resize(static_cast<std::size_t>(hidden - pages_.begin()));
  refresh();
}

void Lane::set_view(std::size_t index) {
  const PageRecord& page = pages_[index];
  const std::int32_t moved =
      reach_.moved(static_cast<std::size_t>(page.first_position)).value_or(0);
  views_[index] = {.bytes = arena_.is_here(page.extent) ? arena_.at(page.extent) : nullptr,
                   .layout = page.layout,
                   .n_tokens = page.n_tokens,
                   .live = page.live,
                   .shift = page.shift + moved,
                   .first_position = page.first_position + moved,
                   .last_position = page.last_position + moved};
}

}  // namespace satchel::kvcache
