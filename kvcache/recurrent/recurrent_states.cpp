#include "kvcache/recurrent/recurrent_states.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/base/assert.h"
#include "kvcache/base/transfer.h"
#include "kvcache/lanes/exact_block.h"
#include "kvcache/recurrent/checkpoints.h"

namespace satchel::kvcache {

std::size_t state_bytes(const CacheShape& shape) {
  std::size_t bytes = 0;
  for (const std::size_t n_values : shape.states) bytes += aligned_64(n_values * sizeof(float));
  return bytes;
}

std::size_t running_state_bytes(const CacheShape& shape) {
  return 2 * Arena::rounded_up(state_bytes(shape));
}

RecurrentStates::RecurrentStates(kernels::Backend& backend, Arena& arena, const CacheShape& shape)
    : backend_(backend),
      arena_(arena),
      interval_(shape.checkpoint_interval()),
      state_bytes_(state_bytes(shape)),
      n_values_(shape.states),
      n_carried_(shape.states.size()) {
  std::size_t offset = 0;
  for (const std::size_t n_values : n_values_) {
    offsets_.push_back(offset);
    offset += aligned_64(n_values * sizeof(float));
  }
}

RecurrentStates::~RecurrentStates() {
  clear();
  if (!is_taken_) return;
  arena_.give(beside_);
  arena_.give(running_);
}

Result<void> RecurrentStates::take() {
  if (!any()) return {};
  arena_.reserve_extents(2);
  SATCHEL_TRY_ASSIGN(running_, arena_.take(state_bytes_));
  const Result<ExtentId> second = arena_.take(state_bytes_);
  if (!second.ok()) {
    arena_.give(running_);
    return second.error();
  }
  beside_ = *second;
  is_taken_ = true;
  return {};
}

void RecurrentStates::clear() {
  drop_staged();
  while (!checkpoints_.empty()) give(checkpoints_, checkpoints_.size() - 1);
  is_zero_ = true;
  absent_ = false;
  n_text_ = 0;
  running_serial_ = 0;
}

std::size_t RecurrentStates::bytes() const {
  return is_taken_ ? 2 * arena_.bytes_of(running_) : 0;
}

std::size_t RecurrentStates::checkpoint_bytes() const {
  return (checkpoints_.size() + staged_.size()) * Arena::rounded_up(state_bytes_);
}

std::size_t RecurrentStates::checkpoints_most() const {
  const std::size_t fit = arena_.bytes() / kCheckpointShare / Arena::rounded_up(state_bytes_);
  return std::clamp<std::size_t>(fit, 1, kCheckpointsMost);
}

float* RecurrentStates::at(ExtentId extent, std::size_t layer) const {
  return reinterpret_cast<float*>(arena_.at(extent) + offsets_[layer]);
}

Result<void> RecurrentStates::copy(ExtentId to, ExtentId from) const {
  return backend_.copy(arena_.at(to), arena_.at(from), state_bytes_);
}

void RecurrentStates::give(std::vector<Checkpoint>& from, std::size_t index) {
  arena_.give(from[index].extent);
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(index));
}

Result<void> RecurrentStates::begin() {
  if (absent_)
    return Error{ErrorKind::invalid, "CACHE_RANGE",
                 "This text was cut out of another: a model with recurrent layers cannot continue "
                 "it."};
  first_ = n_text_;
  source_ = is_zero_ ? Source::zeros : Source::running;
  std::ranges::fill(n_carried_, std::size_t{0});
  return {};
}

Result<std::size_t> RecurrentStates::begin_at(std::size_t position) {
  if (!any()) return position;
  SATCHEL_TRY(begin());
  first_ = nearest(position);
  if (first_ == n_text_) return first_;
  if (first_ == 0) source_ = Source::zeros;
  if (first_ == 0) return first_;
  SATCHEL_TRY(prepare_cut(first_));
  source_ = Source::beside;
  return first_;
}

kernels::StateSequence RecurrentStates::carry(std::size_t layer, std::size_t n_tokens) {
  SATCHEL_ASSERT(layer < n_layers() && n_tokens > 0 && is_taken_);
  kernels::StateSequence sequence{.n_tokens = n_tokens, .behind = at(beside_, layer)};
  if (n_carried_[layer] > 0 || source_ == Source::beside)
    sequence.before = sequence.behind;
  else if (source_ == Source::running)
    sequence.before = at(running_, layer);
  n_carried_[layer] += n_tokens;
  return sequence;
}

// The end first, then backwards from it: what is wanted most often finds memory first.
Result<void> RecurrentStates::stage(std::size_t n_tokens, std::size_t bytes_left) {
  if (!any()) return {};
  drop_staged();
  const std::size_t end = first_ + n_tokens;
  std::vector<std::size_t> positions;
  for (const Checkpoint& checkpoint : checkpoints_) positions.push_back(checkpoint.position);
  const auto is_there = [&](std::size_t position) {
    return std::ranges::any_of(checkpoints_,
                               [&](const Checkpoint& each) { return each.position == position; });
  };
  for (const std::size_t position : wanted_checkpoints(first_, end, interval_))
    if (!is_there(position)) positions.push_back(position);
  positions = thinned(std::move(positions), end, checkpoints_most());
  while (!positions.empty()) {
    const std::size_t position = positions.back();
    positions.pop_back();
    if (is_there(position)) break;  // and so are all before it
    if (!stage_at(position, 0, bytes_left)) break;
  }
  if (staged_.empty() || staged_[0].position != first_) return {};
  staged_[0].n_kept = n_layers();
  const Result<void> copied = copy(staged_[0].extent, running_);
  if (!copied.ok()) drop_staged();
  return copied;
}

bool RecurrentStates::stage_at(std::size_t position, std::uint64_t serial, std::size_t bytes_left) {
  const std::size_t bytes = Arena::rounded_up(state_bytes_);
  while (arena_.unused_bytes() < bytes_left + bytes && !checkpoints_.empty()) {
    std::vector<std::size_t> positions;
    for (const Checkpoint& each : checkpoints_) positions.push_back(each.position);
    give(checkpoints_, least_missed(positions, position));
  }
  if (arena_.unused_bytes() < bytes_left + bytes) return false;
  const Result<ExtentId> extent = arena_.take_spare(bytes);
  if (!extent.ok()) return false;
  staged_.insert(staged_.begin(), {.position = position, .serial = serial, .extent = *extent});
  return true;
}

std::size_t RecurrentStates::n_to_checkpoint(std::size_t layer) const {
  const std::size_t here = first_ + n_carried_[layer];
  for (const Checkpoint& each : staged_)
    if (each.position > here) return each.position - here;
  return SIZE_MAX;
}

Result<void> RecurrentStates::keep(std::size_t layer) {
  const std::size_t here = first_ + n_carried_[layer];
  for (Checkpoint& each : staged_) {
    if (each.position != here) continue;
    ++each.n_kept;
    return backend_.copy(reinterpret_cast<std::byte*>(at(each.extent, layer)),
                         reinterpret_cast<const std::byte*>(at(beside_, layer)),
                         layer_bytes(layer));
  }
  return {};
}

void RecurrentStates::adopt(std::uint64_t& next_serial) {
  if (!any()) return;
  const std::size_t n = n_carried_[0];
  SATCHEL_ASSERT(n > 0 && std::ranges::count(n_carried_, n) ==
                              static_cast<std::ptrdiff_t>(n_carried_.size()));
  std::swap(running_, beside_);
  is_zero_ = false;
  n_text_ = first_ + n;
  running_serial_ = 0;
  for (Checkpoint& each : staged_) {
    SATCHEL_ASSERT(each.n_kept == n_layers());
    each.serial = next_serial++;
    if (each.position == n_text_) running_serial_ = each.serial;
    checkpoints_.push_back(each);
  }
  staged_.clear();
  std::ranges::sort(checkpoints_, {}, &Checkpoint::position);
  thin();
}

void RecurrentStates::drop_staged() {
  while (!staged_.empty()) give(staged_, staged_.size() - 1);
}

void RecurrentStates::thin() {
  while (checkpoints_.size() > checkpoints_most()) give_spare();
}

// Those that are staged are of a prefill that needs memory: they go only after the others.
bool RecurrentStates::give_spare() {
  std::vector<Checkpoint>& from = checkpoints_.empty() ? staged_ : checkpoints_;
  if (from.empty()) return false;
  std::vector<std::size_t> positions;
  for (const Checkpoint& each : from) positions.push_back(each.position);
  give(from, least_missed(positions, std::max(n_text_, positions.back())));
  return true;
}

std::size_t RecurrentStates::nearest(std::size_t position) const {
  if (!any()) return position;
  if (are_left()) return position;
  if (position >= n_text_) return n_text_;
  std::size_t nearest = 0;
  for (const Checkpoint& each : checkpoints_)
    if (each.position <= position) nearest = each.position;
  return nearest;
}

// What is copied lies beside until cut(), or until a replay has used it.
Result<void> RecurrentStates::prepare_cut(std::size_t position) {
  if (!any() || are_left() || position == 0 || position == n_text_) return {};
  for (const Checkpoint& each : checkpoints_)
    if (each.position == position) return copy(beside_, each.extent);
  return Error{ErrorKind::invalid, "CACHE_RANGE",
               "The states of the recurrent layers are not known at token " +
                   std::to_string(position) + ", so the text cannot be cut there."};
}

void RecurrentStates::cut(std::size_t position) {
  if (position == 0) return clear();
  if (!any() || are_left() || position == n_text_) return;
  std::erase_if(checkpoints_, [&](const Checkpoint& each) {
    if (each.position > position) arena_.give(each.extent);
    return each.position > position;
  });
  absent_ = false;
  std::swap(running_, beside_);
  running_serial_ = checkpoints_.back().serial;
  n_text_ = position;
}

void RecurrentStates::leave() {
  clear();
  absent_ = any();
}

Result<void> RecurrentStates::copy_to(RecurrentStates& other) const {
  SATCHEL_ASSERT(&arena_ == &other.arena_ && n_values_ == other.n_values_);
  if (!any()) return {};
  other.clear();
  if (!is_zero_) SATCHEL_TRY(other.copy(other.running_, running_));
  other.is_zero_ = is_zero_;
  other.absent_ = absent_;
  other.n_text_ = n_text_;
  other.running_serial_ = running_serial_;
  other.checkpoints_ = checkpoints_;
  for (const Checkpoint& each : checkpoints_) arena_.share(each.extent);
  return {};
}

}  // namespace satchel::kvcache
