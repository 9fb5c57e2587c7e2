// EvalLog: the file of `--log`: each unit that was measured is a line of JSON, written as soon as
// it is there, so that a run that was stopped goes on where it was.
//   a line   {"satchel_eval": 1, "key": …, then what people want to know of the unit, "grades":
//            […]}
//   key      hash of all that the figures depend on: model, task and its settings, recipe, item
//   torn     a line that is no whole JSON (the machine went down) is passed over with a warning;
//            what is written next begins a new line. A file that is something else is refused
//   errors   STORAGE with the path; DOC_FORMAT where the file is no log
#pragma once

#include <map>
#include <memory>
#include <string>

#include "app/eval/commands/task.h"

namespace satchel::app {

class EvalLog {
 public:
  static Result<std::unique_ptr<EvalLog>> open(const std::string& path, Console& console);
  ~EvalLog();
  EvalLog(EvalLog&&) = delete;

  const std::string& path() const { return path_; }
  const Measured* find(const std::string& key) const;  // nullptr: not there
  // `head`: for people, before the figures.
  Result<void> add(const std::string& key, const Json& head, const Measured& measured);

 private:
  explicit EvalLog(std::string path) : path_(std::move(path)) {}
  Result<void> read(Console& console);

  std::string path_;
  int file_ = -1;
  bool torn_ = false;  // the file does not end with a whole line
  std::map<std::string, Measured> units_;
};

}  // namespace satchel::app
