// Which device the programs use, and what they do when it fails: with libraries that stand in for
// the GPU's (tests/libraries).
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/registry/registry.h"
#include "process.h"
#include "support/bundled_model.h"

namespace satchel::test {
namespace {

// The programs of this test find the library that it uses, and none unless it says so.
class Backends : public testing::Test {
 protected:
  ~Backends() override {
    unsetenv(kBackends);
    unsetenv("SATCHEL_TEST_GPU_LOST_AT");
    unsetenv("SATCHEL_TEST_GPU_FULL");
    unsetenv("SATCHEL_TEST_GPU_BYTES");
  }
  static void use(const std::string& library, const char* lost_at = nullptr) {
    setenv(kBackends, (std::string(SATCHEL_TEST_LIBRARIES "/") + library).c_str(), 1);
    if (lost_at != nullptr) setenv("SATCHEL_TEST_GPU_LOST_AT", lost_at, 1);
  }
  const Folder home_;
};

int count(const std::string& text, std::string_view part) {
  int n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}

TEST_F(Backends, info_says_which_device_is_used_and_why_not_the_gpu) {
  for (const auto& [library, code] : {std::pair("nowhere", "GPU_LIBRARY"),
                                      {"text", "GPU_LIBRARY_BAD"},
                                      {"other_build", "PLUGIN_ABI"},
                                      {"old_driver", "GPU_DRIVER"},
                                      {"half", "GPU_OPERATION"}}) {
    use(library);
    const auto in_use = run(home_, {"info", "--json"}).json()["in_use"];
    EXPECT_EQ(in_use["backend"], "cpu") << library;
    EXPECT_EQ(in_use["why_not_gpu"]["code"], code);
    EXPECT_NE(run(home_, {"info"}).out.find(code), std::string::npos);
  }
  use("fake");
  const auto in_use = run(home_, {"info", "--json"}).json()["in_use"];
  EXPECT_EQ(in_use["backend"], "cuda");
  EXPECT_TRUE(in_use["why_not_gpu"].is_null());
}

TEST_F(Backends, the_card_of_this_machine_is_for_no_test_that_does_not_ask_for_it) {
  const auto in_use = run(home_, {"info", "--json"}).json()["in_use"];
  EXPECT_EQ(in_use["why_not_gpu"]["code"], "GPU_LIBRARY");
  EXPECT_NE(in_use["why_not_gpu"]["message"].get<std::string>().find(kNoBackends),
            std::string::npos)
      << in_use;
}

TEST_F(Backends, a_gpu_that_was_demanded_and_is_missing_is_an_error) {
  use("nowhere");
  const Finished said = run(home_, {"chat", "-p", "Hi", "-n", "2", "--backend", "cuda", "--json"});
  EXPECT_EQ(said.exit_code, 6);
  EXPECT_EQ(said.json()["error"]["code"], "GPU_LIBRARY");
  EXPECT_EQ(run(home_, {"chat", "-p", "Hi", "-n", "2"}).exit_code, 0) << "auto takes the cpu";
}

TEST_F(Backends, a_model_that_the_gpu_has_no_room_for_runs_on_the_cpu_unless_the_gpu_was_demanded) {
  use("fake");
  setenv("SATCHEL_TEST_GPU_FULL", "1", 1);
  EXPECT_EQ(run(home_, {"chat", "-p", "Hi", "-n", "2"}).exit_code, 0);
  const Finished said = run(home_, {"chat", "-p", "Hi", "-n", "2", "--backend", "cuda"});
  EXPECT_EQ(said.exit_code, 5);
  EXPECT_NE(said.err.find("[GPU_MEMORY]"), std::string::npos) << said.err;
}

TEST_F(Backends, chats_take_what_the_card_has_and_where_that_is_too_little_the_cpu_does_the_work) {
  use("fake");
  constexpr std::size_t kCard = std::size_t{8} << 20;
  setenv("SATCHEL_TEST_GPU_BYTES", std::to_string(kCard).c_str(), 1);
  const auto room = run(home_, {"info", "--json"}).json()["in_use"]["room_bytes"];
  EXPECT_GT(room, kCard / 2);
  EXPECT_LE(room, kCard);
  EXPECT_NE(run(home_, {"info"}).out.find("memory for a model and its chats: 8."),
            std::string::npos);
  const auto taken = run(home_, {"estimate", "--json"}).json();
  EXPECT_LT(taken["budget_bytes"], kCard);
  EXPECT_LT(taken["room_bytes"], kCard);
  EXPECT_GT(taken["memory_free_bytes"], kCard) << "the machine's, as in info";
  const Finished said = run(home_, {"chat", "-p", "Hi", "-n", "2", "--backend", "cuda"});
  EXPECT_EQ(said.exit_code, 0) << said.err;
  setenv("SATCHEL_TEST_GPU_BYTES", "500000", 1);
  EXPECT_EQ(run(home_, {"chat", "-p", "Hi", "-n", "2"}).exit_code, 0);
  const Finished demanded = run(home_, {"chat", "-p", "Hi", "-n", "2", "--backend", "cuda"});
  EXPECT_EQ(demanded.exit_code, 5);
  EXPECT_NE(demanded.err.find("[GPU_MEMORY]"), std::string::npos) << demanded.err;
}

TEST_F(Backends, a_gpu_lost_in_a_pipe_ends_the_chat_which_is_saved) {
  use("fake", "150");
  const Finished said =
      run(home_, {"chat", "--chat", "c", "-n", "12", "--temperature", "0"}, "Hello there.\n");
  EXPECT_EQ(said.exit_code, 6) << said.err;
  EXPECT_NE(said.err.find("[DEVICE_LOST]"), std::string::npos) << said.err;
  const auto rows = run(home_, {"chats", "--show", "c", "--json"}).json()["messages"];
  ASSERT_GE(rows.size(), 1u);
  EXPECT_EQ(rows[0]["text"], "Hello there.");
}

// The n-th call fails while the prompt is read, or while the answer is made.
TEST_F(Backends, a_gpu_lost_at_a_terminal_is_left_for_the_cpu_on_the_persons_word) {
  use("nowhere");
  run(home_, {"chat", "--chat", "whole", "-n", "12", "--temperature", "0"}, "Hello there.\n");
  const auto answer_in = [&](const std::string& chat) {
    return run(home_, {"chats", "--show", chat, "--json"}).json()["messages"];
  };
  const auto want = answer_in("whole");
  ASSERT_EQ(want.size(), 2u);
  for (const char* lost_at : {"20", "150"}) {
    use("fake", lost_at);
    Terminal terminal(home_, lost_at);
    terminal.read_until("> ");
    terminal.type("Hello there.");
    const std::string offered = terminal.read_until("continue on the CPU");
    EXPECT_NE(offered.find("[DEVICE_LOST]"), std::string::npos) << offered;
    terminal.type("c");
    const std::string moved = terminal.read_until("now.");
    EXPECT_NE(moved.find("Running on the CPU"), std::string::npos) << moved;
    terminal.type("/quit");
    terminal.read_until("");
    EXPECT_EQ(terminal.wait(), 0);
    const auto got = answer_in(lost_at);
    ASSERT_EQ(got.size(), 2u) << got;
    EXPECT_EQ(got[1]["text"], want[1]["text"]) << "lost at " << lost_at;
  }
}

TEST_F(Backends, who_does_not_want_the_cpu_leaves_with_the_chat_saved) {
  use("fake", "20");
  Terminal terminal(home_, "c");
  terminal.read_until("> ");
  terminal.type("Hello there.");
  terminal.read_until("continue on the CPU");
  terminal.type("q");
  terminal.read_until("");
  terminal.wait();
  EXPECT_EQ(run(home_, {"chats", "--show", "c", "--json"}).json()["messages"][0]["text"],
            "Hello there.");
}

// The n-th call fails while the model is loaded (then it is loaded for the CPU), or the chat
// opened.
TEST_F(Backends, a_chat_that_is_opened_on_a_lost_gpu_goes_on_with_the_cpu_on_the_persons_word) {
  use("nowhere");
  run(home_, {"chat", "--chat", "c", "-n", "12", "--temperature", "0"}, "Hello there.\n");
  const auto said = [&] {
    return run(home_, {"chats", "--show", "c", "--json"}).json()["messages"];
  };
  const auto before = said();
  ASSERT_EQ(before.size(), 2u);
  for (const char* chat : {"c", "new"}) {
    int n_offers = 0;
    bool is_open = false;
    for (int n = 8; !is_open && n < 100; n += 1) {
      use("fake", std::to_string(n).c_str());
      Terminal terminal(home_, chat);
      const std::string shown = terminal.read_until("> ");
      const bool offers = shown.find("continue on the CPU") != std::string::npos;
      if (offers) {
        ++n_offers;
        terminal.type("c");
        EXPECT_NE(terminal.read_until("lists commands").find("Running on the CPU"),
                  std::string::npos);
      }
      is_open = !offers && shown.find("Running on the CPU") == std::string::npos;
      terminal.type("/quit");
      terminal.read_until("");
      EXPECT_EQ(terminal.wait(), 0) << shown;
    }
    EXPECT_GT(n_offers, 0) << chat;
  }
  EXPECT_EQ(said(), before);
}

TEST_F(Backends, who_does_not_want_the_cpu_when_a_chat_is_opened_leaves_with_the_error) {
  use("nowhere");
  run(home_, {"chat", "--chat", "c", "-n", "2"}, "Hello there.\n");
  for (const char* chat : {"c", "new"}) {
    const bool is_kept = std::string_view(chat) == "c";
    use("fake", is_kept ? "16" : "13");  // a new one has no message to read again
    Terminal terminal(home_, chat);
    const std::string offered = terminal.read_until("> ");
    ASSERT_NE(offered.find("continue on the CPU"), std::string::npos) << offered;
    EXPECT_EQ(offered.find("the chat is saved") != std::string::npos, is_kept) << offered;
    terminal.type("q");
    EXPECT_EQ(count(terminal.read_until(""), "[DEVICE_LOST]"), 1) << "said once";
    EXPECT_EQ(terminal.wait(), 6);
  }
  EXPECT_EQ(run(home_, {"chats", "--show", "c", "--json"}).json()["messages"].size(), 2u);
}

TEST_F(Backends, a_document_that_a_lost_gpu_cannot_read_is_read_by_the_cpu) {
  const auto notes = home_.write("notes.txt", "The brass bell hangs in the harbour office.");
  use("fake", "24");
  Terminal terminal(home_, "c", {"--document", notes.string(), "--pack"});
  terminal.read_until("continue on the CPU");
  terminal.type("c");
  const std::string moved = terminal.read_until("lists commands");
  EXPECT_NE(moved.find("Running on the CPU"), std::string::npos) << moved;
  EXPECT_NE(moved.find(" in fp16"), std::string::npos) << "what packing came to: " << moved;
  terminal.type("/memory");
  EXPECT_NE(terminal.read_until("tokens in ").find(" more fit"), std::string::npos);
  terminal.type("/quit");
  terminal.read_until("");
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_EQ(run(home_, {"chats", "--show", "c", "--json"}).json()["messages"].size(), 2u);
}

TEST_F(Backends, where_the_cpu_fails_too_the_chat_ends_with_its_error) {
  const auto model = home_.path() / "model.gguf";
  std::filesystem::copy_file(kBundledModel, model);
  use("fake", "20");
  Terminal terminal(home_, "c", {"--model", model.string()});
  terminal.read_until("> ");
  terminal.type("Hello there.");
  terminal.read_until("continue on the CPU");
  std::filesystem::remove(model);
  terminal.type("c");
  const std::string said = terminal.read_until("");
  EXPECT_NE(said.find("[MODEL_NOT_FOUND]"), std::string::npos) << said;
  EXPECT_EQ(terminal.wait(), 3);
}

// What is looked at in between does not make the question an answered one.
TEST_F(Backends, a_question_that_waits_is_answered_when_the_cpu_is_taken_later) {
  use("fake", "20");
  Terminal terminal(home_, "c");
  terminal.read_until("> ");
  terminal.type("Hello there.");
  terminal.read_until("stay here");
  terminal.type("");
  terminal.type("/ledger");
  terminal.type("/preset compact now");  // reads again: the GPU fails once more
  terminal.type("c");
  terminal.read_until("now.");
  terminal.type("/quit");
  terminal.read_until("");
  EXPECT_EQ(terminal.wait(), 0);
  const auto rows = run(home_, {"chats", "--show", "c", "--json"}).json()["messages"];
  ASSERT_EQ(rows.size(), 2u) << rows;
  EXPECT_NE(rows[1]["text"], "");
}

TEST_F(Backends, auto_says_in_a_line_why_it_is_not_the_gpu_where_there_is_one) {
  const Arguments ask{"chat", "-p", "Hi", "-n", "2", "--json"};
  use("fake");
  setenv("SATCHEL_TEST_GPU_FULL", "1", 1);
  const Finished full = run(home_, ask);
  EXPECT_NE(full.err.find("not the GPU: The test's device is full. [GPU_MEMORY]"),
            std::string::npos)
      << full.err;
  EXPECT_EQ(full.json()["backend"], "cpu");
  EXPECT_NE(full.json()["device"], "");
  use("nowhere");
  EXPECT_EQ(run(home_, ask).err.find("not the GPU: The GPU library") != std::string::npos,
            kernels::has_nvidia_card())
      << "nothing is installed";
}

TEST_F(Backends, a_folder_of_libraries_that_is_not_absolute_is_not_heeded_and_said) {
  setenv("SATCHEL_BACKENDS", "here", 1);
  EXPECT_NE(run(home_, {"info"}).err.find("SATCHEL_BACKENDS is \"here\""), std::string::npos);
  EXPECT_NE(run(home_, {"chat", "-p", "Hi", "-n", "2"}).err.find("SATCHEL_BACKENDS"),
            std::string::npos);
}

}  // namespace
}  // namespace satchel::test
