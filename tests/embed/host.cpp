// The C++ header as a host uses it, in C++17: a chat that streams, is kept, and is opened again.
//   host MODEL FOLDER
#include <cstdio>
#include <satchel/satchel.hpp>
#include <stdexcept>
#include <string>

namespace {

void say(bool is_right, const char* what) {
  std::printf("%s: %s\n", is_right ? "right" : "WRONG", what);
}

void talk(const std::string& model_path, const std::string& folder) {
  const satchel::Runtime runtime;
  const satchel::Store store(runtime, folder);
  const satchel::Model model(runtime, model_path, store);
  satchel::Session chat = model.chat("host");
  int n_told = 0;
  chat.add_document("notes",
                    "Matteo Thorsen keeps a rabbit. We had tea. Estelle Ibarra keeps a parrot. "
                    "Quentin works as a baker. The last bus came back in the night.",
                    [&](auto, auto, auto) {
                      ++n_told;
                      return true;
                    });
  say(n_told > 0, "progress is told");
  std::string streamed;
  const satchel::Answer answer =
      chat.send("Which pet does Matteo Thorsen keep?", [&](std::string_view delta, bool) {
        streamed += delta;
        return true;
      });
  say(streamed == answer.text && streamed.find("rabbit") != streamed.npos, "an answer streams");
  satchel_resume_report report = SATCHEL_INIT(satchel_resume_report);
  const satchel::Session copy = model.load_snapshot(chat.save_snapshot(), "copy", &report);
  say(report.n_recomputed == 0 && copy.messages_json().find("rabbit") != std::string::npos,
      "a chat goes on from bytes");
  satchel::Session fork = chat.fork();
  std::string pulled;
  satchel::Stream stream = fork.stream("Which pet does Estelle Ibarra keep?");
  while (const auto delta = stream.next()) pulled += delta->text;
  say(pulled == stream.result().text && pulled.find("parrot") != std::string::npos,
      "a fork goes on, and its answer is pulled");
  try {
    chat.send("Again?", [](std::string_view, bool) -> bool { throw std::logic_error("mine"); });
    say(false, "what a listener threw");
  } catch (const std::logic_error& error) {
    say(std::string(error.what()) == "mine", "what a listener threw comes out of the call");
  }
  say(chat.stats().bytes > 0 && model.count_tokens("Hello.") > 0, "figures");
}

void resume(const std::string& model_path, const std::string& folder) {
  const satchel::Runtime runtime;
  const satchel::Model model(runtime, model_path, satchel::Store(runtime, folder));
  satchel_resume_report report = SATCHEL_INIT(satchel_resume_report);
  const satchel::Session chat = model.open("host", &report);
  say(report.n_recomputed == 0 && report.n_reused > 0, "a chat is resumed without recomputing it");
  try {
    model.open("nobody");
    say(false, "an error");
  } catch (const satchel::Error& error) {
    say(error.kind() == SATCHEL_NOT_FOUND && error.code() == "CHAT_NOT_FOUND",
        "an error is thrown");
  }
}

}  // namespace

int main(int n_arguments, char** arguments) {
  if (n_arguments != 3) return 2;
  talk(arguments[1], arguments[2]);
  resume(arguments[1], arguments[2]);
  return 0;
}
