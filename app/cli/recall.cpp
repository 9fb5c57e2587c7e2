#include "app/cli/recall.h"

#include <algorithm>
#include <map>

#include "app/cli/interrupt.h"

namespace satchel::app {
namespace {

constexpr std::size_t kAnswerTokensMax =
    96;  // a long list and the sentence around it; chosen, not measured

struct Group {
  std::string set, kind;
  std::size_t n_questions = 0, n_right = 0;
};

struct Tally {
  std::vector<Group> groups;  // in order of first appearance
  std::size_t n_cut = 0, n_tokens_min = 0;
  std::size_t bytes = 0, fp16_bytes = 0, body_bytes = 0, body_fp16_bytes = 0;

  Group& group(const std::string& set, const std::string& kind) {
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& each) {
      return each.set == set && each.kind == kind;
    });
    return found != groups.end() ? *found : groups.emplace_back(Group{set, kind});
  }
  void count(const kvcache::CacheStats& stats) {
    bytes += stats.bytes;
    fp16_bytes += stats.fp16_bytes;
    body_bytes += stats.body_bytes;
    body_fp16_bytes += stats.body_fp16_bytes;
    n_tokens_min = n_tokens_min == 0 ? stats.n_tokens : std::min(n_tokens_min, stats.n_tokens);
  }
};

// What came back. An answer that the context cut short counts as far as it came.
struct Spoken {
  std::string text;
  std::size_t context_tokens = 0;  // of the chat when the answer began
  bool cut = false;                // the context had no room for it, or not for all of it
};

// False where the context had no room for what was added.
template <class Ids>
Result<bool> found_room(const Result<Ids>& added) {
  if (!added.ok() && added.error().code == "CONTEXT_FULL") return false;
  SATCHEL_TRY(added);
  return true;
}

Result<Spoken> say(runtime::Session& session, const std::string& text) {
  SATCHEL_TRY_ASSIGN(const bool fits, found_room(session.add_user(text)));
  Spoken spoken{.text = {}, .context_tokens = session.tokens().size(), .cut = true};
  if (!fits) return spoken;
  const auto greedy = runtime::Sampling::plain_greedy(kAnswerTokensMax);
  SATCHEL_TRY_ASSIGN(const runtime::GenerateReport report,
                     session.generate(greedy, {}, begin_interruptible(), {}));
  if (report.finish == runtime::Finish::stopped)
    return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
  if (report.finish == runtime::Finish::cache_full)
    return Error{ErrorKind::out_of_memory, "CACHE_FULL", report.message};
  spoken.text = report.text;
  spoken.cut = report.finish == runtime::Finish::context_full;
  return spoken;
}

// One recipe's way through the conversations.
class Examination {
 public:
  Examination(runtime::Engine& engine, const Variant& variant, const RecallTask& task)
      : engine_(engine), variant_(variant), task_(task) {}

  Result<void> hold(const RecallConversation& conversation);
  const Tally& tally() const { return tally_; }

 private:
  // False where the notes are longer than the context.
  Result<bool> read_notes(runtime::Session& session, const std::string& notes);
  void judge(const RecallConversation& conversation, const RecallExchange& exchange,
             const Spoken& spoken);

  runtime::Engine& engine_;
  const Variant& variant_;
  const RecallTask& task_;
  Tally tally_;
};

Result<void> Examination::hold(const RecallConversation& conversation) {
  SATCHEL_TRY_ASSIGN(const auto session,
                     engine_.new_session(runtime::SessionOptions(variant_.recipe)));
  Spoken spoken;
  if (!task_.without_notes) {
    SATCHEL_TRY_ASSIGN(const bool fits, read_notes(*session, conversation.notes));
    spoken.cut = !fits;
  }
  for (const RecallExchange& exchange : conversation.exchanges) {
    if (spoken.cut) {  // and so is everything after it
      spoken.text.clear();
    } else {
      SATCHEL_TRY_ASSIGN(spoken, say(*session, exchange.text));
    }
    if (exchange.judged()) judge(conversation, exchange, spoken);
  }
  return {};
}

Result<bool> Examination::read_notes(runtime::Session& session, const std::string& notes) {
  SATCHEL_TRY_ASSIGN(const bool fits, found_room(session.add_document("notes", notes)));
  if (!fits) return false;
  SATCHEL_TRY(session.read(begin_interruptible(), {}));
  // A second pass over the notes, where the recipe has one, before the first question is known.
  SATCHEL_TRY(session.idle(begin_interruptible(), {}));
  tally_.count(session.stats());
  return true;
}

void Examination::judge(const RecallConversation& conversation, const RecallExchange& exchange,
                        const Spoken& spoken) {
  const bool right = spoken.text.find(exchange.value) != std::string::npos;
  Group& group = tally_.group(conversation.set, exchange.kind);
  ++group.n_questions;
  if (right) ++group.n_right;
  if (spoken.cut) ++tally_.n_cut;
  if (task_.sheet == nullptr) return;
  Json line = row_of(variant_);
  line.update({{"conversation", conversation.number},
               {"set", conversation.set},
               {"kind", exchange.kind},
               {"ask", exchange.text},
               {"value", exchange.value},
               {"answer", spoken.text},
               {"right", right},
               {"context_tokens", spoken.context_tokens}});
  task_.sheet->add(line);
}

// All kinds of a set together, in order of first appearance.
std::vector<Group> by_set(const Json& groups) {
  Tally sets;
  for (const Json& each : groups) {
    Group& set = sets.group(each["set"], "");
    set.n_questions += each["questions"].get<std::size_t>();
    set.n_right += each["right"].get<std::size_t>();
  }
  return sets.groups;
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<void> all_are_there(const std::vector<std::string>& sets,
                           const std::vector<RecallConversation>& conversations) {
  for (const std::string& set : sets)
    if (std::none_of(conversations.begin(), conversations.end(),
                     [&](const RecallConversation& each) { return each.set == set; }))
      return Error{ErrorKind::invalid, "PARAM", "No conversation is of the set \"" + set + "\"."};
  return {};
}

}  // namespace

Result<std::vector<RecallConversation>> chosen_conversations(const RecallOptions& options) {
  SATCHEL_TRY_ASSIGN(const std::vector<RecallConversation> all, read_recall_file(options.file));
  SATCHEL_TRY(all_are_there(options.sets, all));
  std::vector<RecallConversation> chosen;
  std::map<std::string, std::size_t> n_of_set;
  bool asks = false;
  for (const RecallConversation& each : all) {
    if (!options.sets.empty() && !is_one_of(each.set, options.sets)) continue;
    if (options.n_conversations != 0 && ++n_of_set[each.set] > options.n_conversations) continue;
    asks |= std::any_of(each.exchanges.begin(), each.exchanges.end(),
                        [](const RecallExchange& exchange) { return exchange.judged(); });
    chosen.push_back(each);
  }
  if (!asks) return Error{ErrorKind::corrupt, "DOC_FORMAT", options.file + " asks nothing."};
  return chosen;
}

Result<Json> measure_recall(runtime::Engine& engine, const Variant& variant,
                            const RecallTask& task) {
  Examination examination(engine, variant, task);
  for (const RecallConversation& conversation : task.conversations)
    SATCHEL_TRY(examination.hold(conversation));
  const Tally& tally = examination.tally();
  std::size_t n_questions = 0, n_right = 0;
  Json groups = Json::array();
  for (const Group& group : tally.groups) {
    n_questions += group.n_questions;
    n_right += group.n_right;
    groups.push_back({{"set", group.set},
                      {"kind", group.kind},
                      {"questions", group.n_questions},
                      {"right", group.n_right}});
  }
  Json row = row_of(variant);
  row.update({{"notes_read", !task.without_notes},
              {"conversations", task.conversations.size()},
              {"questions", n_questions},
              {"right", n_right},
              {"recall", share(n_right, n_questions)},
              {"cut", tally.n_cut},
              {"shortest_prompt_tokens", tally.n_tokens_min},
              {"kv_saved", saved(tally.bytes, tally.fp16_bytes)},
              {"body_saved", saved(tally.body_bytes, tally.body_fp16_bytes)},
              {"groups", groups}});
  return row;
}

std::string recall_text(const Json& row) {
  constexpr std::size_t kSetColumns = 20;
  std::string text = head_of(row) + "recall " + score_text(row["right"], row["questions"]);
  text += row["notes_read"].get<bool>()
              ? "  saved: whole cache " + percent_or_dash(row["kv_saved"]) + ", body " +
                    percent_or_dash(row["body_saved"])
              : std::string("  without notes");
  if (row["cut"] != 0)
    text += "  (" + std::to_string(row["cut"].get<std::size_t>()) + " cut: the context was full)";
  text += "\n";
  const std::vector<Group> sets = by_set(row["groups"]);
  if (sets.size() < 2) return text;
  for (Group set : sets) {
    set.set.resize(std::max(kSetColumns, set.set.size()), ' ');
    text += "  " + set.set + "  " + score_text(set.n_right, set.n_questions) + "\n";
  }
  return text;
}

}  // namespace satchel::app
