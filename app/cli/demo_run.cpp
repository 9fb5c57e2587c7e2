#include "app/cli/demo_run.h"

#include <algorithm>
#include <string_view>

#include "app/cli/demo_notes.h"
#include "app/cli/interrupt.h"
#include "kernels/base/size_text.h"
#include "runtime/limits/presets.h"

namespace satchel::app {
namespace {

constexpr std::size_t kAnswerTokensMax = 64;  // the answers are a sentence each

constexpr const char* kTableHead =
    "                    older text    saved  same next token  whole cache  answers\n";

std::string line_of(const DemoRun& run) {
  const bool is_exact = run.body_saved() <= 0;
  const std::string same = is_exact ? "exact" : format_percent(run.fidelity.agreement);
  return "  " + padded(run.name, 16) + right_aligned(size_text(run.stats.body_bytes), 12) +
         right_aligned(is_exact ? "-" : format_percent(run.body_saved()), 9) +
         right_aligned(run.fidelity.n_tokens == 0 && !is_exact ? "not measured" : same, 17) +
         right_aligned(size_text(run.stats.bytes), 13) + "  " + run.answers.score() + "\n";
}

Json row_of(const DemoRun& run) {
  Json row = {{"preset", run.name}, {"measured", true}};
  row.update(run.figures());
  row["right"] = run.answers.n_correct();
  row["asked"] = run.answers.correct.size();
  return row;
}

const DemoRun* find(std::span<const DemoRun> runs, std::string_view name) {
  const auto found = std::ranges::find(runs, name, &DemoRun::name);
  return found == runs.end() ? nullptr : &*found;
}

void say_memory(const DemoRun& run, const Say& say) {
  if (run.body_saved() <= 0) return;
  say("  Older text takes " + size_text(run.stats.body_bytes) + " instead of " +
      size_text(run.stats.body_fp16_bytes) + " in fp16: " + format_percent(run.body_saved()) +
      " saved.");
  if (run.fidelity.n_tokens > 0)
    say("  Same next token " + format_percent(run.fidelity.agreement) +
        " of the time (measured on the last " + count_text(run.fidelity.n_tokens) +
        " tokens of the notes).");
}

}  // namespace

std::size_t DemoAnswers::n_correct() const {
  return static_cast<std::size_t>(std::count(correct.begin(), correct.end(), true));
}

std::string DemoAnswers::score() const {
  return std::to_string(n_correct()) + " of " + std::to_string(correct.size()) + " right";
}

Error demo_stopped() {
  return {ErrorKind::cancelled, "STOPPED", "Stopped."};
}

Result<DemoAnswers> ask_all(Conversation& conversation, const Say& say) {
  DemoAnswers answers;
  for (const DemoQuestion& question : kDemoQuestions) {
    SATCHEL_TRY(conversation.session().add_user(question.question));
    SATCHEL_TRY_ASSIGN(
        const runtime::GenerateReport report,
        conversation.session().generate(runtime::Sampling::plain_greedy(kAnswerTokensMax), {},
                                        begin_interruptible(), {}));
    if (report.finish == runtime::Finish::stopped) return demo_stopped();
    const bool correct = report.text.find(question.value) != std::string::npos;
    say("  " + std::string(question.question) + "  " + report.text +
        (correct ? "  [right]" : "  [wrong]"));
    answers.texts.push_back(report.text);
    answers.correct.push_back(correct);
  }
  say("  " + answers.score());
  return answers;
}

double DemoRun::body_saved() const {
  const auto fp16 = static_cast<double>(std::max<std::size_t>(stats.body_fp16_bytes, 1));
  return 1 - static_cast<double>(stats.body_bytes) / fp16;
}

Json DemoRun::figures() const {
  return Json{{"kv_bytes_fp16", stats.fp16_bytes},
              {"kv_bytes", stats.bytes},
              {"body_bytes_fp16", stats.body_fp16_bytes},
              {"body_bytes", stats.body_bytes},
              {"body_saved", body_saved()},
              {"agreement", fidelity.agreement},
              {"agreement_tokens", fidelity.n_tokens},
              {"kl_nats", fidelity.kl},
              {"recipe", recipe},
              {"keep", keep}};
}

std::string demo_name(const Options& options) {
  return options.recipe + (options.keep > 0 ? " " + format_percent(options.keep) : "");
}

Result<ReadNotes> read_and_ask(const Options& options, bool keep, const Say& say,
                               Console& console) {
  const ConversationRequest request{
      .name = keep ? std::string(kDemoChat) : "", .keep = keep, .system = {}};
  ReadNotes out;
  SATCHEL_TRY_ASSIGN(out.conversation, Conversation::open(options, request, console));
  runtime::Session& session = out.conversation->session();
  SATCHEL_TRY(session.add_document("notes", kDemoNotes));
  SATCHEL_TRY_ASSIGN(const runtime::ReadReport read,
                     session.read(begin_interruptible(), console.progress()));
  console.end_progress();
  out.run = {.name = demo_name(options),
             .recipe = session.recipe().name(),
             .keep = session.recipe().keep(),
             .fidelity = session.fidelity(),
             .stats = session.stats(),
             .answers = {}};
  say("  Read " + count_text(read.n_tokens) + " tokens in " + duration_text(read.ms) +
      ". The cache takes " + size_text(out.run.stats.bytes) + ".");
  say_memory(out.run, say);
  SATCHEL_TRY_ASSIGN(out.run.answers, ask_all(*out.conversation, say));
  return out;
}

Result<Json> compare_presets(const Options& options, std::span<const DemoRun> known,
                             Console& console) {
  console.prose(kTableHead);
  Json rows = Json::array();
  const auto show = [&](const DemoRun& run) {
    console.prose(line_of(run));
    rows.push_back(row_of(run));
  };
  const Say say_nothing = [](const std::string&) {};
  Console quiet(console.json(), true);
  for (const runtime::Preset& preset : runtime::presets()) {
    if (const DemoRun* run = find(known, preset.name)) {
      show(*run);
      continue;
    }
    Options other = options;
    other.recipe = preset.name;
    other.keep = 0;
    SATCHEL_TRY_ASSIGN(const ReadNotes notes, read_and_ask(other, false, say_nothing, quiet));
    show(notes.run);
  }
  for (const DemoRun& run : known)
    if (std::ranges::find(runtime::presets(), run.name, &runtime::Preset::name) ==
        runtime::presets().end())
      show(run);
  return rows;
}

}  // namespace satchel::app
