#include "app/eval/measure/composition.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "app/eval/measure/chunk_share.h"
#include "app/eval/measure/speed.h"
#include "kernels/base/clock.h"
#include "runtime/fidelity/fidelity.h"

namespace satchel::eval {
namespace {

using Ids = std::vector<std::int32_t>;

constexpr std::size_t kComparedMax = 16;  // tokens of an answer

struct Answered {
  Ids ids;
  bool is_right = false;
};

class Composer {
 public:
  Composer(runtime::Engine& engine, const Composition& of, RowText text)
      : engine_(engine), of_(of), text_(std::move(text)) {}

  Result<void> read_apart();
  Result<void> read_in_turn();
  Result<ComposedFigures> read();
  Result<ComposedFigures> compose(const RereadWay& way);

 private:
  Result<double> place(const RereadWay& way, const Ids& question);
  Result<double> read_depending(double alpha);
  Result<double> read_asked(const Ids& question, double share);
  Ids first_tokens(std::size_t n) const;
  Result<Answered> answer(const ComposedQuestion& question);
  // Next-token logits along an answer.
  Result<std::vector<float>> along(const ComposedQuestion& question, const Ids& answer);
  Result<Answered> judge(const ComposedQuestion& question, ComposedFigures& out);
  std::size_t n_head() const { return of_.head.size(); }

  runtime::Engine& engine_;
  const Composition& of_;
  RowText text_;
  std::vector<StretchRows> documents_;
  std::vector<StretchRows> in_turn_;              // read behind those that were told before
  std::vector<ChunkReading> readings_;            // likewise: what they attended to
  std::vector<std::vector<float>> depended_;      // likewise, of each token, how much outside
  std::vector<Answered> exact_;                   // of reading, to each question
  std::vector<std::vector<float>> exact_logits_;  // likewise, along() them
};

Result<void> Composer::read_apart() {
  SATCHEL_TRY(text_.read(of_.head, 0));
  for (const ComposedDocument& document : of_.documents) {
    documents_.emplace_back();
    if (document.is_new) continue;
    if (!document.behind.empty()) SATCHEL_TRY(text_.read(document.behind, 0));
    SATCHEL_TRY(text_.read(document.ids, 0));
    SATCHEL_TRY_ASSIGN(documents_.back(),
                       text_.rows(n_head() + document.behind.size(), document.ids.size()));
    text_.truncate(n_head());
  }
  return {};
}

// All of them, in the order told.
Result<void> Composer::read_in_turn() {
  const std::size_t n = of_.documents.size();
  in_turn_.resize(n);
  readings_.resize(n);
  depended_.resize(n);
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) order[of_.documents[i].told] = i;
  std::vector<IndexRange> before;
  for (const std::size_t i : order) {
    const Ids& ids = of_.documents[i].ids;
    const std::size_t begin = text_.n_tokens();
    before.push_back({begin, begin + ids.size()});  // its own at the end
    SATCHEL_TRY_ASSIGN(const auto shares, text_.read_seeing(ids, before));
    SATCHEL_TRY_ASSIGN(in_turn_[i], text_.rows(begin, ids.size()));
    ChunkReading& reading = readings_[i];
    reading.n_tokens = ids.size();
    depended_[i].assign(ids.size(), 0);
    for (std::size_t j = 0; j < before.size(); ++j) {
      const double sum = std::accumulate(shares[j].begin(), shares[j].end(), 0.0);
      if (j + 1 == before.size()) {
        reading.inside = sum;
        continue;
      }
      reading.behind.push_back(j);
      reading.n_behind.push_back(before[j].end - before[j].begin);
      reading.outside.push_back(sum);
      for (std::size_t t = 0; t < ids.size(); ++t) depended_[i][t] += shares[j][t];
    }
  }
  text_.truncate(n_head());
  return {};
}

Result<Answered> Composer::answer(const ComposedQuestion& question) {
  const std::size_t n_before = text_.n_tokens();
  SATCHEL_TRY_ASSIGN(std::vector<float> logits, text_.read(question.ids, 1));
  Answered out;
  std::string said;
  while (out.ids.size() < question.n_tokens_max) {
    const auto id = static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
    if (engine_.tokenizer().ends_turn(id)) break;
    out.ids.push_back(id);
    said = engine_.tokenizer().text(out.ids);
    if (question.enough && question.enough(said)) break;
    SATCHEL_TRY_ASSIGN(logits, text_.read({&id, 1}, 1));
  }
  out.is_right = question.right && question.right(said);
  text_.truncate(n_before);
  return out;
}

Result<std::vector<float>> Composer::along(const ComposedQuestion& question, const Ids& answer) {
  const std::size_t n_before = text_.n_tokens();
  const std::size_t n = std::min(answer.size(), kComparedMax - 1);
  Ids ids = question.ids;
  ids.insert(ids.end(), answer.begin(), answer.begin() + static_cast<std::ptrdiff_t>(n));
  SATCHEL_TRY_ASSIGN(std::vector<float> logits, text_.read(ids, n + 1));
  text_.truncate(n_before);
  return logits;
}

Result<Answered> Composer::judge(const ComposedQuestion& question, ComposedFigures& out) {
  SATCHEL_TRY_ASSIGN(Answered answered, answer(question));
  out.n_judged += question.right ? 1u : 0u;
  out.n_right += answered.is_right ? 1u : 0u;
  return answered;
}

Result<ComposedFigures> Composer::read() {
  ComposedFigures out{.reread = 1, .compared = {}};
  Ids all;
  for (const ComposedDocument& document : of_.documents)
    all.insert(all.end(), document.ids.begin(), document.ids.end());
  const SystemClock clock;
  const double began = clock.steady_ms(), began_cpu = cpu_ms();
  SATCHEL_TRY(text_.read(all, 0));
  SATCHEL_TRY(text_.read(of_.questions.front().ids, 1));
  out.first_token_ms = clock.steady_ms() - began;
  out.first_token_cpu_ms = cpu_ms() - began_cpu;
  text_.truncate(n_head() + all.size());
  for (const ComposedQuestion& question : of_.questions) {
    SATCHEL_TRY_ASSIGN(exact_.emplace_back(), judge(question, out));
    SATCHEL_TRY_ASSIGN(exact_logits_.emplace_back(), along(question, exact_.back().ids));
  }
  return out;
}

Ids Composer::first_tokens(std::size_t n) const {
  Ids out;
  std::size_t begin = n_head();
  for (const ComposedDocument& document : of_.documents) {
    const bool has_moved = !document.is_new && begin != n_head() + document.behind.size();
    for (std::size_t t = 0; has_moved && t < std::min(n, document.ids.size()); ++t)
      out.push_back(static_cast<std::int32_t>(begin + t));
    begin += document.ids.size();
  }
  return out;
}

Result<double> Composer::read_asked(const Ids& question, double share) {
  SATCHEL_TRY_ASSIGN(const std::vector<float> seen, text_.attention(question));
  Ids chosen = largest(std::span(seen).subspan(n_head()), share);
  for (std::int32_t& at : chosen) at += static_cast<std::int32_t>(n_head());
  SATCHEL_TRY(text_.reread(chosen));
  return static_cast<double>(chosen.size()) / static_cast<double>(seen.size() - n_head());
}

Result<double> Composer::read_depending(double alpha) {
  Ids again;
  std::vector<std::size_t> behind;
  std::size_t begin = n_head();
  for (std::size_t i = 0; i < of_.documents.size(); ++i) {
    const double share = reread_share(readings_[i], behind, alpha);
    for (const std::int32_t at : largest(depended_[i], share))
      again.push_back(at + static_cast<std::int32_t>(begin));
    behind.push_back(of_.documents[i].told);
    begin += of_.documents[i].ids.size();
  }
  SATCHEL_TRY(text_.reread(again));
  return static_cast<double>(again.size()) / static_cast<double>(begin - n_head());
}

// Behind the head. Gives the share that was read again.
Result<double> Composer::place(const RereadWay& way, const Ids& question) {
  text_.truncate(n_head());
  if (way.of == RereadWay::Of::context) {
    for (const StretchRows& rows : in_turn_) SATCHEL_TRY(text_.place(rows));
    return read_depending(way.share);
  }
  for (std::size_t i = 0; i < documents_.size(); ++i) {
    const ComposedDocument& document = of_.documents[i];
    if (document.is_new) SATCHEL_TRY(text_.read(document.ids, 0));
    if (!document.is_new) SATCHEL_TRY(text_.place(documents_[i]));
  }
  if (way.of == RereadWay::Of::changed) return text_.reread_changed(n_head(), way.share);
  if (way.of == RereadWay::Of::asked) return read_asked(question, way.share);
  const Ids first = first_tokens(way.n_first);
  SATCHEL_TRY(text_.reread(first));
  return static_cast<double>(first.size()) / static_cast<double>(text_.n_tokens() - n_head());
}

Result<ComposedFigures> Composer::compose(const RereadWay& way) {
  ComposedFigures out;
  const SystemClock clock;
  for (std::size_t i = 0; i < of_.questions.size(); ++i) {
    const ComposedQuestion& question = of_.questions[i];
    const double began = clock.steady_ms(), began_cpu = cpu_ms();
    if (i == 0 || way.of == RereadWay::Of::asked) {
      SATCHEL_TRY_ASSIGN(out.reread, place(way, question.ids));
    }
    if (i == 0) {
      const std::size_t n = text_.n_tokens();
      SATCHEL_TRY(text_.read(question.ids, 1));
      out.first_token_ms = clock.steady_ms() - began;
      out.first_token_cpu_ms = cpu_ms() - began_cpu;
      text_.truncate(n);
    }
    SATCHEL_TRY(judge(question, out));
    SATCHEL_TRY_ASSIGN(const std::vector<float> logits, along(question, exact_[i].ids));
    out.compared.add(
        runtime::compare_logits(exact_logits_[i], logits, engine_.config().n_vocabulary));
  }
  return out;
}

}  // namespace

void ComposedFigures::add(const ComposedFigures& other) {
  first_token_ms += other.first_token_ms;
  first_token_cpu_ms += other.first_token_cpu_ms;
  reread += other.reread;
  n_judged += other.n_judged;
  n_right += other.n_right;
  compared.add(other.compared);
}

Result<std::vector<ComposedFigures>> measure_composition(runtime::Engine& engine,
                                                         const Composition& composition,
                                                         std::span<const RereadWay> ways,
                                                         std::stop_token stop) {
  std::size_t n = composition.head.size(), n_after = 0;
  std::size_t n_apart = 0;
  for (const ComposedDocument& document : composition.documents) {
    n += document.ids.size();
    n_apart =
        std::max(n_apart, composition.head.size() + document.behind.size() + document.ids.size());
  }
  for (const ComposedQuestion& question : composition.questions)
    n_after = std::max(n_after, question.ids.size() + question.n_tokens_max);
  SATCHEL_TRY_ASSIGN(RowText text,
                     RowText::open(engine, std::max(n + n_after, n_apart), std::move(stop)));
  Composer composer(engine, composition, std::move(text));
  SATCHEL_TRY(composer.read_apart());
  if (std::ranges::count(ways, RereadWay::Of::context, &RereadWay::of) > 0)
    SATCHEL_TRY(composer.read_in_turn());
  std::vector<ComposedFigures> out;
  SATCHEL_TRY_ASSIGN(out.emplace_back(), composer.read());
  for (const RereadWay& way : ways) {
    SATCHEL_TRY_ASSIGN(out.emplace_back(), composer.compose(way));
  }
  return out;
}

}  // namespace satchel::eval
