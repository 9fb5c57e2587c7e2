#include "runtime/chat/correct_text.h"

#include <cstdio>

#include "kernels/base/size_text.h"

namespace satchel::runtime {
namespace {

constexpr double kNoticedMs = 500;  // chosen: nobody minds less

}  // namespace

std::string describe(const CorrectReport& report) {
  std::string text = "Corrected in " + duration_text(report.ms) + ": read " +
                     count_text(report.n_read) + (report.n_read == 1 ? " token." : " tokens.");
  if (report.n_placed > 0)
    text +=
        " " + count_text(report.n_placed) +
        " tokens after it were moved without being read again: they do not reflect the new words.";
  if (report.n_unread > 0)
    text += " " + count_text(report.n_unread) + " more will be read before the next answer.";
  if (report.not_placed != NotPlaced::none) return text + " " + not_placed_text(report.not_placed);
  if (report.n_placed == 0 || report.reading_ms == 0) return text;
  const std::string loss = no_gain_text({.ms = report.ms, .reading_ms = report.reading_ms});
  return text + " " +
         (loss.empty()
              ? "Reading them would have taken about " + duration_text(report.reading_ms) + "."
              : loss);
}

std::string not_placed_text(NotPlaced why) {
  switch (why) {
    case NotPlaced::none:
      return "";
    case NotPlaced::in_order:
      return "Nothing was moved: a model with attention windows or recurrent layers reads text in "
             "order.";
    case NotPlaced::each_step:
      return "Nothing was moved: with a recipe that scores text at each step, it is read again "
             "where it stands.";
    case NotPlaced::out_of_reach:
      return "Nothing was moved: some of the chat is beyond the model's context.";
    case NotPlaced::pending:
      return "Nothing was moved: the text behind it was waiting to be compressed, or at rest.";
    case NotPlaced::no_memory:
      return "Nothing was moved: there was no memory to hold the text twice.";
    case NotPlaced::no_reading:
      return "Nothing was moved: no chat has saved this document with this model and preset.";
  }
  return "";
}

bool is_loss(const Reuse& reuse) {
  return !reuse.saves_time() && reuse.ms >= kNoticedMs;
}

std::string no_gain_text(const Reuse& reuse) {
  if (!is_loss(reuse)) return "";
  return "No time was saved: it took " + duration_text(reuse.ms) +
         ", and reading would have taken about " + duration_text(reuse.reading_ms) + ".";
}

std::string describe(const ExactReport& report) {
  if (report.read.n_tokens == 0) return "Nothing was moved: all that has been read is exact.";
  std::string text = "Read " + count_text(report.read.n_tokens) + " tokens in " +
                     duration_text(report.read.ms) + ".";
  if (report.placed.n_tokens == 0) return text;
  char figures[160];
  std::snprintf(
      figures, sizeof figures,
      " Until now the likeliest next word was the same for %.0f %% of %zu tokens (KL %.3f).",
      report.placed.agreement * 100, report.placed.n_tokens, report.placed.kl);
  return text + figures;
}

}  // namespace satchel::runtime
