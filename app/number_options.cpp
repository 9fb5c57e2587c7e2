#include "app/number_options.h"

#include <charconv>

namespace satchel::app {

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const bool is_bounded = most != std::numeric_limits<std::uint64_t>::max();
  const std::string wanted = "a whole number from " + std::to_string(least) +
                             (is_bounded ? " to " + std::to_string(most) : " up");
  return CLI::Validator(
      [=](const std::string& text) {
        std::uint64_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [stopped, error] = std::from_chars(text.data(), end, value);
        const bool fits = error == std::errc() && stopped == end && value >= least && value <= most;
        return fits ? std::string() : "\"" + text + "\" is not " + wanted;
      },
      "");
}

Result<std::size_t> parse_bytes(std::string_view text) {
  const auto bad = [&] {
    return Error{
        ErrorKind::invalid, "PARAM",
        "\"" + std::string(text) + "\" is not a size. Use for example 300MB, 1.5GB or 512MiB."};
  };
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value >= 0)) return bad();
  std::string unit(end, text.data() + text.size());
  std::erase(unit, ' ');
  for (char& c : unit)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  struct Unit {
    std::string_view name;
    double factor;
  };
  constexpr Unit kUnits[] = {{"", 1},         {"b", 1},       {"k", 1e3},      {"kb", 1e3},
                             {"m", 1e6},      {"mb", 1e6},    {"g", 1e9},      {"gb", 1e9},
                             {"t", 1e12},     {"tb", 1e12},   {"kib", 0x1p10}, {"mib", 0x1p20},
                             {"gib", 0x1p30}, {"tib", 0x1p40}};
  for (const Unit& known : kUnits)
    if (unit == known.name && value * known.factor < 0x1p53)
      return static_cast<std::size_t>(value * known.factor);
  return bad();
}

}  // namespace satchel::app
