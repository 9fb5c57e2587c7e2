#include "ui/widgets/chat_settings_dialog.h"

#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSlider>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/model/answer_settings_text.h"
#include "ui/model/engine_values.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kSettingsWidth = 620, kSettingsHeight = 700;
constexpr int kSystemLines = 6, kStopLines = 3;
constexpr int kTokensMost = 1'000'000;

QLabel* settingsHead(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setFont(scaledFont(parent->font(), 1.05, QFont::DemiBold));
  return label;
}

QLabel* settingsNote(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setObjectName(QStringLiteral("muted"));
  label->setFont(scaledFont(parent->font(), 0.92));
  label->setWordWrap(true);
  label->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  return label;
}

void setLines(QPlainTextEdit* edit, int lines) {
  edit->setObjectName(QStringLiteral("field"));
  edit->setTabChangesFocus(true);
  edit->setFixedHeight(lines * edit->fontMetrics().lineSpacing() + 2 * kGap + 4);
}

QDoubleSpinBox* shareBox(double low, double high, const QString& name, QWidget* parent) {
  auto* box = new QDoubleSpinBox(parent);
  box->setRange(low, high);
  box->setSingleStep(0.05);
  box->setDecimals(2);
  box->setAccessibleName(name);
  return box;
}

}  // namespace

ChatSettingsDialog::ChatSettingsDialog(const runtime::AnswerSettings& answers, bool hasMessages,
                                       QWidget* parent)
    : QDialog(parent),
      m_hasMessages(hasMessages),
      m_system(new QPlainTextEdit(this)),
      m_prompts(new QPushButton(tr("Saved prompts"), this)),
      m_creativity(new QSlider(Qt::Horizontal, this)),
      m_creativityText(new QLabel(this)),
      m_length(new QSpinBox(this)),
      m_topK(new QSpinBox(this)),
      m_topP(shareBox(0.01, 1, tr("Top-P"), this)),
      m_minP(shareBox(0, 0.99, tr("Min-P"), this)),
      m_penalty(shareBox(1, 2, tr("Repetition penalty"), this)),
      m_stops(new QPlainTextEdit(this)),
      m_reset(new QPushButton(tr("Reset"), this)),
      m_newChat(new QPushButton(tr("New chat with these"), this)),
      m_apply(new QPushButton(tr("Apply"), this)) {
  setWindowTitle(tr("Chat settings"));
  setAttribute(Qt::WA_DeleteOnClose);
  auto* content = new QWidget(this);
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(kGapHuge, kGapHuge, kGapHuge, kGap);
  column->setSpacing(kGapLarge);
  column->addWidget(makeSystem());
  column->addWidget(makeAnswers());
  column->addStretch();
  auto* scroll = new QScrollArea(this);
  scroll->setWidget(content);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFocusPolicy(Qt::NoFocus);
  auto* all = new QVBoxLayout(this);
  all->setContentsMargins(0, 0, 0, 0);
  all->setSpacing(0);
  all->addWidget(scroll, 1);
  all->addWidget(makeButtons());
  resize(kSettingsWidth, kSettingsHeight);
  setPrompts({});
  setAnswers(answers);
}

QWidget* ChatSettingsDialog::makeSystem() {
  auto* part = new QWidget(this);
  setLines(m_system, kSystemLines);
  m_system->setReadOnly(m_hasMessages);
  m_system->setAccessibleName(tr("System prompt"));
  m_system->setPlaceholderText(tr("As the model's template has it"));
  m_prompts->setVisible(!m_hasMessages);
  auto* head = new QHBoxLayout;
  head->addWidget(settingsHead(tr("System prompt"), part), 1);
  head->addWidget(m_prompts);
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  column->addLayout(head);
  column->addWidget(m_system);
  column->addWidget(settingsNote(
      m_hasMessages
          ? tr("It stands before everything the model has read, so it stays as it is in this chat. "
               "A new chat can begin with another one.")
          : tr("What the model is told before your first message. It stays with the chat."),
      part));
  return part;
}

QWidget* ChatSettingsDialog::makeAnswers() {
  auto* part = new QWidget(this);
  m_creativity->setRange(0, kCreativityMax);
  m_creativity->setPageStep(10);
  m_creativity->setAccessibleName(tr("Creativity"));
  m_length->setRange(0, kTokensMost);
  m_length->setSingleStep(128);
  m_length->setSpecialValueText(tr("any length"));
  m_length->setSuffix(tr(" tokens"));
  m_length->setAccessibleName(tr("Longest answer"));
  m_topK->setRange(0, 1000);
  m_topK->setSpecialValueText(tr("all"));
  m_topK->setAccessibleName(tr("Top-K"));
  setLines(m_stops, kStopLines);
  m_stops->setAccessibleName(tr("Stop texts, one a line"));
  m_topK->setToolTip(tr("Only so many of the likeliest tokens may come"));
  m_topP->setToolTip(tr("Only the likeliest tokens that together have this probability"));
  m_minP->setToolTip(tr("Only tokens that are this likely, compared with the likeliest"));
  m_penalty->setToolTip(tr("Tokens that came lately are this much less likely; 1: they are not"));
  auto* form = new QFormLayout;
  m_prompts->setMinimumWidth(m_prompts->sizeHint().width() + kGapLarge);  // for its arrow
  form->setContentsMargins(0, 0, 0, 0);
  form->setHorizontalSpacing(kGapLarge);
  form->setVerticalSpacing(kGap);
  form->setFieldGrowthPolicy(QFormLayout::ExpandingFieldsGrow);
  auto* slider = new QVBoxLayout;
  slider->setSpacing(0);
  m_creativityText->setObjectName(QStringLiteral("muted"));
  slider->addWidget(m_creativity);
  slider->addWidget(m_creativityText);
  form->addRow(tr("Creativity"), slider);
  form->addRow(tr("Longest answer"), m_length);
  form->addRow(tr("Stop texts"), m_stops);
  form->addRow(QString(),
               settingsNote(tr("An answer ends before any of these, one a line. \\n is the "
                               "end of a line."),
                            part));
  form->addRow(tr("Repetition penalty"), m_penalty);
  form->addRow(tr("Top-K"), m_topK);
  form->addRow(tr("Top-P"), m_topP);
  form->addRow(tr("Min-P"), m_minP);
  form->addRow(
      QString(),
      settingsNote(tr("Top-K, Top-P and Min-P only matter where creativity is above 0."), part));
  auto* column = new QVBoxLayout(part);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGap);
  column->addWidget(settingsHead(tr("Answers"), part));
  column->addLayout(form);
  connect(m_creativity, &QSlider::valueChanged, this,
          [this](int value) { m_creativityText->setText(creativityText(value)); });
  return part;
}

QWidget* ChatSettingsDialog::makeButtons() {
  auto* part = new QWidget(this);
  auto* cancel = new QPushButton(tr("Cancel"), part);
  m_apply->setObjectName(QStringLiteral("primary"));
  m_apply->setDefault(true);
  m_newChat->setVisible(m_hasMessages);
  auto* row = new QHBoxLayout(part);
  row->setContentsMargins(kGapHuge, kGapLarge, kGapHuge, kGapLarge);
  row->setSpacing(kGap);
  row->addWidget(m_reset);
  row->addStretch();
  row->addWidget(cancel);
  row->addWidget(m_newChat);
  row->addWidget(m_apply);
  m_reset->setToolTip(tr("As every new chat begins; the system prompt stays"));
  connect(m_reset, &QPushButton::clicked, this, [this] { setAnswers({answers().system, {}}); });
  connect(cancel, &QPushButton::clicked, this, &QDialog::close);
  connect(m_apply, &QPushButton::clicked, this, [this] {
    Q_EMIT applied(answers());
    close();
  });
  connect(m_newChat, &QPushButton::clicked, this, [this] {
    Q_EMIT newChatAsked(answers());
    close();
  });
  return part;
}

void ChatSettingsDialog::setPrompts(const std::vector<runtime::SavedPrompt>& prompts) {
  m_prompts->setEnabled(!prompts.empty());
  auto* menu = new QMenu(m_prompts);
  for (const runtime::SavedPrompt& prompt : prompts)
    menu->addAction(textOf(prompt.name).replace(u'&', QStringLiteral("&&")), this,
                    [this, text = textOf(prompt.text)] { m_system->setPlainText(text); });
  delete m_prompts->menu();
  m_prompts->setMenu(menu);
}

// A seed, drafts and what else a note does not keep stay as they were given.
runtime::AnswerSettings ChatSettingsDialog::answers() const {
  runtime::AnswerSettings answers = m_given;
  const QString system = m_system->toPlainText();
  if (!m_hasMessages)
    answers.system =
        system.trimmed().isEmpty() ? std::nullopt : std::optional(system.toStdString());
  runtime::Sampling& sampling = answers.sampling;
  sampling.temperature = temperatureOf(m_creativity->value());
  sampling.n_tokens_max = std::size_t(m_length->value());
  sampling.top_k = std::size_t(m_topK->value());
  sampling.top_p = m_topP->value();
  sampling.min_p = m_minP->value();
  sampling.repetition_penalty = m_penalty->value();
  sampling.stops.clear();
  for (const QString& stop : stopsOf(m_stops->toPlainText()))
    sampling.stops.push_back(stop.toStdString());
  return answers;
}

void ChatSettingsDialog::setAnswers(const runtime::AnswerSettings& answers) {
  m_given = answers;
  const runtime::Sampling& sampling = answers.sampling;
  m_system->setPlainText(textOf(answers.system.value_or("")));
  m_creativity->setValue(creativityOf(sampling.temperature));
  m_creativityText->setText(creativityText(m_creativity->value()));
  m_length->setValue(int(std::min<std::size_t>(sampling.n_tokens_max, kTokensMost)));
  m_topK->setValue(int(std::min<std::size_t>(sampling.top_k, 1000)));
  m_topP->setValue(sampling.top_p);
  m_minP->setValue(sampling.min_p);
  m_penalty->setValue(sampling.repetition_penalty);
  QStringList stops;
  for (const std::string& stop : sampling.stops) stops.append(textOf(stop));
  m_stops->setPlainText(linesOf(stops));
}

}  // namespace satchel::ui
