#include "ui/widgets/empty_state.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "ui/widgets/logo.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {

EmptyState::EmptyState(QWidget* parent)
    : QWidget(parent),
      m_title(new QLabel(this)),
      m_text(new QLabel(this)),
      m_note(new QLabel(this)),
      m_tour(new QPushButton(tr("Show me in thirty seconds"), this)),
      m_sample(new QPushButton(tr("Try it with sample notes"), this)),
      m_attach(new QPushButton(tr("Attach a document…"), this)),
      m_shelf(new QPushButton(tr("From the shelf…"), this)),
      m_model(new QPushButton(tr("Open a model…"), this)) {
  auto* logo = new QLabel(this);
  logo->setPixmap(logoPixmap(72, devicePixelRatioF()));
  logo->setAlignment(Qt::AlignHCenter);
  m_title->setFont(scaledFont(font(), 1.6, QFont::DemiBold));
  m_title->setAlignment(Qt::AlignHCenter);
  for (QLabel* text : {m_text, m_note}) {
    text->setAlignment(Qt::AlignHCenter);
    text->setWordWrap(true);
    text->setObjectName(QStringLiteral("muted"));
    text->setFixedWidth(460);
  }
  m_tour->setObjectName(QStringLiteral("primary"));
  m_tour->setToolTip(tr("A tour on sample notes: ask, compress, ask again, close, open"));
  m_tour->setCursor(Qt::PointingHandCursor);
  m_shelf->setToolTip(tr("Begin with a document that another chat has read"));

  auto* buttons = new QHBoxLayout;
  buttons->setSpacing(kGap);
  buttons->addStretch();
  for (QPushButton* button : {m_sample, m_attach, m_shelf, m_model}) {
    button->setCursor(Qt::PointingHandCursor);
    buttons->addWidget(button);
  }
  buttons->addStretch();
  auto* column = new QVBoxLayout(this);
  column->setSpacing(kGapLarge);
  column->addStretch(3);
  column->addWidget(logo);
  column->addWidget(m_title);
  for (QLabel* text : {m_text, m_note}) {
    auto* middle = new QHBoxLayout;
    middle->addStretch(1);
    middle->addWidget(text);
    middle->addStretch(1);
    column->addLayout(middle);
  }
  column->addSpacing(kGap);
  column->addWidget(m_tour, 0, Qt::AlignHCenter);
  column->addLayout(buttons);
  column->addStretch(4);
  connect(m_tour, &QPushButton::clicked, this, &EmptyState::tourAsked);
  connect(m_sample, &QPushButton::clicked, this, &EmptyState::sampleAsked);
  connect(m_attach, &QPushButton::clicked, this, &EmptyState::attachAsked);
  connect(m_shelf, &QPushButton::clicked, this, &EmptyState::shelfAsked);
  connect(m_model, &QPushButton::clicked, this, &EmptyState::modelAsked);
  setModel({}, false, false);
  setTour(false);
  setNote({});
}

void EmptyState::setTour(bool hasTour) {
  m_tour->setVisible(hasTour);
}

void EmptyState::setNote(const QString& note) {
  m_note->setText(note);
  m_note->setVisible(!note.isEmpty());
}

void EmptyState::setModel(const QString& model, bool isLoading, bool hasSample) {
  const bool open = !model.isEmpty() && !isLoading;
  m_title->setText(isLoading ? tr("Loading model…")
                   : open    ? tr("A long memory in a small bag")
                             : tr("No model is open"));
  m_text->setText(
      open ? tr("Attach a document once and ask as often as you like. Satchel remembers it in a "
                "fixed amount of memory, and saved chats continue instantly.")
      : isLoading ? tr("This takes a moment the first time.")
                  : tr("Choose one above, drop a .gguf file here, or open one from your disk."));
  m_sample->setVisible(open && hasSample);
  m_attach->setVisible(open);
  m_shelf->setVisible(open);
  m_model->setVisible(!open && !isLoading);
}

}  // namespace satchel::ui
