// ChatPlan: what the sliders would do to the open chat, before it is done.
//   states     same: the sliders say what the chat has · asked for: when they have rested and
//              nothing is read or answered · known: told, and applied when the user says so
//   invariant  a plan is shown only for what the sliders say now and the chat as it is now: when one
//              of them changes, the plan is asked for anew
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

  bool canApply() const { return m_differs && !m_isBusy && m_preview && m_preview->change.fits; }
  QString text() const;
  void apply();  // where canApply()
  // How long the sliders rest before it is asked for.
  void setRest(std::chrono::milliseconds rest) { m_rest.setInterval(rest); }

  // differs: from what the chat has
  void setWish(const ChatSettings& wish, bool differs);
  // Something is read or answered, or no chat is open.
  void setBusy(bool busy);
  // What the chat takes; the plan was made for what it took then.
  void setChatBytes(quint64 bytes);
  void setPreview(const ChatPreview& preview);
  void fail(const EngineError& error);

 Q_SIGNALS:
  void changed();
  void previewWanted(const satchel::ui::ChatSettings& settings);
  void applyWanted(const satchel::ui::ChatSettings& settings);

 private:
  void askAnew();

  ChatSettings m_wish;
  bool m_differs = false;
  bool m_isBusy = true;
  bool m_isApplying = false;
  quint64 m_chatBytes = 0;
  std::optional<ChatPreview> m_preview;
  QString m_problem;  // why there is none
  QTimer m_rest;
};

}  // namespace satchel::ui
