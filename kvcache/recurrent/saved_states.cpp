// RecurrentStates: to a snapshot and back.
#include <algorithm>
#include <utility>

#include "kernels/base/assert.h"
#include "kvcache/recurrent/checkpoints.h"
#include "kvcache/recurrent/recurrent_states.h"

namespace satchel::kvcache {

// Running states stand for a checkpoint at the end of the text.
std::vector<SavedState> RecurrentStates::saved(std::uint64_t& next_serial) {
  std::vector<SavedState> all;
  if (!any() || absent_ || is_zero_) return all;
  std::vector<std::size_t> positions;
  for (const Checkpoint& each : checkpoints_)
    if (each.position < n_text_) positions.push_back(each.position);
  const std::size_t worth = n_text_ * token_bytes_ / kSavedShare / form(packs_).bytes;
  positions = thinned(std::move(positions), n_text_, std::max(worth, kSavedLeast));
  for (const Checkpoint& each : checkpoints_)
    if (std::ranges::binary_search(positions, each.position))
      all.push_back(
          {.position = each.position, .serial = each.serial, .is_packed = each.is_packed});
  if (running_serial_ == 0) running_serial_ = next_serial++;
  all.push_back({.position = n_text_, .serial = running_serial_});
  return all;
}

Result<void> RecurrentStates::download(std::uint64_t serial, std::size_t layer,
                                       std::span<std::byte> to) const {
  const std::byte* from = serial == running_serial_ ? at(running_, layer) : nullptr;
  for (const Checkpoint& each : checkpoints_)
    if (each.serial == serial && from == nullptr) from = at(each.extent, layer, each.is_packed);
  SATCHEL_ASSERT(from != nullptr);
  return backend_.download(to, from);
}

// The newest first: they are what is wanted first.
void RecurrentStates::expect(std::span<const SavedState> saved, std::size_t bytes_left) {
  SATCHEL_ASSERT(n_text_ == 0 && checkpoints_.empty());
  drop_staged();
  n_running_here_ = 0;
  expected_running_ = saved.empty() ? 0 : saved.back().serial;
  if (saved.empty()) return;
  std::vector<std::size_t> positions;
  for (const SavedState& each : saved) positions.push_back(each.position);
  const std::vector<std::size_t> wanted =
      thinned(positions, positions.back(), checkpoints_most() + 1);
  for (auto each = saved.rbegin() + 1; each != saved.rend(); ++each)
    if (std::ranges::binary_search(wanted, each->position) && !stage_at(*each, bytes_left)) return;
}

const RecurrentStates::Checkpoint* RecurrentStates::staged_of(std::uint64_t serial) const {
  const auto found = std::ranges::find(staged_, serial, &Checkpoint::serial);
  return found == staged_.end() ? nullptr : &*found;
}

RecurrentStates::Checkpoint* RecurrentStates::staged_of(std::uint64_t serial) {
  return const_cast<Checkpoint*>(std::as_const(*this).staged_of(serial));
}

bool RecurrentStates::expects(std::uint64_t serial) const {
  return serial != 0 && (serial == expected_running_ || staged_of(serial) != nullptr);
}

std::size_t RecurrentStates::n_here(std::uint64_t serial) const {
  SATCHEL_ASSERT(expects(serial));
  return serial == expected_running_ ? n_running_here_ : staged_of(serial)->n_kept;
}

bool RecurrentStates::is_packed(std::uint64_t serial) const {
  SATCHEL_ASSERT(expects(serial));
  return serial != expected_running_ && staged_of(serial)->is_packed;
}

Result<void> RecurrentStates::put(std::uint64_t serial, std::size_t layer,
                                  std::span<const std::byte> from) {
  SATCHEL_ASSERT(layer == n_here(serial) && from.size() == layer_bytes(layer, is_packed(serial)));
  Checkpoint* const staged = serial == expected_running_ ? nullptr : staged_of(serial);
  ++(staged == nullptr ? n_running_here_ : staged->n_kept);
  return backend_.upload(
      staged == nullptr ? at(running_, layer) : at(staged->extent, layer, staged->is_packed), from);
}

void RecurrentStates::forget(std::uint64_t serial) {
  if (serial == expected_running_) n_running_here_ = 0;
  if (Checkpoint* const staged = staged_of(serial)) staged->n_kept = 0;
}

bool RecurrentStates::all_are_here() const {
  const auto is_here = [this](const Checkpoint& each) { return each.n_kept == n_layers(); };
  return (expected_running_ == 0 || n_running_here_ == n_layers()) &&
         std::ranges::all_of(staged_, is_here);
}

std::size_t RecurrentStates::nearest_whole(std::size_t position, std::size_t n_tokens) const {
  if (position == n_tokens && n_running_here_ == n_layers()) return n_tokens;
  std::size_t nearest = 0;
  for (const Checkpoint& each : staged_)
    if (each.position <= position && each.n_kept == n_layers()) nearest = each.position;
  return nearest;
}

void RecurrentStates::adopt_saved(std::size_t n_tokens) {
  if (!any()) return;
  for (std::size_t i = staged_.size(); i-- > 0;)
    if (staged_[i].n_kept != n_layers()) give(staged_, i);
  checkpoints_ = std::move(staged_);
  staged_.clear();
  n_text_ = n_tokens;
  is_zero_ = false;
  absent_ = n_running_here_ != n_layers();
  running_serial_ = absent_ ? 0 : expected_running_;
}

}  // namespace satchel::kvcache
