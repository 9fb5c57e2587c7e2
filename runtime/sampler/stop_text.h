// StopText: ends a streamed text before the first of several texts. Holds back what may yet become
// one of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace satchel::runtime {

class StopText {
 public:
  explicit StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {}
  // What can be shown now. Once found(), nothing.
  std::string push(std::string_view delta);
  std::string finish();  // what was held back and became none
  bool found() const { return !met_.empty(); }
  const std::string& met() const { return met_; }  // which one; "": none

 private:
  std::vector<std::string> stops_;
  std::string held_, met_;
};

}  // namespace satchel::runtime
