// EmptyState: what stands where the conversation will be: an invitation to try.
#pragma once

#include <QWidget>

class QLabel;
class QPushButton;

namespace satchel::ui {

class EmptyState : public QWidget {
  Q_OBJECT

 public:
  explicit EmptyState(QWidget* parent = nullptr);

  QPushButton* shelfButton() { return m_shelf; }

  // model: its title; empty: none is open. hasSample: the sample notes were found.
  void setModel(const QString& model, bool isLoading, bool hasSample);
  void setTour(bool hasTour);
  // Of the open model; empty: nothing.
  void setNote(const QString& note);

 Q_SIGNALS:
  void tourAsked();
  void sampleAsked();
  void attachAsked();
  void shelfAsked();
  void modelAsked();

 private:
  QLabel* m_title;
  QLabel* m_text;
  QLabel* m_note;
  QPushButton* m_tour;
  QPushButton* m_sample;
  QPushButton* m_attach;
  QPushButton* m_shelf;
  QPushButton* m_model;
};

}  // namespace satchel::ui
