// Task: one way to ask what a recipe costs: recall, needle, agreement, longbench, chat. A task has
// items (a conversation, a context, a text); a *unit* is one item under one recipe. Units are what
// is measured, logged and gone on with (runner.h); rows are added up from them (rows.h).
//   order    prepare(), then measure() item by item, every recipe on one item before the next item:
//            what an item's recipes share (an exact run) may be kept until the item changes
//   errors   bad input is said before the first unit is measured: by whoever makes the task where
//            it needs no model, else by prepare()
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/console.h"
#include "kvcache/cache/cache.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::app {

struct Item {
  std::string set;      // counted apart in the rows: "names-1024"; may be empty
  std::string name;     // within its file or set: "17"
  std::string content;  // all that is read, asked and expected: what changes it changes the unit
};

// One judged answer, or one stretch of compared positions.
struct Grade {
  std::string kind = {};  // counted apart in the rows: "corrected", "65-128"; may be empty
  double n = 1;           // what the sums are over: questions, positions
  // As Task::measures(): share right, or the score, times n. Of the last ones there may be none:
  // then the grade says nothing of them.
  std::vector<double> sums;
  Json detail = Json::object();  // for people and --answers: what was asked, expected and said
};

// The cache just after what was to be read has been read and packed, before a question.
struct Held {
  std::size_t n_tokens = 0;
  std::size_t bytes = 0,
              fp16_bytes = 0;  // allocated, with all metadata; of the same tokens in fp16
  std::size_t body_bytes = 0, body_fp16_bytes = 0;
  std::size_t n_kept = 0, n_evicted = 0;  // lane-tokens

  // saved: bytes of the body that what is measured would not take (kvcache::LayerMerge).
  static Held of(const kvcache::CacheStats& stats, std::size_t saved = 0);
  void add(const Held& other);
};

// Of all that was read, what a lane retains on average.
inline double tokens_held(const Held& held) {
  const std::size_t n = held.n_kept + held.n_evicted;
  if (n == 0) return 0;
  return static_cast<double>(held.n_tokens) * static_cast<double>(held.n_kept) /
         static_cast<double>(n);
}

// What one unit gave.
struct Measured {
  Held held;
  double read_ms = 0, answer_ms = 0;  // reading with compression; questions and answers
  double ms = 0;                      // all of it, for the remaining time; set by the runner
  std::size_t n_cut = 0;              // answers for which the context had no room
  std::vector<Grade> grades;
};

// Where a measure is shown beside the JSON, in which all are.
enum class Shown { in_plots, in_tables, nowhere };

struct Measure {
  std::string name;      // key in rows: "recall", "kl_nats"
  bool is_share = true;  // shown in per cent
  bool higher_is_better = true;
  std::string label = {};  // on a plot's axis: "right answers"; "": the name
  Shown shown = Shown::in_plots;
};
class Task {
 public:
  virtual ~Task() = default;
  virtual std::string_view name() const = 0;  // "recall"
  // What a grade's sums are; the first is the one that tables and plots show first.
  virtual std::span<const Measure> measures() const = 0;
  // Grades are stretches of a text, in order: each is drawn independently, for the standard error
  // (questions about one item are not, rows.h), and tables have a column for each kind, not a line.
  virtual bool grades_stretches() const { return false; }
  // Options that change what is measured, beside model, recipe and item; a changed one makes
  // another unit.
  virtual Json settings() const = 0;
  // Makes or checks the items where that needs the model: lengths in tokens, the chat format.
  virtual Result<void> prepare(runtime::Engine& engine) = 0;
  std::span<const Item> items() const { return items_; }  // as they are after prepare()
  virtual Result<Measured> measure(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                   std::size_t item, std::stop_token stop) = 0;

 protected:
  std::vector<Item> items_;
};
using TaskPtr = std::unique_ptr<Task>;

}  // namespace satchel::app
