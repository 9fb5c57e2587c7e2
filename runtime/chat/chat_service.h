// ChatService: the chats of one store with one model, as every front end uses them: terminal,
// window and whatever comes next only show and ask.
//   threads  1 any thread may make any call. Calls run one after the other, in the order in which
//              they came (the engine is single-threaded), but chats answer at once: they decode
//              together (DecodeGroup), and calls of other chats come in between two tokens. While a
//              chat reads a text the others' answers go on, up to their ends; of the calls only
//              chats(), search(), rename(), restore() and look_aside() come in. Another model,
//              limit or recipe waits until no chat answers; a limit that a chat begins with holds
//              at once.
//              Several chats may be open at once and share the engine's arena and its limit
//            2 a call that is stopped while it waits has done nothing and fails with STOPPED;
//              stopped while it runs it ends within 200 ms and keeps what was done. An answer that
//              waits for another chat's sink, or to end for its prefill, ends after that
//            3 idle() runs when no call waits, and makes way for any call within 200 ms
//            4 a call's events come on its own thread, before it returns. A sink may stop any call,
//              but not make one, nor wait for a thread that does: on its own thread a call
//              returns NESTED_CALL, without an event, and close() does nothing
//   order    a message is in the store before the model sees it (Session). A chat enters the store
//            with its first message, and leaves it again if that is refused
//   errors   NO_MODEL, NO_CHAT, CHAT_OPEN, CHAT_MEMORY, CHAT_LOST, MODEL_MISSING, NESTED_CALL,
//            STOPPED, MEMORY, INTERNAL (what a library threw), and those of the layers below. Every
//            other error is also an event, Failed, with what failed
//   files    chat_service.cpp  models and chats · chat_service_talk.cpp  what is said in them ·
//            chat_service_edit.cpp  what is changed in them · chat_service_memory.cpp  what they
//            hold · chat_service_bytes.cpp  chats as bytes · chat_service_shelf.cpp  documents
//            for other chats · chat_service_quotes.cpp  what answers repeat of documents ·
//            chat_service_held.cpp  how their words are held, and what answers look at ·
//            chat_service_answers.cpp  how they are answered, and what is kept for that
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/chat/call_queue.h"
#include "runtime/chat/chat_events.h"
#include "runtime/chat/decode_group.h"
#include "runtime/chat/model_holder.h"
#include "runtime/chat/open_chat.h"
#include "runtime/chat/read_speed.h"

namespace satchel::runtime {

struct ChatCall {
  std::stop_token stop = {};
  ChatSink sink = {};
};

struct OpenOptions {
  ChatHandle instead_of = {};  // closed when the other one is there
  bool keeps_model = false;    // the chat goes on with the model that is open
  ChatChoices choices = {};
};
struct OpenReport {
  ChatHandle chat;
  // Where the memory did not open the words can be read, and the next message tries again. No
  // report: the chat has no messages.
  Result<std::optional<ResumeReport>> resumed;
};
struct CpuMove {
  std::optional<ResumeReport> resumed;
  std::optional<GenerateReport> answer;  // to the message that had no whole one
};
struct Document {
  std::string_view title, text;
  bool saves = true;  // false: the caller has more to do before the cache is worth saving
  ReadHow how = ReadHow::exactly;
};

class ChatService {
 public:
  // store    nullptr: nothing is kept
  // options  of every model; model and progress are set by the service
  // clock    not owned; nullptr: the system's
  explicit ChatService(std::unique_ptr<ChatStore> store, EngineOptions options = {},
                       const Clock* clock = nullptr);
  // No call may run or wait any more.
  ~ChatService();
  ChatService(ChatService&&) = delete;

  // --- models. Another model closes all chats; where it does not open, they stay.
  Result<ModelFacts> open_model(const std::string& path, const ChatCall& call = {});
  // The model goes on with the CPU, from now on; `chat` as it was saved, and a message of it that
  // has no whole answer is answered anew. Other chats are resumed when they are used next. May be
  // tried again after an error.
  Result<CpuMove> use_cpu(ChatHandle chat, const Sampling& sampling, const ChatCall& call = {});

  // --- the library
  // Those that have messages.
  Result<std::vector<Chat>> chats(const ChatCall& call = {},
                                  ChatFilter filter = ChatFilter::present);
  // Also while an answer is made.
  Result<std::vector<Found>> search(const SearchQuery& query, const ChatCall& call = {});
  Result<Chat> rename(ChatId chat, const std::string& title, const ChatCall& call = {});
  // In the folder of that name, with the others there; "": in none.
  Result<Chat> set_folder(ChatId chat, const std::string& folder, const ChatCall& call = {});
  Result<Chat> set_place(ChatId chat, ListPlace place, const ChatCall& call = {});
  // Who asked ended this answer of the chat: nobody need be offered the rest of it.
  Result<Chat> set_stopped(ChatId chat, MessageId answer, const ChatCall& call = {});
  // Texts that people keep under names (saved_prompts.h); the other two tell all of them as well.
  Result<std::vector<SavedPrompt>> prompts(const ChatCall& call = {});
  Result<void> keep_prompt(const SavedPrompt& prompt, const ChatCall& call = {});
  Result<void> remove_prompt(const std::string& name, const ChatCall& call = {});
  // And closes it.
  //   errors  CHAT_OPEN: it answers
  Result<Chat> remove(ChatId chat, const ChatCall& call = {});
  Result<Chat> restore(ChatId chat, const ChatCall& call = {});
  // Of a removed chat: its messages and its saved cache, for good. And closes it.
  //   errors  invalid, PARAM: it was not removed before; CHAT_OPEN: it answers
  Result<void> delete_now(ChatId chat, const ChatCall& call = {});
  // Of ChatsListed::copies, for good.
  Result<void> delete_copy(const std::string& name, const ChatCall& call = {});

  // --- open chats
  Result<ChatHandle> begin(ChatStart start, ChatHandle instead_of = {}, const ChatCall& call = {});
  // Into the store at once, before its first message; leaves it when it is closed without one.
  Result<void> enter(ChatHandle chat, const ChatCall& call = {});
  // Opens the model of the chat first, where that is another one.
  Result<OpenReport> open(ChatId chat, const OpenOptions& options = {}, const ChatCall& call = {});
  void close(ChatHandle chat);
  // The chat as it is now, as bytes that open_bytes() makes a chat from, here or elsewhere
  // (runtime/chat_bytes).
  Result<std::string> to_bytes(ChatHandle chat, const ChatCall& call = {});
  // A chat of its own, with the model that is open and the options in place of what the bytes say;
  // in a store as `name`, or by its first message. After an error there is none.
  //   errors  CHAT_DAMAGED, CHAT_VERSION, CHAT_MODEL: it is of another model
  Result<OpenReport> open_bytes(std::string_view bytes, std::string_view name,
                                const OpenOptions& options = {}, const ChatCall& call = {});

  Result<GenerateReport> send(ChatHandle chat, std::string_view text, const Sampling& sampling,
                              const ChatCall& call = {});
  // The same for a question about all of a chat longer than the context (Session::ask_all): first
  // comes Progress of Phase::ask_parts, then the notes and kNoted as messages before the question.
  Result<GenerateReport> ask_all(ChatHandle chat, std::string_view question,
                                 const Sampling& sampling, const ChatCall& call = {});
  // Commits the document with its answer kNoted and reads it. One in parts makes way for send():
  // what is not read then is read by idle(), or where a question needs it. Stopped before the
  // commit, which can take seconds from kKeptBytes (document_parts.h) on, nothing of it is there.
  Result<ReadReport> attach(ChatHandle chat, const Document& document, const ChatCall& call = {});

  // --- the shelf (ChatStore). A chat that begins with a document takes what another one made of it
  // by itself, whoever attaches it (runtime/session/first_document.h).
  Result<std::vector<ShelvedDocument>> shelf(const ChatCall& call = {});
  // Every document of the chat, until it is removed; how many.
  Result<std::size_t> keep_documents(ChatHandle chat, const ChatCall& call = {});
  // One that another chat has.
  //   errors  DOC_NOT_FOUND
  Result<void> keep_document(std::string_view hash, const ChatCall& call = {});
  Result<void> remove_document(std::string_view hash, const ChatCall& call = {});
  // attach() with a document of the shelf.
  //   errors  DOC_NOT_FOUND
  Result<ReadReport> attach_shelved(ChatHandle chat, std::string_view hash,
                                    const ChatCall& call = {}, bool saves = true,
                                    ReadHow how = ReadHow::exactly);

  // --- what is there
  // Messages of a conversation had elsewhere: in the store all or none, not read yet.
  Result<std::vector<MessageId>> append(ChatHandle chat, std::span<const MessageText> messages,
                                        const ChatCall& call = {});
  // To the last message, which has no answer.
  //   errors  invalid, PARAM: it has one
  Result<GenerateReport> answer(ChatHandle chat, const Sampling& sampling,
                                const ChatCall& call = {});
  // Reads what no answer has needed yet, so that the next one need not.
  Result<ReadReport> read(ChatHandle chat, const ChatCall& call = {});
  // An edit: `text` in place of the user's message. What followed it stays as another version.
  // Where nothing is sent, the chat is as it was.
  //   errors  invalid, PARAM: the message is none of the user's words, or the chat is not saved
  Result<GenerateReport> send_instead(ChatHandle chat, MessageId message, std::string_view text,
                                      const Sampling& sampling, const ChatCall& call = {});
  // As Session has it: what follows the message stays.
  //   errors  also invalid, PARAM: the chat is not saved
  Result<CorrectReport> correct(ChatHandle chat, MessageId message, std::string_view text,
                                const ChatCall& call = {});
  // As Session has it.
  Result<ExactReport> read_exactly(ChatHandle chat, const ChatCall& call = {});
  // Another answer in place of one: drawn, also where `sampling` is greedy, and with a seed of its
  // own, or it would be the same again. Where none is begun, the chat is as it was.
  //   errors  invalid, PARAM: the message is no answer to a message
  Result<GenerateReport> answer_again(ChatHandle chat, MessageId answer, const Sampling& sampling,
                                      const ChatCall& call = {});
  // As Session has them.
  Result<void> switch_to(ChatHandle chat, MessageId version, const ChatCall& call = {});
  Result<std::vector<MessageVersions>> versions(ChatHandle chat, const ChatCall& call = {});
  // Makes `last` the chat's last message; 0: it is empty. Session has these five as well.
  Result<void> truncate(ChatHandle chat, MessageId last, const ChatCall& call = {});
  Result<void> pin(ChatHandle chat, MessageId message, const ChatCall& call = {});
  Result<void> unpin(ChatHandle chat, MessageId message, const ChatCall& call = {});
  Result<void> forget(ChatHandle chat, MessageId message, const ChatCall& call = {});
  // A second chat that goes on from here; what is held is shared.
  //   last  its last message, as Session::fork()
  Result<ChatHandle> branch(ChatHandle chat, const ChatCall& call = {},
                            std::optional<MessageId> last = {});

  // What a new chat tells its model first, and how answers are made where the front end passes
  // OpenChat::answers() on; kept with the chat.
  //   errors  as OpenChat::set_answers()
  Result<void> set_answers(ChatHandle chat, const AnswerSettings& answers,
                           const ChatCall& call = {});
  // Whether the answers to come are thought about.
  Result<void> set_thinking(ChatHandle chat, Thinking thinking, const ChatCall& call = {});
  // Beyond the model's context, from now on; kept with the chat. One that was too long to be
  // resumed is resumed now.
  Result<void> go_on(ChatHandle chat, const ChatCall& call = {});
  Result<OlderParts> older_parts(ChatHandle chat, const ChatCall& call = {});
  // The answer to the next message sees these parts, numbered from 0; none: those that it needs.
  Result<void> name_parts(ChatHandle chat, const std::vector<std::size_t>& parts,
                          const ChatCall& call = {});

  // What an answer repeats of the chat's documents, word for word (quotes.h); 0: every answer, but
  // for old ones of a long chat.
  Result<QuotesFound> quotes(ChatHandle chat, MessageId answer, const ChatCall& call = {});
  // How its words are held now, passage by passage.
  Result<HeldText> held(ChatHandle chat, const ChatCall& call = {});
  // What its newest answer looked at, token by token (runtime/replay/attention_paid.h); in memory
  // as it is now.
  //   errors  MEMORY, cancelled/STOPPED
  Result<AttendedText> attended(ChatHandle chat, const ChatCall& call = {});

  // --- memory
  // limit_bytes  0: the default
  Result<PresetEstimates> estimate_presets(std::size_t limit_bytes, const ChatCall& call = {});
  Result<MemoryChange> preview_memory(ChatHandle chat, const MemoryRequest& request,
                                      const ChatCall& call = {});
  // The chat goes on with them, and is opened with them from now on.
  Result<MemoryChange> change_memory(ChatHandle chat, const MemoryRequest& request,
                                     const ChatCall& call = {});
  // Work that may wait; ends early when a call comes, and goes on with the next idle().
  Result<IdleReport> idle(ChatHandle chat, const ChatCall& call = {});
  bool has_idle_work(ChatHandle chat) const;
  // Every other call saves what it did; this is for who used session().
  Result<void> save(ChatHandle chat, const ChatCall& call = {});

  // `look` runs while no call does: it may use what is below, from any thread.
  Result<void> look(const std::function<Result<void>()>& look, const ChatCall& call = {});
  // The same in the middle of a text as well: it may use what is below, but no chat.
  Result<void> look_aside(const std::function<Result<void>()>& look, const ChatCall& call = {});

  std::size_t n_waiting() const { return queue_.n_waiting(); }
  // What attach() reads in parts makes way now, as for send(): for a front end whose send() waits
  // behind it on one thread. From any thread.
  void make_way() { queue_.hurry(); }

  // For a front end with one thread, between its calls; nullptr: there is none (any more).
  const OpenChat* chat(ChatHandle chat) const;
  Session* session(ChatHandle chat) const;
  std::optional<ChatHandle> handle_of(ChatId chat) const;  // nothing: it is not open
  Engine* engine() const { return model_.engine(); }
  ChatStore* store() const { return store_.get(); }
  bool cpu_would_help(const Error& error) const;  // whether use_cpu() goes on after it

 private:
  // One call under way: who asked, and where its events go.
  struct Running {
    ChatTask task;
    ChatHandle chat;
    const ChatCall& call;
    bool is_anothers = false;  // its error is of a model that did not open beside the open one
    void tell(const ChatEvent& event) const {
      if (call.sink) call.sink(chat, event);
    }
  };

  // Waits for the permit, works, and tells the error.
  template <class T, class Work>
  Result<T> run(ChatTask task, ChatHandle chat, const ChatCall& call, const Work& work);
  template <class T, class Work>
  Result<T> run(ChatTask task, ChatHandle chat, const CallScope& scope, const ChatCall& call,
                const Work& work);
  static CallScope scope_of(ChatTask task, ChatHandle chat);
  template <class T, class Work>
  Result<T> guarded(Running& running, const Work& work);
  Result<CallQueue::Permit> wait_permit(const std::stop_token& stop, const CallScope& scope);
  void tell_error(Running& running, ChatTask task, const Error& error);
  void check(Running& running, ChatTask task, const Result<void>& done);

  void tell_store(const Running& running);
  Result<ModelFacts> load_model(const std::string& path, Running& running);
  void reopen_all(Running& running);
  Result<void> switch_model_for(const Chat& chat, Running& running);
  ChatHandle add(OpenChat chat, ChatHandle instead_of);
  void close_now(ChatHandle chat);
  Result<ChatLibrary*> library();
  Result<Chat> note_of_chat(ChatId chat, std::string_view name, std::string_view text,
                            const ChatCall& call);
  Result<void> change_prompts(const ChatCall& call,
                              const std::function<Result<void>(ChatLibrary&)>& change);
  Result<OpenChat*> find(ChatHandle chat);
  Result<OpenChat::Host> host();
  struct Shown {
    ChatOpened opened;
    std::vector<DocumentParts> parts;
    void tell(const Running& running) const;
  };
  Result<Shown> shown_of(const OpenChat& chat);
  Result<OpenReport> open_saved(const Chat& saved, const OpenOptions& options, Running& running);
  void show_words(const Chat& saved, const Running& running);
  Result<std::optional<ResumeReport>> resume(OpenChat& chat, Running& running);
  // What follows a chat's coming back.
  void tell_resumed(OpenChat& chat, ResumeReport& report, Running& running);
  Result<std::optional<ResumeReport>> reopen(OpenChat& chat, Running& running);
  // A saved chat whose memory did not open before is tried again.
  Result<OpenChat*> find_resumed(Running& running);
  // As the open model is to have it.
  Result<MemoryRequest> suited_request(MemoryRequest request);

  // What `add` commits to the chat's session; the chat enters the store with it if it is its first.
  template <class Ids, class Add>
  Result<Ids> commit(OpenChat& chat, std::string_view title, Running& running, const Add& add);
  Result<GenerateReport> reply(OpenChat& chat, const Sampling& sampling, Running& running);
  // The chat ends before the message until something else is said there, or what was cut is put
  // back (true).
  struct CutEnd {
    MessageId last;              // of the messages before the cut
    std::size_t n_messages = 0;  // after it
  };
  Result<CutEnd> cut_before(OpenChat& chat, MessageId message, bool is_users, Running& running);
  bool put_back_unless_said(OpenChat& chat, const CutEnd& cut, Running& running);
  // To other messages, by `go`; they are told.
  Result<void> go_now(OpenChat& chat, Running& running,
                      const std::function<Result<void>(Session&)>& go);
  // also_none: there may have been some before.
  void tell_versions(const OpenChat& chat, const Running& running, bool also_none = true);
  void tell_marks(const OpenChat& chat, const Running& running, bool also_none = true);
  // Changes the marks of a chat.
  Result<void> mark(ChatHandle chat, const ChatCall& call,
                    const std::function<Result<void>(Session&)>& change);
  // For what only a chat with messages has.
  template <class T, class Work>
  Result<T> edit(ChatHandle chat, const ChatCall& call, const Work& work,
                 ChatTask task = ChatTask::edit);
  Result<ReadReport> read_document(OpenChat& chat, const Document& document, Running& running);
  Result<std::vector<StoredMessage>> stored_of(const OpenChat& chat);
  Result<std::vector<StoredMessage>> words_of(const OpenChat& chat);  // documents whole
  Result<HeldText> held_now(const OpenChat& chat);
  Result<AttendedText> attended_now(const OpenChat& chat, const std::stop_token& stop);
  Result<std::vector<ShelvedDocument>> shelf_now(const Running& running);
  struct Shelved {
    std::string title, text;
  };
  Result<Shelved> shelved(std::string_view hash);
  // Less than all of them where it makes way.
  Result<ReadReport> read_parts(const OpenChat& chat, Running& running,
                                const std::function<void()>& make_way);
  // on_read: now and then while a text is read.
  ProgressFn progress_of(const Running& running, const std::function<void()>& on_read = {},
                         const std::function<void()>& on_generate = {});
  void tell_thoughts(const OpenChat& chat, const Running& running);
  void tell_cache(const OpenChat& chat, const Running& running);
  Result<MemoryChange> change_now(OpenChat& chat, const MemoryRequest& request, Running& running);
  Result<IdleReport> idle_now(OpenChat& chat, const std::stop_token& stop, Running& running);
  void thin_unused(const std::stop_token& stop);
  bool owes_thinning() const;
  Result<IdleReport> idle_piece(OpenChat& chat, const std::stop_token& stop,
                                const ProgressFn& progress, Running& running);
  void save_now(OpenChat& chat, Running& running);
  void save_now(OpenChat& chat, Running& running, const std::stop_token& stop);

  std::unique_ptr<ChatStore> store_;
  SystemClock system_clock_;
  const Clock& clock_;
  CallQueue queue_;
  DecodeGroup answers_{queue_};
  ModelHolder model_;
  ReadSpeed read_speed_;
  std::map<ChatHandle, OpenChat> chats_;
  std::uint64_t last_handle_ = 0;
  bool is_model_told_ = false;              // the front ends believe that a model is open
  std::optional<std::int64_t> thinned_ms_;  // when unused chats were last
  bool is_store_told_ = false;
};

}  // namespace satchel::runtime
