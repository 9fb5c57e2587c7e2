#include "kvcache/lanes/score_store.h"

#include <algorithm>
#include <array>

#include "kvcache/base/transfer.h"

namespace satchel::kvcache {
namespace {

constexpr std::array<std::byte, ScoreStore::kChunk * sizeof(float)> kZeros = {};

}  // namespace

std::size_t ScoreStore::bytes_for(std::size_t n_lanes, std::size_t n_positions) {
  const std::size_t n_chunks = (n_positions + kChunk - 1) / kChunk;
  return n_chunks * Arena::rounded_up(n_lanes * kChunk * sizeof(float));
}

ScoreStore::ScoreStore(kernels::Backend& backend, Arena& arena, std::size_t n_lanes)
    : backend_(backend), arena_(arena), n_lanes_(n_lanes) {}

ScoreStore::~ScoreStore() {
  clear();
}

void ScoreStore::reserve(std::size_t n_positions) {
  chunks_.reserve(n_positions / kChunk + 1);
}

bool ScoreStore::has(std::size_t position) const {
  const std::size_t chunk = position / kChunk;
  return chunk < chunks_.size() && chunks_[chunk].held;
}

Result<void> ScoreStore::ensure(std::size_t first, std::size_t n) {
  if (n == 0) return {};
  const std::size_t last = (first + n - 1) / kChunk;
  if (chunks_.size() <= last) chunks_.resize(last + 1);
  const std::size_t bytes = n_lanes_ * kChunk * sizeof(float);
  for (std::size_t i = first / kChunk; i <= last; ++i) {
    if (chunks_[i].held) continue;
    SATCHEL_TRY_ASSIGN(const ExtentId extent, arena_.take(bytes));
    chunks_[i].extent = extent;
    for (std::size_t lane = 0; lane < n_lanes_; ++lane) {
      const Result<void> zeroed =
          backend_.upload(reinterpret_cast<std::byte*>(row(lane, i * kChunk)), kZeros);
      if (zeroed.ok()) continue;
      arena_.give(extent);
      return zeroed.error();
    }
    chunks_[i].held = true;
  }
  return {};
}

std::size_t ScoreStore::missing_bytes(std::size_t first, std::size_t n) const {
  std::size_t n_missing = 0;
  for (std::size_t i = first / kChunk; i * kChunk < first + n; ++i)
    n_missing += has(i * kChunk) ? 0u : 1u;
  return n_missing * Arena::rounded_up(n_lanes_ * kChunk * sizeof(float));
}

Result<void> ScoreStore::read(std::size_t lane, std::size_t first, std::span<float> scores) const {
  for (std::size_t done = 0; done < scores.size();) {
    const std::size_t at = first + done;
    const std::size_t n = std::min(scores.size() - done, kChunk - at % kChunk);
    if (has(at)) {
      SATCHEL_TRY(download(backend_, scores.subspan(done, n), row(lane, at)));
    } else {
      std::fill_n(scores.begin() + static_cast<std::ptrdiff_t>(done), n, 0.0f);
    }
    done += n;
  }
  return {};
}

Result<void> ScoreStore::write(std::size_t lane, std::size_t first, std::span<const float> scores) {
  for (std::size_t done = 0; done < scores.size();) {
    const std::size_t at = first + done;
    const std::size_t n = std::min(scores.size() - done, kChunk - at % kChunk);
    SATCHEL_ASSERT(has(at));
    SATCHEL_TRY(upload(backend_, row(lane, at), scores.subspan(done, n)));
    done += n;
  }
  return {};
}

Result<void> ScoreStore::zero_from(std::size_t first) {
  if (!has(first)) return {};
  const auto zeros = std::span(kZeros).subspan(first % kChunk * sizeof(float));
  for (std::size_t lane = 0; lane < n_lanes_; ++lane)
    SATCHEL_TRY(backend_.upload(reinterpret_cast<std::byte*>(row(lane, first)), zeros));
  return {};
}

void ScoreStore::keep_only(std::size_t first, std::size_t end) {
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    const bool wanted = i * kChunk < end && (i + 1) * kChunk > first;
    if (!chunks_[i].held || wanted) continue;
    arena_.give(chunks_[i].extent);
    chunks_[i].held = false;
  }
}

void ScoreStore::keep_only(std::span<const std::size_t> firsts) {
  for (std::size_t i = 0; i < chunks_.size(); ++i) {
    if (!chunks_[i].held || std::ranges::find(firsts, i * kChunk) != firsts.end()) continue;
    arena_.give(chunks_[i].extent);
    chunks_[i].held = false;
  }
}

std::size_t ScoreStore::bytes() const {
  std::size_t bytes = 0;
  for (const Chunk& chunk : chunks_) bytes += chunk.held ? arena_.bytes_of(chunk.extent) : 0;
  return bytes;
}

std::vector<std::size_t> ScoreStore::chunks() const {
  std::vector<std::size_t> firsts;
  for (std::size_t i = 0; i < chunks_.size(); ++i)
    if (chunks_[i].held) firsts.push_back(i * kChunk);
  return firsts;
}

float* ScoreStore::row(std::size_t lane, std::size_t position) const {
  const std::size_t chunk = position / kChunk;
  return reinterpret_cast<float*>(arena_.at(chunks_[chunk].extent)) + lane * kChunk +
         position % kChunk;
}

}  // namespace satchel::kvcache
