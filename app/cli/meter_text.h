// A chat's measurements and its ledger, for people and as JSON. Every figure says when, and at
// which token, it was measured.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "app/cli/console.h"
#include "runtime/fidelity/ledger.h"
#include "runtime/fidelity/recall_probe.h"

namespace satchel::app {

Json to_json(const runtime::Fidelity& fidelity);
Json to_json(const runtime::RecallProbe& recall);
Json to_json(std::span<const runtime::LedgerEntry> ledger);

// A line each: fidelity, recall, the ledger's sums.
std::string describe(const runtime::Fidelity& fidelity, std::int64_t now_ms);
// The same, and whether text was compressed, corrected or moved after it was measured.
std::string describe(const runtime::Fidelity& fidelity,
                     std::span<const runtime::LedgerEntry> ledger, std::int64_t now_ms);
std::string describe(const runtime::RecallProbe& recall, std::int64_t now_ms);
std::string describe(std::span<const runtime::LedgerEntry> ledger);
// Of what was moved instead of read.
std::string describe_placed(std::size_t n_placed, std::size_t n_tokens);
// A line for each step, under a line of headings.
std::string table_of(std::span<const runtime::LedgerEntry> ledger);

std::string date_text(std::int64_t ms);  // "2026-11-22 15:04", local

}  // namespace satchel::app
