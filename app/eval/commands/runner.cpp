#include "app/eval/commands/runner.h"

#include <map>
#include <utility>

#include "app/cli/interrupt.h"
#include "app/cli/text_table.h"
#include "app/eval/commands/eta.h"
#include "kvcache/base/hash.h"

namespace satchel::app {
namespace {

std::string hash_of(const std::string& text) {
  return kvcache::to_hex(kvcache::hash_bytes(std::as_bytes(std::span(text))));
}

// One run: what is to come, what was measured, and how to say where it stands.
class Runner {
 public:
  explicit Runner(const UnitRun& run) : run_(run) {}

  Result<std::vector<Record>> measure_all();

 private:
  const Task& task(const Unit& unit) const { return *run_.tasks[unit.task]; }
  const Variant& variant(const Unit& unit) const { return run_.variants[unit.variant]; }
  const Item& item(const Unit& unit) const { return task(unit).items()[unit.item]; }
  std::vector<Unit> units() const;
  std::string key(const Unit& unit) const;
  Eta::Kind kind(const Unit& unit) const;
  Json head(const Unit& unit) const;
  std::string standing(const Unit& unit) const;
  Error explained(const Unit& unit, Error problem) const;
  Result<Measured> measure(const Unit& unit);

  const UnitRun& run_;
  std::size_t n_units_ = 0, n_done_ = 0;
  Eta eta_;
  std::map<std::string, Measured> measured_;  // a recipe may be asked for under two names
};

std::vector<Unit> Runner::units() const {
  std::vector<Unit> all;
  for (std::size_t task = 0; task < run_.tasks.size(); ++task)
    for (std::size_t item = 0; item < run_.tasks[task]->items().size(); ++item)
      for (std::size_t variant = 0; variant < run_.variants.size(); ++variant)
        all.push_back({.task = task, .variant = variant, .item = item});
  return all;
}

std::string Runner::key(const Unit& unit) const {
  const Json of = {{"model", run_.engine.fingerprint()},
                   {"run", run_.settings},
                   {"task", task(unit).name()},
                   {"settings", task(unit).settings()},
                   {"recipe", variant(unit).recipe.hash()},
                   {"set", item(unit).set},
                   {"content", item(unit).content}};
  return hash_of(of.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Eta::Kind Runner::kind(const Unit& unit) const {
  return {.what = std::string(task(unit).name()) + " " + item(unit).set,
          .recipe = variant(unit).recipe.hash()};
}

Json Runner::head(const Unit& unit) const {
  return {{"model", run_.engine.config().name},
          {"task", task(unit).name()},
          {"set", item(unit).set},
          {"item", item(unit).name},
          {"recipe", variant(unit).name},
          {"keep", variant(unit).recipe.keep()}};
}

// "37 of 120 · satchel 25 % · names-1024 · about 4 min left"
std::string Runner::standing(const Unit& unit) const {
  std::string text = std::to_string(n_done_ + 1) + " of " + std::to_string(n_units_) + " · " +
                     variant(unit).name + " " + short_percent(variant(unit).recipe.keep()) + " · " +
                     (item(unit).set.empty() ? std::string(task(unit).name()) : item(unit).set);
  if (const std::optional<double> ms = eta_.ms()) text += " · " + left_text(*ms);
  return text;
}

Error Runner::explained(const Unit& unit, Error problem) const {
  if (problem.kind != ErrorKind::cancelled) {
    problem.message = std::string(task(unit).name()) + ", " +
                      (item(unit).set.empty() ? "" : item(unit).set + ", ") + "item " +
                      item(unit).name + ", " + variant(unit).name + ": " + problem.message;
    return problem;
  }
  problem.message =
      "Stopped after " + std::to_string(n_done_) + " of " + std::to_string(n_units_) + ". ";
  problem.message += run_.log != nullptr
                         ? "The results so far are in \"" + run_.log->path() +
                               "\"; run the same command to continue."
                         : std::string(
                               "The results were not saved; with --log FILE the same "
                               "command can continue later.");
  return problem;
}

Result<Measured> Runner::measure(const Unit& unit) {
  const std::string its_key = key(unit);
  const Measured* logged = run_.log != nullptr ? run_.log->find(its_key) : nullptr;
  if (const auto found = measured_.find(its_key); found != measured_.end()) logged = &found->second;
  if (logged != nullptr) {
    eta_.dropped(kind(unit));
    return *logged;
  }
  run_.console.status(standing(unit));
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(Measured fresh,
                     run_.tasks[unit.task]->measure(run_.engine, variant(unit).recipe, unit.item,
                                                    begin_interruptible()));
  fresh.ms = clock.steady_ms() - began;
  eta_.measured(kind(unit), fresh.ms);
  if (run_.log != nullptr) SATCHEL_TRY(run_.log->add(its_key, head(unit), fresh));
  return measured_.insert_or_assign(its_key, std::move(fresh)).first->second;
}

Result<std::vector<Record>> Runner::measure_all() {
  const std::vector<Unit> all = units();
  n_units_ = all.size();
  for (const Unit& unit : all) {
    eta_.expect(kind(unit));
    const Measured* logged = run_.log != nullptr ? run_.log->find(key(unit)) : nullptr;
    if (logged != nullptr) eta_.known(kind(unit), logged->ms);
  }
  std::vector<Record> records;
  for (const Unit& unit : all) {
    Result<Measured> measured = measure(unit);
    if (!measured.ok()) return explained(unit, measured.error());
    ++n_done_;
    records.push_back({.unit = unit, .measured = std::move(*measured)});
  }
  run_.console.end_progress();
  return records;
}

}  // namespace

Result<std::vector<Record>> measure_units(const UnitRun& run) {
  return Runner(run).measure_all();
}

}  // namespace satchel::app
