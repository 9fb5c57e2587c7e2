// Tour: what Satchel does, shown on the sample notes in a chat of its own, one step at a time. It
// asks AppState for what a user would ask; every figure it tells is AppState's, of this chat.
//   steps      Reading -> Asking -> Read -> Preview -> Compressed -> AskingAgain -> Again ->
//              Held -> Closing -> Reopening -> Resumed -> Off. Those in -ing go on by
//              themselves, the others by next(); Read, Preview and Again also when the user does
//              by hand what comes next
//   invariant  another chat or model, an error, an answer that is not whole end it; what is asked
//              beside it in its own chat does not. It takes nothing back but the preset
#pragma once

#include <QObject>
#include <QTimer>

#include "ui/model/app_state.h"

namespace satchel::ui {

struct TourNotes {
  QString model;        // the file that reads them; empty: the one that is open
  QString title, text;  // empty: there is no tour
  QString question;     // that they answer
};

class Tour : public QObject {
  Q_OBJECT

 public:
  // state: not owned
  Tour(AppState* state, TourNotes notes, QObject* parent = nullptr);

  bool canBegin() const;
  bool isOn() const { return m_step != Step::Off; }
  void begin();  // in a new chat with the preset Full
  void next();   // where canGoOn()
  void end();

  QString title() const;
  QString text() const;
  QString nextLabel() const;
  bool canGoOn() const;

 Q_SIGNALS:
  void changed();
  void memoryWanted();  // it tells of the memory panel

 private:
  enum class Step {
    Off,
    Reading,
    Asking,
    Read,
    Preview,
    Compressed,
    AskingAgain,
    Again,
    Held,
    Closing,
    Reopening,
    Resumed
  };
  struct Texts {
    int number = 0;  // of what is shown, from 1
    QString heading, text, next;
  };

  Texts texts() const;
  void look();
  void lookWhenReady();
  void go(Step step);
  void ask(Step step);
  void reopen();
  void takePreset(const QString& preset);
  bool hasPreset(const QString& preset) const;
  bool isNewPresetApplied() const;
  bool isOurChat() const;
  bool isAnswered() const;
  QString samenessText() const;

  AppState* m_state;
  TourNotes m_notes;
  Step m_step = Step::Off;
  ChatKey m_chat = 0;        // from the first answer on
  int m_rows = 0;            // of the conversation, before what was asked last
  QString m_answer;          // the first one
  bool m_isSame = false;     // as the second one
  bool m_isApplied = false;  // Compact, or what was chosen by hand; not where that was refused
  QString m_resumed;
  int m_presetBefore = 0;
  QString m_presetTaken;  // last, by the tour
  QTimer m_due;           // AppState is asked for nothing from within its own signals
};

}  // namespace satchel::ui
