// Days of use: on how many different days the library was opened for writing. What is deleted after
// a month goes by this count as well as by the clock, which may be wrong by years.
#pragma once

#include <cstdint>
#include <string_view>

#include "storage/sqlite/connection.h"

namespace satchel::storage {

// Chosen: so many days of use that whoever wants something back had the time to say so.
inline constexpr std::int64_t kUseDaysKept = 10;

// Adds today where it is not among the last days counted. In the caller's transaction.
Result<void> count_use_day(Connection& db, std::int64_t now_ms);
Result<std::int64_t> use_days(Connection& db);

// Keeps the present count under `key`, in the caller's transaction.
Result<void> begin_use_days(Connection& db, std::string_view key);
// Days of use since begin_use_days(); none: it was never called for this key, or nobody can say.
Result<std::optional<std::int64_t>> use_days_since(Connection& db, std::string_view key);

}  // namespace satchel::storage
