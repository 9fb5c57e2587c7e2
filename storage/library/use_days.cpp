#include "storage/library/use_days.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

namespace satchel::storage {
namespace {

constexpr std::int64_t kDayMs = 86'400'000;
// "COUNT DAY DAY …": the last ones, so that a clock that goes back and forth counts no day twice.
constexpr std::string_view kKey = "use_days";
constexpr std::size_t kDaysRemembered = 32;
constexpr std::int64_t kCountMax = 1'000'000;  // what is above was not counted

Result<std::vector<std::int64_t>> numbers_at(Connection& db, std::string_view key) {
  SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT value FROM setting WHERE key = ?1"));
  SATCHEL_TRY_ASSIGN(const bool row, query.bind(1, key).step());
  std::vector<std::int64_t> numbers;
  const std::string text = row ? query.text_at(0) : std::string();
  for (const char *at = text.data(), *end = at + text.size(); at < end;) {
    std::int64_t number = 0;
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc()) break;
    numbers.push_back(number);
    at = read.ptr + (read.ptr < end ? 1 : 0);
  }
  return numbers;
}

Result<void> set_numbers(Connection& db, std::string_view key,
                         const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers)
    text += (text.empty() ? "" : " ") + std::to_string(number);
  SATCHEL_TRY_ASSIGN(Query upsert,
                     db.prepare("INSERT OR REPLACE INTO setting(key, value) VALUES(?1, ?2)"));
  return upsert.bind(1, key).bind(2, text).run();
}

}  // namespace

Result<void> count_use_day(Connection& db, std::int64_t now_ms) {
  SATCHEL_TRY_ASSIGN(std::vector<std::int64_t> numbers, numbers_at(db, kKey));
  if (numbers.empty()) numbers = {0};
  if (numbers.front() < 0 || numbers.front() > kCountMax) numbers.front() = 0;
  const std::int64_t today = now_ms / kDayMs;
  if (std::find(numbers.begin() + 1, numbers.end(), today) != numbers.end()) return {};
  ++numbers.front();
  numbers.insert(numbers.begin() + 1, today);
  if (numbers.size() > 1 + kDaysRemembered) numbers.resize(1 + kDaysRemembered);
  return set_numbers(db, kKey, numbers);
}

Result<std::int64_t> use_days(Connection& db) {
  SATCHEL_TRY_ASSIGN(const std::vector<std::int64_t> numbers, numbers_at(db, kKey));
  const bool is_counted = !numbers.empty() && numbers.front() >= 0 && numbers.front() <= kCountMax;
  return is_counted ? numbers.front() : std::int64_t{0};
}

Result<void> begin_use_days(Connection& db, std::string_view key) {
  SATCHEL_TRY_ASSIGN(const std::int64_t now, use_days(db));
  return set_numbers(db, key, {now});
}

Result<std::optional<std::int64_t>> use_days_since(Connection& db, std::string_view key) {
  SATCHEL_TRY_ASSIGN(const std::vector<std::int64_t> begun, numbers_at(db, key));
  SATCHEL_TRY_ASSIGN(const std::int64_t now, use_days(db));
  if (begun.empty() || begun.front() < 0 || begun.front() > now)
    return std::optional<std::int64_t>();
  return std::optional(now - begun.front());
}

}  // namespace satchel::storage
