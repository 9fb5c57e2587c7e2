#include "app/eval/commands/rows.h"

#include <algorithm>

#include "app/cli/text_table.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

using Records = std::vector<const Record*>;

// In order of first appearance.
template <class Names, class Name>
void add_once(Names& names, const Name& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// What one record adds to the estimates of one kind, or (nullptr) of all.
void add_clusters(const Task& task, const Record& record, const std::string* kind,
                  std::vector<std::vector<ClusterSum>>& clusters) {
  const std::size_t n_measures = clusters.size();
  std::vector<ClusterSum> whole(n_measures);
  for (const Grade& grade : record.measured.grades) {
    if (kind != nullptr && grade.kind != *kind) continue;
    for (std::size_t i = 0; i < std::min(n_measures, grade.sums.size()); ++i) {
      const ClusterSum one{.n = grade.n, .sum = grade.sums[i]};
      if (task.grades_stretches()) clusters[i].push_back(one);
      whole[i].n += one.n;
      whole[i].sum += one.sum;
    }
  }
  if (!task.grades_stretches())
    for (std::size_t i = 0; i < n_measures; ++i) clusters[i].push_back(whole[i]);
}

std::vector<Estimate> estimates_of(const Task& task, const Records& records,
                                   const std::string* kind) {
  std::vector<std::vector<ClusterSum>> clusters(task.measures().size());
  for (const Record* record : records) add_clusters(task, *record, kind, clusters);
  std::vector<Estimate> out;
  for (const std::vector<ClusterSum>& of : clusters) out.push_back(clustered(of));
  return out;
}

std::vector<Part> kinds_of(const Task& task, const Records& records) {
  std::vector<std::string> names;
  for (const Record* record : records)
    for (const Grade& grade : record->measured.grades) add_once(names, grade.kind);
  std::vector<Part> parts;
  if (names.size() == 1 && names[0].empty()) return parts;
  for (const std::string& name : names) {
    Part part;
    part.name = name;
    part.estimates = estimates_of(task, records, &name);
    parts.push_back(std::move(part));
  }
  return parts;
}

Part part_of(const Task& task, const std::string& name, const Records& records) {
  Part part;
  part.name = name;
  part.n_items = records.size();
  part.estimates = estimates_of(task, records, nullptr);
  for (const Record* record : records) {
    part.held.add(record->measured.held);
    part.read_ms += record->measured.read_ms;
    part.answer_ms += record->measured.answer_ms;
    part.n_cut += record->measured.n_cut;
  }
  part.kinds = kinds_of(task, records);
  return part;
}

Row row_of(const Task& task, const Variant& variant, const Records& records) {
  Row row;
  row.task = &task;
  row.variant = &variant;
  row.all = part_of(task, "", records);
  const auto set_of = [&](const Record* record) { return task.items()[record->unit.item].set; };
  std::vector<std::string> names;
  for (const Record* record : records) add_once(names, set_of(record));
  for (const std::string& name : names) {
    Records of;
    std::copy_if(records.begin(), records.end(), std::back_inserter(of),
                 [&](const Record* record) { return set_of(record) == name; });
    row.sets.push_back(part_of(task, name, of));
  }
  return row;
}

double share(std::size_t part, std::size_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
Json saved(std::size_t bytes, std::size_t fp16_bytes) {
  return fp16_bytes == 0 ? Json() : Json(1 - share(bytes, fp16_bytes));
}

Json estimates_json(const Task& task, const Part& part) {
  Json json;
  json["n"] = part.estimates.front().n;
  for (std::size_t i = 0; i < part.estimates.size(); ++i) {
    const Estimate& estimate = part.estimates[i];
    const std::string& name = task.measures()[i].name;
    json[name] = estimate.mean;
    json[name + "_se"] = estimate.se ? Json(*estimate.se) : Json();
    if (estimate.n != part.estimates.front().n) json[name + "_n"] = estimate.n;
  }
  return json;
}

Json part_json(const Task& task, const Part& part) {
  Json json = {{"items", part.n_items}};
  json.update(estimates_json(task, part));
  const Held& held = part.held;
  json.update({{"tokens", held.n_tokens},
               {"kept", share(held.n_kept, held.n_kept + held.n_evicted)},
               {"kv_bytes", held.bytes},
               {"kv_bytes_fp16", held.fp16_bytes},
               {"kv_saved", saved(held.bytes, held.fp16_bytes)},
               {"body_saved", saved(held.body_bytes, held.body_fp16_bytes)},
               {"read_ms", part.read_ms},
               {"answer_ms", part.answer_ms},
               {"cut", part.n_cut}});
  Json kinds = Json::array();
  for (const Part& kind : part.kinds) {
    kinds.push_back({{"kind", kind.name}});
    kinds.back().update(estimates_json(task, kind));
  }
  json["kinds"] = kinds;
  return json;
}

Cells cells_of(const Task& task, const std::string& name, const std::string& keep,
               const Part& part) {
  Cells cells = {name, keep, count_text(static_cast<std::size_t>(part.estimates.front().n))};
  for (std::size_t i = 0; i < part.estimates.size(); ++i)
    if (task.measures()[i].shown != Shown::nowhere)
      cells.push_back(estimate_text(task.measures()[i], part.estimates[i]));
  if (part.n_items == 0) return cells;  // of a kind
  if (part.held.fp16_bytes > 0) {
    cells.push_back(size_text(part.held.bytes));
    cells.push_back(short_percent(share(part.held.bytes, part.held.fp16_bytes)));
  } else {
    cells.insert(cells.end(), 2, "-");
  }
  cells.push_back(duration_text(part.read_ms));
  cells.push_back(duration_text(part.answer_ms));
  if (part.n_cut > 0) cells.push_back(std::to_string(part.n_cut));
  return cells;
}

void add_kinds(const Task& task, const std::string& indent, const Part& part,
               std::vector<Cells>& table) {
  if (part.kinds.size() < 2 || task.grades_stretches()) return;
  for (const Part& kind : part.kinds)
    table.push_back(cells_of(task, indent + (kind.name.empty() ? "other" : kind.name), "", kind));
}

// One measure by kind: a line for each recipe.
std::string kinds_table(std::span<const Row> rows, std::size_t measure) {
  const Measure& shown = rows.front().task->measures()[measure];
  std::vector<Cells> table = {{shown.name + " by position", "keep"}};
  for (const Part& kind : rows.front().all.kinds) table.front().push_back(kind.name);
  for (const Row& row : rows) {
    table.push_back({row.variant->name, short_percent(row.variant->recipe.keep())});
    for (const Part& kind : row.all.kinds) {
      const double mean = kind.estimates[measure].mean;
      table.back().push_back(shown.is_share ? short_percent(mean) : short_number(mean));
    }
  }
  return aligned(table);
}

}  // namespace

std::string estimate_text(const Measure& measure, const Estimate& estimate) {
  const auto number = [&](double x) {
    return measure.is_share ? format_percent(x) : short_number(x);
  };
  if (estimate.n <= 0) return "-";
  if (!estimate.se) return number(estimate.mean);
  std::string se = number(*estimate.se);
  if (measure.is_share) se.erase(se.find(' '));
  return number(estimate.mean) + " ± " + se;
}

std::vector<Row> rows_of(std::span<const TaskPtr> tasks, std::span<const Variant> variants,
                         std::span<const Record> records) {
  std::vector<Row> rows;
  for (std::size_t task = 0; task < tasks.size(); ++task)
    for (std::size_t variant = 0; variant < variants.size(); ++variant) {
      Records of;
      for (const Record& record : records)
        if (record.unit.task == task && record.unit.variant == variant) of.push_back(&record);
      rows.push_back(row_of(*tasks[task], variants[variant], of));
    }
  return rows;
}

Json to_json(const Row& row) {
  Json json = {{"task", row.task->name()},
               {"recipe", row.variant->name},
               {"keep", row.variant->recipe.keep()}};
  json.update(part_json(*row.task, row.all));
  Json sets = Json::array();
  for (const Part& set : row.sets) {
    sets.push_back({{"set", set.name}});
    sets.back().update(part_json(*row.task, set));
  }
  json["sets"] = sets;
  return json;
}

std::string table_of(std::span<const Row> rows) {
  if (rows.empty()) return "";
  const Task& task = *rows.front().task;
  Cells head = {"recipe", "keep", "n"};
  for (const Measure& measure : task.measures())
    if (measure.shown != Shown::nowhere) head.push_back(measure.name);
  head.insert(head.end(), {"cache", "of fp16", "prefill", "decode"});
  const bool any_cut =
      std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.all.n_cut > 0; });
  if (any_cut) head.push_back("cut");
  std::vector<Cells> table = {head};
  for (const Row& row : rows) {
    const std::string keep = short_percent(row.variant->recipe.keep());
    table.push_back(cells_of(task, row.variant->name, keep, row.all));
    if (row.sets.size() < 2) {
      add_kinds(task, "  ", row.all, table);
      continue;
    }
    for (const Part& set : row.sets) {
      table.push_back(cells_of(task, "  " + set.name, "", set));
      add_kinds(task, "    ", set, table);
    }
  }
  std::string text = aligned(table);
  if (task.grades_stretches())
    for (std::size_t i = 0; i < task.measures().size(); ++i)
      if (task.measures()[i].shown == Shown::in_plots) text += "\n" + kinds_table(rows, i);
  return text;
}

}  // namespace satchel::app
