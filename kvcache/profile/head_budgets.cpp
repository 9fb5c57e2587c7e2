#include "kvcache/profile/head_budgets.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "kernels/base/assert.h"
#include "kvcache/base/json.h"

namespace satchel::kvcache {
namespace {

constexpr double kVersion = 2;

Error wrong(std::string_view called, std::size_t line, const std::string& what) {
  return {ErrorKind::corrupt, "LANE_SHARES",
          std::string(called) + " line " + std::to_string(line) + ": " + what};
}

Result<const JsonNode*> member(const JsonNode& node, std::string_view key, JsonNode::Kind kind,
                               std::string_view called) {
  const JsonNode* found = node.kind == JsonNode::Kind::object ? node.find(key) : nullptr;
  if (found != nullptr && found->kind == kind) return found;
  return wrong(called, found == nullptr ? node.line : found->line,
               "\"" + std::string(key) + "\" is missing or has the wrong type.");
}

Result<std::string> text_of(const JsonNode& root, std::string_view key, std::string_view called) {
  SATCHEL_TRY_ASSIGN(const JsonNode* found, member(root, key, JsonNode::Kind::string, called));
  return found->string;
}

bool is_share(const JsonNode& node) {
  return node.kind == JsonNode::Kind::number && node.number >= 0 && node.number <= 1;
}

Result<HeadBudgets::Row> row_of(const JsonNode& node, std::string_view called) {
  HeadBudgets::Row row;
  SATCHEL_TRY_ASSIGN(const JsonNode* keep, member(node, "keep", JsonNode::Kind::number, called));
  row.keep = keep->number;
  if (!(row.keep > 0 && row.keep < 1))
    return wrong(called, keep->line, "\"keep\" must be above 0 and below 1.");
  SATCHEL_TRY_ASSIGN(const JsonNode* lanes, member(node, "lanes", JsonNode::Kind::array, called));
  for (const JsonNode& lane : lanes->items) {
    if (!is_share(lane)) return wrong(called, lane.line, "a lane's budget must be from 0 to 1.");
    row.shares.push_back(lane.number);
  }
  return row;
}

Result<std::vector<float>> weights_of(const JsonNode& node, std::string_view called) {
  std::vector<float> weights;
  constexpr auto kMost = static_cast<double>(kKeyWeightMost);
  for (const JsonNode& weight : node.items) {
    if (weight.kind != JsonNode::Kind::number || std::abs(weight.number) > kMost)
      return wrong(called, weight.line, "a weight must be a number from -1e6 to 1e6.");
    weights.push_back(static_cast<float>(weight.number));
  }
  if (weights.size() >= 3 && weights.size() % 2 == 1) return weights;
  return wrong(called, node.line, "a lane needs one weight, and two more for each value of a key.");
}

Result<KeyImportance> importance_of(const JsonNode& node, std::size_t n_lanes,
                                    std::string_view called) {
  KeyImportance importance;
  SATCHEL_TRY_ASSIGN(const JsonNode* agreement,
                     member(node, "agreement", JsonNode::Kind::number, called));
  importance.agreement = agreement->number;
  if (!(std::abs(importance.agreement) <= 1))
    return wrong(called, agreement->line, "\"agreement\" must be from -1 to 1.");
  SATCHEL_TRY_ASSIGN(const JsonNode* lanes, member(node, "lanes", JsonNode::Kind::array, called));
  for (const JsonNode& lane : lanes->items) {
    SATCHEL_TRY_ASSIGN(importance.lanes.emplace_back(), weights_of(lane, called));
  }
  if (importance.lanes.size() == n_lanes) return importance;
  return wrong(called, lanes->line, "\"worth\" must have as many lanes as each row.");
}

// Whatever the locale.
std::string text_of(double value, std::chars_format format, int digits) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value, format, digits);
  SATCHEL_ASSERT(error == std::errc());
  return {text, end};
}
std::string number_text(double value) {
  return text_of(value, std::chars_format::fixed, 4);
}
// Six digits leave the log of a score right to .001.
std::string weight_text(float value) {
  return text_of(static_cast<double>(value), std::chars_format::general, 6);
}

std::string importance_text(const KeyImportance& importance) {
  std::string out =
      ",\n  \"worth\": { \"agreement\": " + number_text(importance.agreement) + ", \"lanes\": [";
  for (std::size_t i = 0; i < importance.lanes.size(); ++i) {
    out += i == 0 ? "\n    [" : ",\n    [";
    for (std::size_t c = 0; c < importance.lanes[i].size(); ++c)
      out += (c == 0 ? "" : ", ") + weight_text(importance.lanes[i][c]);
    out += "]";
  }
  return out + " ] }";
}

// A model's name may be anything: what is no plain ASCII is left out.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c < ' ' || c > '~') continue;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

void HeadBudgets::at(double keep, std::span<double> shares) const {
  SATCHEL_ASSERT(!rows.empty() && shares.size() == n_lanes());
  const auto above =
      std::find_if(rows.begin(), rows.end(), [keep](const Row& row) { return row.keep >= keep; });
  const Row* high = above == rows.end() ? nullptr : &*above;
  const Row* low = above == rows.begin() ? nullptr : &*(above - 1);
  const double from = low == nullptr ? 0 : low->keep, to = high == nullptr ? 1 : high->keep;
  const double way = (keep - from) / (to - from);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double a = low == nullptr ? 0 : low->shares[i];
    const double b = high == nullptr ? 1 : high->shares[i];
    shares[i] = a + (b - a) * way;
  }
}

Result<HeadBudgets> HeadBudgets::parse(std::string_view json, std::string_view called) {
  Result<JsonNode> parsed = parse_json(json, called, kHeadBudgetsBytesMax);
  if (!parsed.ok()) return Error{ErrorKind::corrupt, "LANE_SHARES", parsed.error().message};
  const JsonNode& root = *parsed;
  SATCHEL_TRY_ASSIGN(const JsonNode* version,
                     member(root, "lane_shares", JsonNode::Kind::number, called));
  if (version->number != kVersion)
    return wrong(called, version->line, "\"lane_shares\" must be 2, the version of this format.");
  HeadBudgets table;
  SATCHEL_TRY_ASSIGN(table.model, text_of(root, "model", called));
  SATCHEL_TRY_ASSIGN(table.name, text_of(root, "name", called));
  SATCHEL_TRY_ASSIGN(table.source, text_of(root, "source", called));
  SATCHEL_TRY_ASSIGN(const JsonNode* rows, member(root, "rows", JsonNode::Kind::array, called));
  for (const JsonNode& node : rows->items) {
    SATCHEL_TRY_ASSIGN(Row row, row_of(node, called));
    const bool fits = table.rows.empty() ||
                      (row.keep > table.rows.back().keep && row.shares.size() == table.n_lanes());
    if (!fits)
      return wrong(called, node.line,
                   "rows must be sorted by \"keep\" and have the same number of lanes.");
    table.rows.push_back(std::move(row));
  }
  if (table.n_lanes() == 0)
    return wrong(called, rows->line, "\"rows\" needs at least one row with lanes.");
  if (root.find("worth") == nullptr) return table;
  SATCHEL_TRY_ASSIGN(const JsonNode* importance,
                     member(root, "worth", JsonNode::Kind::object, called));
  SATCHEL_TRY_ASSIGN(table.importance, importance_of(*importance, table.n_lanes(), called));
  return table;
}

std::string HeadBudgets::json() const {
  std::string out = "{ \"lane_shares\": 2, \"model\": " + quoted(model) +
                    ",\n  \"name\": " + quoted(name) + ",\n  \"source\": " + quoted(source) +
                    ",\n  \"rows\": [";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += (r == 0 ? "\n" : ",\n") + ("    { \"keep\": " + number_text(rows[r].keep)) +
           ", \"lanes\": [";
    for (std::size_t i = 0; i < rows[r].shares.size(); ++i)
      out += (i == 0 ? "" : ", ") + number_text(rows[r].shares[i]);
    out += "] }";
  }
  return out + " ]" + (importance ? importance_text(*importance) : "") + " }\n";
}

}  // namespace satchel::kvcache
