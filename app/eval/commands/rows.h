// The rows of `satchel eval`: records added up, a row for each recipe at each share and task, its
// parts by set, and theirs by kind, with standard errors by cluster.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/eval/commands/runner.h"
#include "app/eval/commands/statistics.h"

namespace satchel::app {

// All of one kind, or of one set, or of a whole row.
struct Part {
  std::string name;  // the set's or the kind's; "" of the whole
  std::size_t n_items = 0;
  std::vector<Estimate> estimates;  // as Task::measures()
  Held held;                        // sums over items; kinds have none
  double read_ms = 0, answer_ms = 0;
  std::size_t n_cut = 0;
  std::vector<Part> kinds;  // in order of first appearance; empty where there is no kind
};
struct Row {
  const Task* task = nullptr;
  const Variant* variant = nullptr;
  Part all;
  std::vector<Part> sets;  // in order of first appearance
};

// By task, then by variant, in their order.
std::vector<Row> rows_of(std::span<const TaskPtr> tasks, std::span<const Variant> variants,
                         std::span<const Record> records);

// "98.3 % ± 0.7", "0.0029 ± 0.0003"
std::string estimate_text(const Measure& measure, const Estimate& estimate);
Json to_json(const Row& row);
// Rows of one task for people: a line for each recipe, under it one for each set or kind where
// there are several.
std::string table_of(std::span<const Row> rows);

}  // namespace satchel::app
