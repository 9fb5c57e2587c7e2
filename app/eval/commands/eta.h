// How long is left: from the units that were measured so far, by recipe and set, as recipes differ
// several times in cost and sets in length.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace satchel::app {

class Eta {
 public:
  // What units are alike in: task and set; and the recipe.
  struct Kind {
    std::string what, recipe;
    auto operator<=>(const Kind&) const = default;
  };
  void expect(const Kind& kind) { ++to_come_[kind]; }
  void measured(const Kind& kind, double ms);  // one that was expected
  void dropped(const Kind& kind);              // one that was expected and costs nothing
  void known(const Kind& kind, double ms);     // measured in an earlier run
  // Nothing before the first unit was measured.
  std::optional<double> ms() const;

 private:
  struct Mean {
    double sum = 0;
    std::size_t n = 0;
    void add(double x) { sum += x, ++n; }
  };
  std::map<Kind, std::size_t> to_come_;
  std::map<Kind, Mean> alike_;
  std::map<std::string, Mean> same_what_;
  Mean all_;
};

// "about 4 min left", "less than a minute left"
std::string left_text(double ms);

}  // namespace satchel::app
