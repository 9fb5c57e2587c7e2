// ChatSettingsDialog: what the open chat tells its model first, and how its answers are made, all
// in one place (Ctrl+,). The system prompt of a chat with messages is shown and stays.
#pragma once

#include <QDialog>
#include <QList>

#include "runtime/chat/answer_settings.h"
#include "runtime/chat/saved_prompts.h"

class QDoubleSpinBox;
class QLabel;
class QPlainTextEdit;
class QPushButton;
class QSlider;
class QSpinBox;

namespace satchel::ui {

class ChatSettingsDialog : public QDialog {
  Q_OBJECT

 public:
  // hasMessages: then the system prompt can only go to a new chat
  ChatSettingsDialog(const runtime::AnswerSettings& answers, bool hasMessages,
                     QWidget* parent = nullptr);

  // What can be put in place of the system prompt.
  void setPrompts(const std::vector<runtime::SavedPrompt>& prompts);
  runtime::AnswerSettings answers() const;
  void setAnswers(const runtime::AnswerSettings& answers);

  QPlainTextEdit* system() { return m_system; }
  QSlider* creativity() { return m_creativity; }
  QPlainTextEdit* stops() { return m_stops; }
  QPushButton* applyButton() { return m_apply; }
  QPushButton* newChatButton() { return m_newChat; }
  QPushButton* resetButton() { return m_reset; }
  QPushButton* promptsButton() { return m_prompts; }

 Q_SIGNALS:
  // For this chat, or for a new one.
  void applied(const satchel::runtime::AnswerSettings& answers);
  void newChatAsked(const satchel::runtime::AnswerSettings& answers);

 private:
  QWidget* makeSystem();
  QWidget* makeAnswers();
  QWidget* makeButtons();

  const bool m_hasMessages;
  runtime::AnswerSettings m_given;
  QPlainTextEdit* m_system;
  QPushButton* m_prompts;
  QSlider* m_creativity;
  QLabel* m_creativityText;
  QSpinBox* m_length;
  QSpinBox* m_topK;
  QDoubleSpinBox* m_topP;
  QDoubleSpinBox* m_minP;
  QDoubleSpinBox* m_penalty;
  QPlainTextEdit* m_stops;
  QPushButton* m_reset;
  QPushButton* m_newChat;
  QPushButton* m_apply;
};

}  // namespace satchel::ui
