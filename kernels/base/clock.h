// Clock: the source of time, which tests can replace.
#pragma once

#include <chrono>
#include <cstdint>

namespace satchel {

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since 1970, UTC: for what people see. May jump.
  virtual std::int64_t wall_ms() const = 0;
  // Monotonic milliseconds from an arbitrary origin: for durations.
  virtual double steady_ms() const = 0;
};

class SystemClock final : public Clock {
 public:
  std::int64_t wall_ms() const override {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  }
  double steady_ms() const override {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
  }
};

}  // namespace satchel
