#include "ui/widgets/server_dialog.h"

#include <QClipboard>
#include <QFormLayout>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include "ui/widgets/icon_button.h"
#include "ui/widgets/theme.h"

namespace satchel::ui {
namespace {

constexpr int kServerWidth = 620, kServerHeight = 520, kPortLeast = 1024, kPortMost = 65535;

// A field that is only read, with a button that copies it.
QHBoxLayout* withCopy(QLineEdit* field, const QString& name, QWidget* parent) {
  field->setObjectName(QStringLiteral("field"));
  field->setReadOnly(true);
  field->setAccessibleName(name);
  auto* copy = new IconButton(Icon::Copy, ServerDialog::tr("Copy: %1").arg(name), parent);
  QObject::connect(copy, &QAbstractButton::clicked, field,
                   [field] { QGuiApplication::clipboard()->setText(field->text()); });
  auto* row = new QHBoxLayout;
  row->setSpacing(kGapSmall);
  row->addWidget(field, 1);
  row->addWidget(copy);
  return row;
}

}  // namespace

ServerDialog::ServerDialog(ServerSwitch* server, std::function<ServerStart()> what, QWidget* parent)
    : QDialog(parent),
      m_server(server),
      m_what(std::move(what)),
      m_state(new QLabel(this)),
      m_switch(new QPushButton(this)),
      m_port(new QSpinBox(this)),
      m_address(new QLineEdit(this)),
      m_token(new QLineEdit(this)),
      m_log(new QPlainTextEdit(this)) {
  setWindowTitle(tr("Server"));
  setAttribute(Qt::WA_DeleteOnClose);
  m_state->setWordWrap(true);
  m_state->setTextFormat(Qt::PlainText);
  m_state->setFont(scaledFont(font(), 1.05, QFont::DemiBold));
  m_switch->setObjectName(QStringLiteral("primary"));
  auto* head = new QHBoxLayout;
  head->setSpacing(kGapLarge);
  head->addWidget(m_state, 1);
  head->addWidget(m_switch);
  auto* note = new QLabel(
      tr("For programs that speak OpenAI's or Anthropic's API, on this machine only. The server "
         "loads the open model a second time and keeps no chats. It ends with this window."),
      this);
  note->setObjectName(QStringLiteral("muted"));
  note->setWordWrap(true);
  m_port->setRange(kPortLeast, kPortMost);
  m_port->setValue(ServerStart().port);
  m_port->setAccessibleName(tr("Port"));
  auto* form = new QFormLayout;
  form->setHorizontalSpacing(kGapLarge);
  form->setVerticalSpacing(kGap);
  form->setLabelAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  form->addRow(tr("Port"), m_port);
  form->addRow(tr("Address"), withCopy(m_address, tr("Address"), this));
  form->addRow(tr("Token"), withCopy(m_token, tr("Token"), this));
  m_log->setObjectName(QStringLiteral("field"));
  m_log->setReadOnly(true);
  m_log->setMaximumBlockCount(500);
  m_log->setAccessibleName(tr("Log of the server"));
  m_log->setPlaceholderText(tr("What the server says stands here."));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kGapHuge, kGapHuge, kGapHuge, kGapHuge);
  column->setSpacing(kGapLarge);
  column->addLayout(head);
  column->addWidget(note);
  column->addLayout(form);
  column->addWidget(m_log, 1);
  resize(kServerWidth, kServerHeight);
  connect(m_switch, &QPushButton::clicked, this, [this] {
    if (m_server->isRunning()) return m_server->stop();
    ServerStart start = m_what();
    start.port = m_port->value();
    m_server->start(start);
  });
  connect(server, &ServerSwitch::changed, this, &ServerDialog::refresh);
  connect(server, &ServerSwitch::logged, m_log, &QPlainTextEdit::appendPlainText);
  m_log->setPlainText(server->log().join(u'\n'));
  refresh();
}

QString ServerDialog::stateText() const {
  return m_state->text();
}

void ServerDialog::refresh() {
  using State = ServerSwitch::State;
  const State state = m_server->state();
  const bool canStart = m_server->isThere() && !m_what().model.isEmpty();
  m_state->setText(m_server->text());
  m_switch->setText(m_server->isRunning() ? tr("Stop") : tr("Start"));
  m_switch->setEnabled(m_server->isRunning() ? state != State::Stopping : canStart);
  m_port->setEnabled(!m_server->isRunning());
  m_address->setText(m_server->address());
  m_token->setText(m_server->isRunning() ? m_server->token() : QString());
  if (state == State::Starting) m_log->clear();
}

}  // namespace satchel::ui
