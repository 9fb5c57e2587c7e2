// Meter: the measurements and the ledger of a chat, saved with it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/fidelity/fidelity.h"
#include "runtime/fidelity/ledger.h"
#include "runtime/fidelity/recall_probe.h"

namespace satchel::runtime {

struct Meter {
  Fidelity fidelity;   // the last one; n_tokens 0: never measured
  RecallProbe recall;  // likewise; n_asked 0
  Ledger ledger;
};

// The name of the note that holds the text (Journal::set_note).
inline constexpr std::string_view kMeterNote = "meter";

// Lines of numbers: the form, the fidelity, the recall, then a line for each entry. The form is 2
// where text was moved, and entries tell of it; else 1, as programs before 2026-11-29 have it.
std::string to_text(const Meter& meter);
// A line: "tokens agreement kl attention_kept measured_at measured_ms".
std::string to_text(const Fidelity& fidelity);
// Nothing if to_text() cannot have written the text. All entries of the ledger are closed.
std::optional<Meter> meter_from(std::string_view text);
std::optional<Fidelity> fidelity_from(std::string_view text);

}  // namespace satchel::runtime
