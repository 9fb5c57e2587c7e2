// ChatPlan: previews what the sliders would do to the open chat, and applies it on request.
//   states     same: the sliders match the chat · asked for: once the sliders rest and the engine
//              is idle · known: shown, and applied when the user says so; to a chat in which
//              nothing was read, at once
//   invariant  a plan is shown only for the present sliders and the present chat: when either
//              changes, a new plan is asked for
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <chrono>
#include <optional>

#include "ui/model/engine_types.h"

namespace satchel::ui {

class ChatPlan : public QObject {
  Q_OBJECT

 public:
  explicit ChatPlan(QObject* parent = nullptr);

  bool canApply() const { return m_differs && !m_isBusy && m_preview && m_preview->fits; }
  bool isRefused() const;  // the chat cannot have what the sliders say; text() tells why
  QString text() const;
  void apply();  // where canApply()
  // How long the sliders rest before it is asked for.
  void setRest(std::chrono::milliseconds rest) { m_rest.setInterval(rest); }

  // differs: from what the chat has
  void setRequested(const ChatSettings& requested, bool differs);
  // Something is read or answered, or no chat is open.
  void setBusy(bool busy);
  // What the chat takes; the plan was made for what it took then.
  void setChatBytes(quint64 bytes);
  void setPreview(const runtime::MemoryPreviewed& preview);
  void fail(const Error& error);

 Q_SIGNALS:
  void changed();
  void previewWanted(const satchel::ui::ChatSettings& settings);
  void applyWanted(const satchel::ui::ChatSettings& settings);

 private:
  void askAnew();

  ChatSettings m_requested;
  bool m_differs = false;
  bool m_isBusy = true;
  bool m_isApplying = false;
  quint64 m_chatBytes = 0;
  std::optional<runtime::MemoryChange> m_preview;
  QString m_problem;  // why there is none
  QTimer m_rest;
};

}  // namespace satchel::ui
