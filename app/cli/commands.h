// The commands of `satchel`, a file each (app/eval/commands/commands.h: those that measure). Each
// adds its subcommand; main.cpp runs the one chosen and returns its exit code.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace satchel::app {

using Run = std::function<int()>;
// Called when the command was chosen and its options are parsed.
using Choose = std::function<void(Run)>;

void add_chat(CLI::App& app, const Choose& choose);
void add_chats(CLI::App& app, const Choose& choose);
void add_documents(CLI::App& app, const Choose& choose);
void add_download(CLI::App& app, const Choose& choose);
void add_search(CLI::App& app, const Choose& choose);
void add_export(CLI::App& app, const Choose& choose);
void add_import(CLI::App& app, const Choose& choose);
void add_backup(CLI::App& app, const Choose& choose);
void add_encrypt(CLI::App& app, const Choose& choose);  // and decrypt
void add_demo(CLI::App& app, const Choose& choose);
void add_info(CLI::App& app, const Choose& choose);
void add_recipes(CLI::App& app, const Choose& choose);
void add_systems(CLI::App& app, const Choose& choose);
void add_estimate(CLI::App& app, const Choose& choose);
// What describes the commands that were added before and after it (`app` outlives the run).
void add_completion(CLI::App& app, const Choose& choose);
void add_manual(CLI::App& app, const Choose& choose);  // hidden: packages print their man page

}  // namespace satchel::app
