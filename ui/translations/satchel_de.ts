<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>AnswerSettings</name>
    <message>
        <source>always the likeliest word</source>
        <translation>immer das wahrscheinlichste Wort</translation>
    </message>
    <message>
        <source>close to the likeliest words</source>
        <translation>nahe an den wahrscheinlichsten Wörtern</translation>
    </message>
    <message>
        <source>varied</source>
        <translation>abwechslungsreich</translation>
    </message>
    <message>
        <source>surprising, often wrong</source>
        <translation>überraschend, oft falsch</translation>
    </message>
    <message>
        <source>Own system prompt</source>
        <translation>Eigener System-Prompt</translation>
    </message>
    <message>
        <source>Creativity %1</source>
        <translation>Kreativität %1</translation>
    </message>
    <message>
        <source>Other choice of words</source>
        <translation>Andere Wortwahl</translation>
    </message>
    <message>
        <source>Answers of any length</source>
        <translation>Antworten beliebiger Länge</translation>
    </message>
    <message>
        <source>At most %1 tokens</source>
        <translation>Höchstens %1 Token</translation>
    </message>
    <message>
        <source>1 stop text</source>
        <translation>1 Stopptext</translation>
    </message>
    <message>
        <source>%1 stop texts</source>
        <translation>%1 Stopptexte</translation>
    </message>
</context>
<context>
    <name>ContextQuestion</name>
    <message>
        <source>This chat is longer than the model&apos;s context</source>
        <translation>Dieser Chat ist länger als der Kontext des Modells</translation>
    </message>
    <message>
        <source>The document does not fit into the model&apos;s context</source>
        <translation>Das Dokument passt nicht in den Kontext des Modells</translation>
    </message>
    <message>
        <source>The model&apos;s context is full</source>
        <translation>Der Kontext des Modells ist voll</translation>
    </message>
    <message>
        <source>Your message was not sent.</source>
        <translation>Ihre Nachricht wurde nicht gesendet.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; was not read.</source>
        <translation>„%1“ wurde nicht gelesen.</translation>
    </message>
    <message>
        <source>The answer ended early.</source>
        <translation>Die Antwort ist vorzeitig zu Ende.</translation>
    </message>
    <message>
        <source>You can read it here.</source>
        <translation>Sie können ihn hier lesen.</translation>
    </message>
    <message>
        <source>This model sees at most %1 tokens at once. If the chat goes on, the document is read in parts, and the model sees those that a question needs.</source>
        <translation>Dieses Modell sieht höchstens %1 Token auf einmal. Wenn der Chat weitergeht, wird das Dokument in Teilen gelesen, und das Modell sieht jeweils die Teile, die eine Frage braucht.</translation>
    </message>
    <message>
        <source>This model sees at most %1 tokens at once. If the chat goes on, its older turns stay as parts, and the model sees those that a question needs. Nothing is deleted.</source>
        <translation>Dieses Modell sieht höchstens %1 Token auf einmal. Wenn der Chat weitergeht, bleiben seine älteren Nachrichten als Teile erhalten, und das Modell sieht jeweils die Teile, die eine Frage braucht. Nichts wird gelöscht.</translation>
    </message>
</context>
<context>
    <name>DocumentFile</name>
    <message>
        <source>&quot;%1&quot; is not a text or Markdown file (.txt, .md). Nothing was attached.</source>
        <translation>„%1“ ist keine Text- oder Markdown-Datei (.txt, .md). Es wurde nichts angehängt.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; cannot be read: %2.</source>
        <translation>„%1“ kann nicht gelesen werden: %2.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is larger than 16 MiB. Attach a smaller part of it.</source>
        <translation>„%1“ ist größer als 16&#xa0;MiB. Hängen Sie einen kleineren Teil davon an.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is not a text file: it contains zero bytes.</source>
        <translation>„%1“ ist keine Textdatei: Sie enthält Nullbytes.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is empty.</source>
        <translation>„%1“ ist leer.</translation>
    </message>
</context>
<context>
    <name>EngineValues</name>
    <message>
        <source>This message is damaged on disk and cannot be shown. A backup of the library may have it.</source>
        <translation>Diese Nachricht ist auf dem Datenträger beschädigt und kann nicht angezeigt werden. Vielleicht ist sie in einer Sicherung der Bibliothek enthalten.</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>Forgotten by the model</source>
        <translation>Vom Modell vergessen</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
</context>
<context>
    <name>Fidelity</name>
    <message>
        <source>%1 same next token · KL %2 nats</source>
        <translation>%1 gleiches Folgetoken · KL %2 nats</translation>
    </message>
    <message>
        <source>%1 of attention retained</source>
        <translation>%1 der Attention erhalten</translation>
    </message>
    <message>
        <source>measured at token %1, %2</source>
        <translation>gemessen bei Token %1, %2</translation>
    </message>
    <message>
        <source>%1 of %2 facts repeated correctly</source>
        <translation>%1 von %2 Fakten richtig wiedergegeben</translation>
    </message>
</context>
<context>
    <name>HeldText</name>
    <message>
        <source>less than 1 %</source>
        <translation>weniger als 1&#xa0;%</translation>
    </message>
    <message>
        <source>%1 %</source>
        <translation>%1&#xa0;%</translation>
    </message>
    <message>
        <source>Kept aside: it is fetched where a question needs it</source>
        <translation>Ausgelagert: wird geholt, wenn eine Frage es braucht</translation>
    </message>
    <message>
        <source>Not held any more</source>
        <translation>Nicht mehr im Cache</translation>
    </message>
    <message>
        <source>Held exactly</source>
        <translation>Exakt gehalten</translation>
    </message>
    <message>
        <source>exactly</source>
        <translation>exakt</translation>
    </message>
    <message>
        <source>at %1 bits</source>
        <translation>mit %1&#xa0;Bit</translation>
    </message>
    <message>
        <source>Held by all heads, %1</source>
        <translation>Von allen Köpfen gehalten, %1</translation>
    </message>
    <message>
        <source>Held by %1 of the heads, %2</source>
        <translation>Von %1 der Köpfe gehalten, %2</translation>
    </message>
    <message>
        <source>Nothing has been read yet.</source>
        <translation>Es wurde noch nichts gelesen.</translation>
    </message>
    <message>
        <source>All of it is held exactly.</source>
        <translation>Alles wird exakt gehalten.</translation>
    </message>
    <message>
        <source>On average, a word is held by %1 of the heads at %2 bits.</source>
        <translation>Im Mittel halten %1 der Köpfe ein Wort, mit %2&#xa0;Bit.</translation>
    </message>
    <message>
        <source>less than 0.1 %</source>
        <translation>weniger als 0,1&#xa0;%</translation>
    </message>
    <message>
        <source>%1 of the newest answer&apos;s attention</source>
        <translation>%1 der Attention der neuesten Antwort</translation>
    </message>
    <message>
        <source>%1, less than an even share</source>
        <translation>%1, weniger als bei gleicher Verteilung</translation>
    </message>
    <message>
        <source>%1, %2 times an even share</source>
        <translation>%1, das %2-Fache einer gleichen Verteilung</translation>
    </message>
    <message>
        <source>There is no answer yet. Heat shows what the newest answer looked at.</source>
        <translation>Es gibt noch keine Antwort. Wärme zeigt, worauf die neueste Antwort geachtet hat.</translation>
    </message>
    <message>
        <source>The newest answer has not been read again yet, so nothing is known of what it looked at.</source>
        <translation>Die neueste Antwort ist noch nicht erneut gelesen; daher ist nicht bekannt, worauf sie geachtet hat.</translation>
    </message>
    <message>
        <source>Attention of the newest answer: %1 on the words before it, %2 on its own words, %3 on marks and instructions that are not shown. Measured on %4 of its tokens, in memory as it is now.</source>
        <translation>Attention der neuesten Antwort: %1 auf den Wörtern davor, %2 auf ihren eigenen, %3 auf Markierungen und Anweisungen, die nicht angezeigt werden. Gemessen an %4 ihrer Token, am Speicher, wie er jetzt ist.</translation>
    </message>
</context>
<context>
    <name>LayerBar</name>
    <message>
        <source>Layer %1: %2 tokens kept</source>
        <translation>Schicht %1: %2 Token behalten</translation>
    </message>
    <message>
        <source>, older ones with %1-bit keys and %2-bit values</source>
        <translation>, ältere mit Keys zu %1&#xa0;Bit und Values zu %2&#xa0;Bit</translation>
    </message>
</context>
<context>
    <name>Ledger</name>
    <message>
        <source>new text</source>
        <translation>neuer Text</translation>
    </message>
    <message>
        <source>turn ended</source>
        <translation>Antwort beendet</translation>
    </message>
    <message>
        <source>idle time</source>
        <translation>Leerlauf</translation>
    </message>
    <message>
        <source>memory limit</source>
        <translation>Speicherlimit</translation>
    </message>
    <message>
        <source>your request</source>
        <translation>auf Ihren Wunsch</translation>
    </message>
    <message>
        <source>thinned on disk</source>
        <translation>auf der Platte ausgedünnt</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>ungemessen</translation>
    </message>
    <message>
        <source>%1 · %2 attention</source>
        <translation>%1 · %2 Attention</translation>
    </message>
    <message>
        <source>When</source>
        <translation>Wann</translation>
    </message>
    <message>
        <source>At token</source>
        <translation>Bei Token</translation>
    </message>
    <message>
        <source>Reason</source>
        <translation>Anlass</translation>
    </message>
    <message>
        <source>Lowered</source>
        <translation>Vergröbert</translation>
    </message>
    <message>
        <source>Dropped</source>
        <translation>Verworfen</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>Measured afterwards</source>
        <translation>Danach gemessen</translation>
    </message>
    <message>
        <source>message corrected</source>
        <translation>Nachricht berichtigt</translation>
    </message>
    <message>
        <source>document moved here</source>
        <translation>Dokument hierher verschoben</translation>
    </message>
    <message>
        <source>%1: %2 tokens moved, %3 read</source>
        <translation>%1: %2 Token verschoben, %3 gelesen</translation>
    </message>
    <message>
        <source>%1, no time saved</source>
        <translation>%1, ohne Zeitgewinn</translation>
    </message>
    <message>
        <source>%1 in %2. Reading all of it would have taken about %3.</source>
        <translation>%1 in %2. Alles zu lesen hätte etwa %3 gedauert.</translation>
    </message>
    <message>
        <source>%1, measured at token %2 on %3</source>
        <translation>%1, gemessen bei Token %2 am %3</translation>
    </message>
    <message>
        <source>%1, with %2 steps before it</source>
        <translation>%1, mit %2 Schritten davor</translation>
    </message>
    <message>
        <source>%1 of it is now stored at lower precision</source>
        <translation>%1 davon werden jetzt mit geringerer Präzision gehalten</translation>
    </message>
    <message>
        <source>%1 of it was dropped from the model&apos;s memory</source>
        <translation>%1 davon wurden aus dem Gedächtnis des Modells entfernt</translation>
    </message>
    <message>
        <source>%1 of it is now stored at lower precision, %2 was dropped from the model&apos;s memory</source>
        <translation>%1 davon werden jetzt mit geringerer Präzision gehalten, %2 wurden aus dem Gedächtnis des Modells entfernt</translation>
    </message>
    <message>
        <source>Packed to stay within %1</source>
        <translation>Komprimiert, um %1 einzuhalten</translation>
    </message>
    <message>
        <source>Packed to stay within the memory limit</source>
        <translation>Komprimiert, um das Speicherlimit einzuhalten</translation>
    </message>
    <message>
        <source>The chat&apos;s %1 tokens took %2 and now take %3: %4.</source>
        <translation>Die %1 Token des Chats belegten %2 und belegen jetzt %3: %4.</translation>
    </message>
    <message>
        <source>The chat&apos;s %1 tokens took %2 afterwards.</source>
        <translation>Die %1 Token des Chats belegten danach %2.</translation>
    </message>
    <message>
        <source>What that changed is not measured yet.</source>
        <translation>Was das geändert hat, ist noch nicht gemessen.</translation>
    </message>
    <message>
        <source>What that changed was not measured.</source>
        <translation>Was das geändert hat, wurde nicht gemessen.</translation>
    </message>
</context>
<context>
    <name>MemoryChange</name>
    <message>
        <source>This chat does not fit into %1 with these settings. It needs a limit of at least %2.</source>
        <translation>Mit diesen Einstellungen passt dieser Chat nicht in %1. Er braucht ein Limit von mindestens %2.</translation>
    </message>
    <message>
        <source>The effect on accuracy is not measured yet.</source>
        <translation>Die Auswirkung auf die Genauigkeit ist noch nicht gemessen.</translation>
    </message>
    <message>
        <source>Compared with the chat as it is now, on its last %1 tokens: %2.</source>
        <translation>Verglichen mit dem jetzigen Stand des Chats, über seine letzten %1 Token: %2.</translation>
    </message>
    <message>
        <source>With this limit, text may drop to lower precision again while it is reread; a limit of %1 avoids that.</source>
        <translation>Mit diesem Limit kann Text beim erneuten Lesen wieder auf geringere Präzision fallen; ein Limit von %1 vermeidet das.</translation>
    </message>
    <message>
        <source>With this limit, text drops to lower precision again instead of taking %1; a limit of %2 avoids that.</source>
        <translation>Mit diesem Limit fällt Text wieder auf geringere Präzision, statt %1 zu belegen; ein Limit von %2 vermeidet das.</translation>
    </message>
    <message>
        <source>%1 tokens must be reread, which takes about %2.</source>
        <translation>%1 Token müssen erneut gelesen werden; das dauert etwa %2.</translation>
    </message>
    <message>
        <source>%1 tokens must be reread; how long that takes is not known yet.</source>
        <translation>%1 Token müssen erneut gelesen werden; wie lange das dauert, ist noch nicht bekannt.</translation>
    </message>
    <message>
        <source>The chat will then take %1 instead of %2 (estimated).</source>
        <translation>Der Chat belegt dann %1 statt %2 (geschätzt).</translation>
    </message>
    <message>
        <source>%1 of it at lower precision</source>
        <translation>%1 davon mit geringerer Präzision</translation>
    </message>
    <message>
        <source>%1 of it dropped</source>
        <translation>%1 davon verworfen</translation>
    </message>
    <message>
        <source>%1 of it at lower precision, %2 dropped</source>
        <translation>%1 davon mit geringerer Präzision, %2 verworfen</translation>
    </message>
    <message>
        <source>Nothing has been read yet. This chat will start with these settings.</source>
        <translation>Es wurde noch nichts gelesen. Dieser Chat beginnt mit diesen Einstellungen.</translation>
    </message>
    <message>
        <source>This chat will take %1 instead of %2 (estimated). There is too little memory to measure beforehand what that changes.</source>
        <translation>Dieser Chat belegt dann %1 statt %2 (geschätzt). Der Speicher reicht nicht, um vorab zu messen, was das ändert.</translation>
    </message>
    <message>
        <source>Nothing changes in this chat; it takes %1.</source>
        <translation>In diesem Chat ändert sich nichts; er belegt %1.</translation>
    </message>
    <message>
        <source>This chat will take %1 instead of %2 (estimated): %3. Only rereading undoes that. %4</source>
        <translation>Dieser Chat belegt dann %1 statt %2 (geschätzt): %3. Nur erneutes Lesen macht das rückgängig. %4</translation>
    </message>
    <message>
        <source>The change was stopped. This chat now has the recipe %1 and a limit of %2; the rest is reread with your next message.</source>
        <translation>Die Änderung wurde angehalten. Dieser Chat hat jetzt das Rezept %1 und ein Limit von %2; der Rest wird mit Ihrer nächsten Nachricht erneut gelesen.</translation>
    </message>
    <message>
        <source>This chat has the new settings. Its contents did not change.</source>
        <translation>Dieser Chat hat die neuen Einstellungen. Sein Inhalt hat sich nicht geändert.</translation>
    </message>
    <message>
        <source>This chat now takes %1 instead of %2.</source>
        <translation>Dieser Chat belegt jetzt %1 statt %2.</translation>
    </message>
    <message>
        <source>Reread %1 tokens.</source>
        <translation>%1 Token erneut gelesen.</translation>
    </message>
</context>
<context>
    <name>MessageLayout</name>
    <message>
        <source>Stopped. The partial answer is saved.</source>
        <translation>Angehalten. Die unvollständige Antwort ist gespeichert.</translation>
    </message>
    <message>
        <source>Show less</source>
        <translation>Weniger anzeigen</translation>
    </message>
    <message>
        <source>Show all %1 characters</source>
        <translation>Alle %1 Zeichen anzeigen</translation>
    </message>
    <message>
        <source>text</source>
        <translation>Text</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
</context>
<context>
    <name>PackedCard</name>
    <message>
        <source>Pin passages…</source>
        <translation>Stellen anheften&#xa0;…</translation>
    </message>
    <message>
        <source>Read exactly…</source>
        <translation>Exakt lesen&#xa0;…</translation>
    </message>
    <message>
        <source>Raise the limit…</source>
        <translation>Limit erhöhen&#xa0;…</translation>
    </message>
</context>
<context>
    <name>PartsText</name>
    <message>
        <source>%1 parts</source>
        <translation>%1 Teile</translation>
    </message>
    <message>
        <source>%1 of %2 parts read</source>
        <translation>%1 von %2 Teilen gelesen</translation>
    </message>
    <message>
        <source>read in %1 parts</source>
        <translation>in %1 Teilen gelesen</translation>
    </message>
    <message>
        <source> · from %1 of %2 of the older chat</source>
        <translation> · gesehen: %1 von %2 des älteren Verlaufs</translation>
    </message>
    <message>
        <source> · quotes %1</source>
        <translation> · zitiert: %1</translation>
    </message>
    <message>
        <source> · 1 part was not read yet</source>
        <translation> · 1 Teil war noch nicht gelesen</translation>
    </message>
    <message>
        <source> · %1 parts were not read yet</source>
        <translation> · %1 Teile waren noch nicht gelesen</translation>
    </message>
    <message>
        <source>Ticked: what the answer saw.</source>
        <translation>Angehakt: was die Antwort gesehen hat.</translation>
    </message>
    <message>
        <source>1 part is not read yet</source>
        <translation>1 Teil ist noch nicht gelesen</translation>
    </message>
    <message>
        <source>%1 parts are not read yet</source>
        <translation>%1 Teile sind noch nicht gelesen</translation>
    </message>
    <message>
        <source>%1: that is done while the chat is idle, or when a question needs it.</source>
        <translation>%1: Das geschieht, während der Chat ruht oder sobald eine Frage es braucht.</translation>
    </message>
    <message>
        <source>not read yet</source>
        <translation>noch nicht gelesen</translation>
    </message>
    <message>
        <source>quoted</source>
        <translation>zitiert</translation>
    </message>
    <message>
        <source>The unread parts are read while the chat is idle, or when a question needs them.</source>
        <translation>Die ungelesenen Teile werden gelesen, während der Chat ruht oder sobald eine Frage sie braucht.</translation>
    </message>
</context>
<context>
    <name>Preset</name>
    <message>
        <source>Full</source>
        <translation>Vollständig</translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation>Ausgewogen</translation>
    </message>
    <message>
        <source>Compact</source>
        <translation>Kompakt</translation>
    </message>
    <message>
        <source>Extreme</source>
        <translation>Extrem</translation>
    </message>
</context>
<context>
    <name>QObject</name>
    <message>
        <source>[picture: %1]</source>
        <translation>[Bild: %1]</translation>
    </message>
    <message>
        <source>Your chats are encrypted. Passphrase:</source>
        <translation>Ihre Chats sind verschlüsselt. Passphrase:</translation>
    </message>
    <message>
        <source>This passphrase does not open your chats. Passphrase:</source>
        <translation>Diese Passphrase öffnet Ihre Chats nicht. Passphrase:</translation>
    </message>
    <message>
        <source>Fits with Full</source>
        <translation>Passt mit Vollständig</translation>
    </message>
    <message>
        <source>Fits with Compact</source>
        <translation>Passt mit Kompakt</translation>
    </message>
</context>
<context>
    <name>QuoteText</name>
    <message>
        <source>%1, page %2</source>
        <translation>%1, Seite %2</translation>
    </message>
</context>
<context>
    <name>ReadingClock</name>
    <message>
        <source>Loading model</source>
        <translation>Modell wird geladen</translation>
    </message>
    <message>
        <source>Reading %1 of %2 tokens</source>
        <translation>%1 von %2 Token gelesen</translation>
    </message>
    <message>
        <source>Measuring accuracy</source>
        <translation>Genauigkeit wird gemessen</translation>
    </message>
    <message>
        <source>Answering</source>
        <translation>Antwort entsteht</translation>
    </message>
    <message>
        <source>Compressing</source>
        <translation>Wird komprimiert</translation>
    </message>
    <message>
        <source>Profiling the model</source>
        <translation>Modell wird vermessen</translation>
    </message>
    <message>
        <source>Asking part %1 of %2</source>
        <translation>Teil %1 von %2 wird befragt</translation>
    </message>
    <message>
        <source>%1 · %2 left</source>
        <translation>%1 · noch %2</translation>
    </message>
    <message>
        <source>%1&#xa0;s</source>
        <translation>%1&#xa0;s</translation>
    </message>
</context>
<context>
    <name>ResumeState</name>
    <message>
        <source>Resumed %1 tokens in %2.</source>
        <translation>%1 Token in %2 wieder aufgenommen.</translation>
    </message>
    <message>
        <source>Rereading them would take about %1.</source>
        <translation>Sie erneut zu lesen würde etwa %1 dauern.</translation>
    </message>
    <message>
        <source>Reread %1 tokens in %2.</source>
        <translation>%1 Token in %2 erneut gelesen.</translation>
    </message>
    <message>
        <source>Reused %1 tokens and reread %2 in %3.</source>
        <translation>%1 Token wiederverwendet und %2 erneut gelesen, in %3.</translation>
    </message>
    <message>
        <source>Resuming saved no time.</source>
        <translation>Das Wiederaufnehmen hat keine Zeit gespart.</translation>
    </message>
</context>
<context>
    <name>Shelf</name>
    <message>
        <source> · %1 tokens</source>
        <translation> · %1 Token</translation>
    </message>
    <message>
        <source> · kept</source>
        <translation> · behalten</translation>
    </message>
    <message>
        <source>Read by %1 with %2</source>
        <translation>Gelesen von %1 mit %2</translation>
    </message>
    <message>
        <source>Not read yet</source>
        <translation>Noch nicht gelesen</translation>
    </message>
    <message>
        <source>Read %1 tokens in %2.</source>
        <translation>%1 Token in %2 gelesen.</translation>
    </message>
    <message>
        <source>%1 tokens taken from the shelf, nothing read.</source>
        <translation>%1 Token aus dem Regal übernommen, nichts gelesen.</translation>
    </message>
    <message>
        <source>%1 tokens taken from the shelf.</source>
        <translation>%1 Token aus dem Regal übernommen.</translation>
    </message>
</context>
<context>
    <name>Shortcuts</name>
    <message>
        <source>Enter</source>
        <translation>Eingabe</translation>
    </message>
    <message>
        <source>Send the message</source>
        <translation>Nachricht senden</translation>
    </message>
    <message>
        <source>Shift+Enter</source>
        <translation>Umschalt+Eingabe</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>Neue Zeile</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Esc</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Ctrl+E</source>
        <translation>Strg+E</translation>
    </message>
    <message>
        <source>Edit your last message</source>
        <translation>Ihre letzte Nachricht bearbeiten</translation>
    </message>
    <message>
        <source>Ctrl+R</source>
        <translation>Strg+R</translation>
    </message>
    <message>
        <source>Answer it again</source>
        <translation>Erneut beantworten lassen</translation>
    </message>
    <message>
        <source>Alt+Left, Alt+Right</source>
        <translation>Alt+Links, Alt+Rechts</translation>
    </message>
    <message>
        <source>Older or newer version of the last message that has several</source>
        <translation>Ältere oder neuere Version der letzten Nachricht, die mehrere hat</translation>
    </message>
    <message>
        <source>Shift+F10, in the messages</source>
        <translation>Umschalt+F10, in den Nachrichten</translation>
    </message>
    <message>
        <source>Pin, forget or copy the message in the middle</source>
        <translation>Die Nachricht in der Mitte anheften, vergessen oder kopieren</translation>
    </message>
    <message>
        <source>Ctrl+N</source>
        <translation>Strg+N</translation>
    </message>
    <message>
        <source>New chat with the selected memory settings</source>
        <translation>Neuer Chat mit den gewählten Speichereinstellungen</translation>
    </message>
    <message>
        <source>Ctrl+K</source>
        <translation>Strg+K</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>Chats durchsuchen</translation>
    </message>
    <message>
        <source>Ctrl+O</source>
        <translation>Strg+O</translation>
    </message>
    <message>
        <source>Ctrl+B</source>
        <translation>Strg+B</translation>
    </message>
    <message>
        <source>Show or hide the chat list</source>
        <translation>Chatliste ein- oder ausblenden</translation>
    </message>
    <message>
        <source>Ctrl+M</source>
        <translation>Strg+M</translation>
    </message>
    <message>
        <source>Show or hide the memory panel</source>
        <translation>Speicherbereich ein- oder ausblenden</translation>
    </message>
    <message>
        <source>Ctrl+L</source>
        <translation>Strg+L</translation>
    </message>
    <message>
        <source>Ctrl+H</source>
        <translation>Strg+H</translation>
    </message>
    <message>
        <source>Ctrl+T</source>
        <translation>Strg+T</translation>
    </message>
    <message>
        <source>Show or hide the thoughts before the last answer</source>
        <translation>Gedanken vor der letzten Antwort ein- oder ausblenden</translation>
    </message>
    <message>
        <source>Ctrl+D</source>
        <translation>Strg+D</translation>
    </message>
    <message>
        <source>Show the passages of documents that the last answer quotes</source>
        <translation>Dokumentstellen anzeigen, die die letzte Antwort zitiert</translation>
    </message>
    <message>
        <source>Ctrl+P</source>
        <translation>Strg+P</translation>
    </message>
    <message>
        <source>Show which older parts the last answer saw</source>
        <translation>Anzeigen, welche älteren Teile die letzte Antwort gesehen hat</translation>
    </message>
    <message>
        <source>Ctrl+Shift+A</source>
        <translation>Strg+Umschalt+A</translation>
    </message>
    <message>
        <source>Ask what is written of all parts of a long chat</source>
        <translation>Die eingegebene Frage an alle Teile eines langen Chats stellen</translation>
    </message>
    <message>
        <source>F2</source>
        <translation>F2</translation>
    </message>
    <message>
        <source>Rename the selected chat</source>
        <translation>Ausgewählten Chat umbenennen</translation>
    </message>
    <message>
        <source>F1</source>
        <translation>F1</translation>
    </message>
    <message>
        <source>Show this list</source>
        <translation>Diese Liste anzeigen</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>Ctrl+F, then F3 or Shift+F3</source>
        <translation>Strg+F, dann F3 oder Umschalt+F3</translation>
    </message>
    <message>
        <source>Find in this chat, next or previous place</source>
        <translation>In diesem Chat suchen, nächste oder vorige Stelle</translation>
    </message>
    <message>
        <source>Ctrl+Shift+C</source>
        <translation>Strg+Umschalt+C</translation>
    </message>
    <message>
        <source>Copy the last answer</source>
        <translation>Letzte Antwort kopieren</translation>
    </message>
    <message>
        <source>Ctrl+S</source>
        <translation>Strg+S</translation>
    </message>
    <message>
        <source>Export this chat</source>
        <translation>Diesen Chat exportieren</translation>
    </message>
    <message>
        <source>Attach documents</source>
        <translation>Dokumente anhängen</translation>
    </message>
    <message>
        <source>Show the memory history of this chat</source>
        <translation>Speicherverlauf dieses Chats anzeigen</translation>
    </message>
    <message>
        <source>Show what the model still holds of each word, and what it looked at</source>
        <translation>Anzeigen, was das Modell von jedem Wort noch hält und worauf es geachtet hat</translation>
    </message>
    <message>
        <source>Ctrl+,</source>
        <translation>Strg+,</translation>
    </message>
    <message>
        <source>System prompt, creativity and stop texts of this chat</source>
        <translation>System-Prompt, Kreativität und Stopptexte dieses Chats</translation>
    </message>
    <message>
        <source>Ctrl+Shift+P</source>
        <translation>Strg+Umschalt+P</translation>
    </message>
    <message>
        <source>Saved prompts</source>
        <translation>Gespeicherte Prompts</translation>
    </message>
    <message>
        <source>Ctrl+Shift+M</source>
        <translation>Strg+Umschalt+M</translation>
    </message>
    <message>
        <source>Models: what each is, import, download</source>
        <translation>Modelle: Übersicht, importieren, herunterladen</translation>
    </message>
    <message>
        <source>Ctrl+Shift+S</source>
        <translation>Strg+Umschalt+S</translation>
    </message>
    <message>
        <source>Server for other programs</source>
        <translation>Server für andere Programme</translation>
    </message>
    <message>
        <source>F10</source>
        <translation>F10</translation>
    </message>
    <message>
        <source>Menu of all these</source>
        <translation>Menü mit all dem</translation>
    </message>
</context>
<context>
    <name>format</name>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>kB</source>
        <translation>kB</translation>
    </message>
    <message>
        <source>MB</source>
        <translation>MB</translation>
    </message>
    <message>
        <source>GB</source>
        <translation>GB</translation>
    </message>
    <message>
        <source>TB</source>
        <translation>TB</translation>
    </message>
    <message>
        <source>none</source>
        <translation>nichts</translation>
    </message>
    <message>
        <source>part %1</source>
        <translation>Teil %1</translation>
    </message>
    <message>
        <source>parts %1 and %2</source>
        <translation>Teile %1 und %2</translation>
    </message>
    <message>
        <source>d&#xa0;MMM, HH:mm</source>
        <extracomment>The form of a date as QDateTime::toString() takes it: 22 Nov, 14:02</extracomment>
        <translation>d.&#xa0;MMM, HH:mm</translation>
    </message>
    <message>
        <source>just now</source>
        <translation>gerade eben</translation>
    </message>
    <message>
        <source>%1 min ago</source>
        <translation>vor %1&#xa0;min</translation>
    </message>
    <message>
        <source>%1 h ago</source>
        <translation>vor %1&#xa0;h</translation>
    </message>
    <message>
        <source>1 day ago</source>
        <translation>vor 1 Tag</translation>
    </message>
    <message>
        <source>%1 days ago</source>
        <translation>vor %1 Tagen</translation>
    </message>
</context>
<context>
    <name>satchel::ui::AppState</name>
    <message>
        <source>Reading the text of &quot;%1&quot;.</source>
        <translation>Der Text von „%1“ wird gelesen.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is not UTF-8; it was read as Windows-1252.</source>
        <translation>„%1“ ist nicht in UTF-8; die Datei wurde als Windows-1252 gelesen.</translation>
    </message>
    <message>
        <source>This model has no chat template: it continues what you write, as a base model does.</source>
        <translation>Dieses Modell hat keine Chatvorlage: Es setzt fort, was Sie schreiben, wie es ein Basismodell tut.</translation>
    </message>
    <message>
        <source>GPU</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>CPU</source>
        <translation>CPU</translation>
    </message>
    <message>
        <source>Runs on the GPU: %1.</source>
        <translation>Läuft auf der GPU: %1.</translation>
    </message>
    <message>
        <source>Runs on the CPU: %1.</source>
        <translation>Läuft auf der CPU: %1.</translation>
    </message>
    <message>
        <source>This chat can only be read. &quot;%1&quot; was not attached.</source>
        <translation>Dieser Chat kann nur gelesen werden. „%1“ wurde nicht angehängt.</translation>
    </message>
    <message>
        <source>Open a model first. &quot;%1&quot; was not attached.</source>
        <translation>Öffnen Sie zuerst ein Modell. „%1“ wurde nicht angehängt.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; was stopped and not attached.</source>
        <translation>„%1“ wurde angehalten und nicht angehängt.</translation>
    </message>
    <message>
        <source>%1 documents were stopped and not attached.</source>
        <translation>%1 Dokumente wurden angehalten und nicht angehängt.</translation>
    </message>
    <message>
        <source>The model sees all of this chat: it has no older parts.</source>
        <translation>Das Modell sieht diesen Chat ganz: Er hat keine älteren Teile.</translation>
    </message>
    <message>
        <source>The chat goes on. Type &quot;continue&quot; for the rest of the answer.</source>
        <translation>Der Chat geht weiter. Schreiben Sie „weiter“ für den Rest der Antwort.</translation>
    </message>
    <message>
        <source>The next question is answered from %1 of the older chat.</source>
        <translation>Die nächste Frage wird hieraus beantwortet: %1 des älteren Verlaufs.</translation>
    </message>
    <message>
        <source>Write a question first. It is asked of each part of the chat.</source>
        <translation>Schreiben Sie zuerst eine Frage. Sie wird an jeden Teil des Chats gestellt.</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 Token</translation>
    </message>
    <message>
        <source> · %1 tokens/s</source>
        <translation> · %1 Token/s</translation>
    </message>
    <message>
        <source> · stopped at the length limit; type &quot;continue&quot; to go on</source>
        <translation> · an der Längengrenze angehalten; mit „weiter“ geht es weiter</translation>
    </message>
    <message>
        <source> · stopped because it was repeating itself</source>
        <translation> · angehalten, weil sie sich wiederholte</translation>
    </message>
    <message>
        <source>Thought for %1 · %2 tokens</source>
        <translation>%1 nachgedacht · %2 Token</translation>
    </message>
    <message>
        <source>The settings are not saved.</source>
        <translation>Die Einstellungen sind nicht gespeichert.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; was not attached.</source>
        <translation>„%1“ wurde nicht angehängt.</translation>
    </message>
    <message>
        <source>Your last message has no answer yet.</source>
        <translation>Ihre letzte Nachricht hat noch keine Antwort.</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>The last answer ended early. What had come of it is kept.</source>
        <translation>Die letzte Antwort endete vorzeitig. Was schon da war, ist erhalten.</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>Erneut antworten</translation>
    </message>
    <message>
        <source>Looking at what the newest answer attends to…</source>
        <translation>Es wird ermittelt, worauf die neueste Antwort achtet&#xa0;…</translation>
    </message>
    <message>
        <source>continue</source>
        <translation>weiter</translation>
    </message>
    <message>
        <source>Opening was stopped. The rest of this chat is read with your next message.</source>
        <translation>Das Öffnen wurde angehalten. Der Rest dieses Chats wird mit Ihrer nächsten Nachricht gelesen.</translation>
    </message>
    <message>
        <source>Opening was stopped. Choose the chat again to open it.</source>
        <translation>Das Öffnen wurde angehalten. Wählen Sie den Chat noch einmal, um ihn zu öffnen.</translation>
    </message>
</context>
<context>
    <name>satchel::ui::Banner</name>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChatFinder</name>
    <message>
        <source>Not found</source>
        <translation>Nicht gefunden</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChatListModel</name>
    <message>
        <source>%1, kept at the top</source>
        <translation>%1, immer oben</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChatListPanel</name>
    <message>
        <source>In messages</source>
        <translation>In Nachrichten</translation>
    </message>
    <message>
        <source>Deleted chats</source>
        <translation>Gelöschte Chats</translation>
    </message>
    <message>
        <source>New chat (Ctrl+N)</source>
        <translation>Neuer Chat (Strg+N)</translation>
    </message>
    <message>
        <source>Search chats (Ctrl+K)</source>
        <translation>Chats durchsuchen (Strg+K)</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>Chats durchsuchen</translation>
    </message>
    <message>
        <source>Chats</source>
        <translation>Chats</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Chat deleted.</source>
        <translation>Chat gelöscht.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>Ordner</translation>
    </message>
    <message>
        <source>All chats</source>
        <translation>Alle Chats</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Keiner</translation>
    </message>
    <message>
        <source>New folder…</source>
        <translation>Neuer Ordner&#xa0;…</translation>
    </message>
    <message>
        <source>New folder</source>
        <translation>Neuer Ordner</translation>
    </message>
    <message>
        <source>Name of the folder:</source>
        <translation>Name des Ordners:</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>Exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Don&apos;t keep at top</source>
        <translation>Nicht mehr oben zeigen</translation>
    </message>
    <message>
        <source>Keep at top</source>
        <translation>Immer oben zeigen</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChatPlan</name>
    <message>
        <source>This chat already has these settings.</source>
        <translation>Dieser Chat hat diese Einstellungen bereits.</translation>
    </message>
    <message>
        <source>Applying these settings to this chat…</source>
        <translation>Diese Einstellungen werden auf diesen Chat angewendet&#xa0;…</translation>
    </message>
    <message>
        <source>Satchel estimates the effect on this chat once it is idle.</source>
        <translation>Satchel schätzt die Auswirkung auf diesen Chat, sobald er ruht.</translation>
    </message>
    <message>
        <source>Estimating the effect on this chat…</source>
        <translation>Die Auswirkung auf diesen Chat wird geschätzt&#xa0;…</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChatSettingsDialog</name>
    <message>
        <source>Saved prompts</source>
        <translation>Gespeicherte Prompts</translation>
    </message>
    <message>
        <source>Top-P</source>
        <translation>Top-P</translation>
    </message>
    <message>
        <source>Min-P</source>
        <translation>Min-P</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>Wiederholungsabzug</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>Zurücksetzen</translation>
    </message>
    <message>
        <source>New chat with these</source>
        <translation>Neuer Chat hiermit</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Anwenden</translation>
    </message>
    <message>
        <source>Chat settings</source>
        <translation>Chateinstellungen</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>System-Prompt</translation>
    </message>
    <message>
        <source>As the model&apos;s template has it</source>
        <translation>Wie in der Vorlage des Modells</translation>
    </message>
    <message>
        <source>It stands before everything the model has read, so it stays as it is in this chat. A new chat can begin with another one.</source>
        <translation>Er steht vor allem, was das Modell gelesen hat, und bleibt daher in diesem Chat, wie er ist. Ein neuer Chat kann mit einem anderen beginnen.</translation>
    </message>
    <message>
        <source>What the model is told before your first message. It stays with the chat.</source>
        <translation>Was dem Modell vor Ihrer ersten Nachricht gesagt wird. Es bleibt beim Chat.</translation>
    </message>
    <message>
        <source>Creativity</source>
        <translation>Kreativität</translation>
    </message>
    <message>
        <source>any length</source>
        <translation>beliebig lang</translation>
    </message>
    <message>
        <source> tokens</source>
        <translation> Token</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>Längste Antwort</translation>
    </message>
    <message>
        <source>all</source>
        <translation>alle</translation>
    </message>
    <message>
        <source>Top-K</source>
        <translation>Top-K</translation>
    </message>
    <message>
        <source>Stop texts, one a line</source>
        <translation>Stopptexte, einer je Zeile</translation>
    </message>
    <message>
        <source>Only so many of the likeliest tokens may come</source>
        <translation>Nur so viele der wahrscheinlichsten Token kommen infrage</translation>
    </message>
    <message>
        <source>Only the likeliest tokens that together have this probability</source>
        <translation>Nur die wahrscheinlichsten Token, die zusammen diese Wahrscheinlichkeit haben</translation>
    </message>
    <message>
        <source>Only tokens that are this likely, compared with the likeliest</source>
        <translation>Nur Token, die im Vergleich zum wahrscheinlichsten so wahrscheinlich sind</translation>
    </message>
    <message>
        <source>Tokens that came lately are this much less likely; 1: they are not</source>
        <translation>Token, die eben vorkamen, werden um so viel unwahrscheinlicher; 1: gar nicht</translation>
    </message>
    <message>
        <source>Stop texts</source>
        <translation>Stopptexte</translation>
    </message>
    <message>
        <source>An answer ends before any of these, one a line. \n is the end of a line.</source>
        <translation>Eine Antwort endet vor jedem von ihnen, einer je Zeile. \n ist ein Zeilenende.</translation>
    </message>
    <message>
        <source>Top-K, Top-P and Min-P only matter where creativity is above 0.</source>
        <translation>Top-K, Top-P und Min-P wirken nur, wenn die Kreativität über 0 liegt.</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Antworten</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>As every new chat begins; the system prompt stays</source>
        <translation>Wie jeder neue Chat beginnt; der System-Prompt bleibt</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChildEngine</name>
    <message>
        <source>Your messages are saved.</source>
        <translation>Ihre Nachrichten sind gespeichert.</translation>
    </message>
    <message>
        <source>The engine said what cannot be understood, and was ended.</source>
        <translation>Die Engine hat Unverständliches gemeldet und wurde beendet.</translation>
    </message>
    <message>
        <source>The engine cannot be started: %1.</source>
        <translation>Die Engine kann nicht gestartet werden: %1.</translation>
    </message>
    <message>
        <source>The engine ended by itself (exit code %1).</source>
        <translation>Die Engine hat sich selbst beendet (Exit-Code %1).</translation>
    </message>
    <message>
        <source>The engine was ended from outside (signal 9), as the system does where memory runs out.</source>
        <translation>Die Engine wurde von außen beendet (Signal 9), wie es das System tut, wenn der Arbeitsspeicher ausgeht.</translation>
    </message>
    <message>
        <source>The engine crashed (signal %1, %2).</source>
        <translation>Die Engine ist abgestürzt (Signal %1, %2).</translation>
    </message>
</context>
<context>
    <name>satchel::ui::Composer</name>
    <message>
        <source>Attach a text or Markdown file</source>
        <translation>Text- oder Markdown-Datei anhängen</translation>
    </message>
    <message>
        <source>Think first</source>
        <translation>Erst nachdenken</translation>
    </message>
    <message>
        <source>Send (Enter)</source>
        <translation>Senden (Eingabe)</translation>
    </message>
    <message>
        <source>Enter to send · Shift+Enter for a new line</source>
        <translation>Eingabe: senden · Umschalt+Eingabe: neue Zeile</translation>
    </message>
    <message>
        <source>Write a message</source>
        <translation>Nachricht schreiben</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Let the model think before it answers: slower, often better</source>
        <translation>Das Modell vor der Antwort nachdenken lassen: langsamer, oft besser</translation>
    </message>
    <message>
        <source>Write the beginning of a text</source>
        <translation>Den Anfang eines Textes schreiben</translation>
    </message>
    <message>
        <source>Stop (Esc)</source>
        <translation>Anhalten (Esc)</translation>
    </message>
    <message>
        <source>Enter to send · Esc to stop</source>
        <translation>Eingabe: senden · Esc: anhalten</translation>
    </message>
    <message>
        <source>Esc to stop</source>
        <translation>Esc: anhalten</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ConversationModel</name>
    <message>
        <source>Version %1.</source>
        <translation>Version %1.</translation>
    </message>
    <message>
        <source>Answer: %1</source>
        <translation>Antwort: %1</translation>
    </message>
    <message>
        <source>You: %1</source>
        <translation>Sie: %1</translation>
    </message>
    <message>
        <source>You: %1, %2</source>
        <translation>Sie: %1, %2</translation>
    </message>
    <message>
        <source>Thought</source>
        <translation>Gedanken</translation>
    </message>
    <message>
        <source>Thinking…</source>
        <translation>Denkt nach&#xa0;…</translation>
    </message>
    <message>
        <source>Thought · %1 tokens</source>
        <translation>Gedanken · %1 Token</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ConversationView</name>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>Erneut antworten</translation>
    </message>
    <message>
        <source>Older version</source>
        <translation>Ältere Version</translation>
    </message>
    <message>
        <source>Newer version</source>
        <translation>Neuere Version</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>Gespräch</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>Lösen</translation>
    </message>
    <message>
        <source>It may be compressed again.</source>
        <translation>Sie darf wieder komprimiert werden.</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>Anheften</translation>
    </message>
    <message>
        <source>From now on it is not compressed.</source>
        <translation>Sie wird ab jetzt nicht komprimiert.</translation>
    </message>
    <message>
        <source>Forget for good…</source>
        <translation>Endgültig vergessen&#xa0;…</translation>
    </message>
    <message>
        <source>The model no longer sees it. Its words stay in the chat.</source>
        <translation>Das Modell sieht sie nicht mehr. Ihr Text bleibt im Chat stehen.</translation>
    </message>
    <message>
        <source>Forget for good</source>
        <translation>Endgültig vergessen</translation>
    </message>
    <message>
        <source>Should the model forget this message?</source>
        <translation>Soll das Modell diese Nachricht vergessen?</translation>
    </message>
    <message>
        <source>The model no longer sees it, so no later answer can use what it says. Its words stay in the chat. This can&apos;t be undone.</source>
        <translation>Das Modell sieht sie dann nicht mehr, und keine spätere Antwort kann ihren Inhalt verwenden. Ihr Text bleibt im Chat stehen. Das lässt sich nicht rückgängig machen.</translation>
    </message>
    <message>
        <source>Show quoted passages</source>
        <translation>Zitierte Stellen anzeigen</translation>
    </message>
    <message>
        <source>Open in the browser</source>
        <translation>Im Browser öffnen</translation>
    </message>
    <message>
        <source>Copy address</source>
        <translation>Adresse kopieren</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>Nachricht kopieren</translation>
    </message>
    <message>
        <source>Copy thoughts</source>
        <translation>Gedanken kopieren</translation>
    </message>
    <message>
        <source>Copy code</source>
        <translation>Code kopieren</translation>
    </message>
    <message>
        <source>Copy code %1 (%2)</source>
        <translation>Code %1 kopieren (%2)</translation>
    </message>
</context>
<context>
    <name>satchel::ui::DeletedChatsPopup</name>
    <message>
        <source>There are none.</source>
        <translation>Es gibt keine.</translation>
    </message>
    <message>
        <source>They are kept for 30 days at least.</source>
        <translation>Sie werden mindestens 30 Tage aufbewahrt.</translation>
    </message>
    <message>
        <source>Deleted chats</source>
        <translation>Gelöschte Chats</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Wiederherstellen</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>Copy before an update · %1 · %2</source>
        <translation>Kopie vor einem Update · %1 · %2</translation>
    </message>
    <message>
        <source>%1, which an update of Satchel left. It has the words of all chats of that day, those deleted since too.</source>
        <translation>%1, von einem Update von Satchel hinterlassen. Die Kopie enthält den Text aller Chats dieses Tages, auch der seither gelöschten.</translation>
    </message>
    <message>
        <source>Delete for good?</source>
        <translation>Endgültig löschen?</translation>
    </message>
    <message>
        <source>Delete now</source>
        <translation>Jetzt löschen</translation>
    </message>
</context>
<context>
    <name>satchel::ui::EmptyState</name>
    <message>
        <source>Try it with sample notes</source>
        <translation>Mit Beispielnotizen ausprobieren</translation>
    </message>
    <message>
        <source>Attach a document…</source>
        <translation>Dokument anhängen&#xa0;…</translation>
    </message>
    <message>
        <source>From the shelf…</source>
        <translation>Aus dem Regal&#xa0;…</translation>
    </message>
    <message>
        <source>Open a model…</source>
        <translation>Modell öffnen&#xa0;…</translation>
    </message>
    <message>
        <source>Begin with a document that another chat has read</source>
        <translation>Mit einem Dokument beginnen, das ein anderer Chat gelesen hat</translation>
    </message>
    <message>
        <source>Loading model…</source>
        <translation>Modell wird geladen&#xa0;…</translation>
    </message>
    <message>
        <source>A long memory in a small bag</source>
        <translation>Ein langes Gedächtnis in einer kleinen Tasche</translation>
    </message>
    <message>
        <source>No model is open</source>
        <translation>Kein Modell geöffnet</translation>
    </message>
    <message>
        <source>Attach a document once and ask as often as you like. Satchel remembers it in a fixed amount of memory, and saved chats continue instantly.</source>
        <translation>Hängen Sie ein Dokument einmal an und stellen Sie beliebig viele Fragen. Satchel merkt es sich in einer festen Menge Speicher, und gespeicherte Chats gehen sofort weiter.</translation>
    </message>
    <message>
        <source>This takes a moment the first time.</source>
        <translation>Beim ersten Mal dauert das einen Moment.</translation>
    </message>
    <message>
        <source>Choose one above, drop a .gguf file here, or open one from your disk.</source>
        <translation>Wählen Sie oben eines aus, ziehen Sie eine .gguf-Datei hierher oder öffnen Sie eine von Ihrem Datenträger.</translation>
    </message>
    <message>
        <source>Show me in thirty seconds</source>
        <translation>In dreißig Sekunden zeigen</translation>
    </message>
    <message>
        <source>A tour on sample notes: ask, compress, ask again, close, open</source>
        <translation>Eine Führung an Beispielnotizen: fragen, komprimieren, noch einmal fragen, schließen, öffnen</translation>
    </message>
</context>
<context>
    <name>satchel::ui::FindBar</name>
    <message>
        <source>Previous (Shift+F3)</source>
        <translation>Vorige Stelle (Umschalt+F3)</translation>
    </message>
    <message>
        <source>Next (F3)</source>
        <translation>Nächste Stelle (F3)</translation>
    </message>
    <message>
        <source>Find in this chat</source>
        <translation>In diesem Chat suchen</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Schließen (Esc)</translation>
    </message>
</context>
<context>
    <name>satchel::ui::FoundList</name>
    <message>
        <source>Found in messages</source>
        <translation>In Nachrichten gefunden</translation>
    </message>
</context>
<context>
    <name>satchel::ui::FoundModel</name>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
</context>
<context>
    <name>satchel::ui::HeldBar</name>
    <message>
        <source>gone</source>
        <translation>weg</translation>
    </message>
    <message>
        <source>2 bits</source>
        <translation>2&#xa0;Bit</translation>
    </message>
    <message>
        <source>4 bits</source>
        <translation>4&#xa0;Bit</translation>
    </message>
    <message>
        <source>8 bits</source>
        <translation>8&#xa0;Bit</translation>
    </message>
    <message>
        <source>exact</source>
        <translation>exakt</translation>
    </message>
    <message>
        <source>a third</source>
        <translation>ein Drittel</translation>
    </message>
    <message>
        <source>two thirds</source>
        <translation>zwei Drittel</translation>
    </message>
    <message>
        <source>all heads</source>
        <translation>alle Köpfe</translation>
    </message>
    <message>
        <source>Fade</source>
        <translation>Verblassen</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>Präzision</translation>
    </message>
    <message>
        <source>The more heads have dropped a word, the paler it is</source>
        <translation>Je mehr Köpfe ein Wort verworfen haben, desto blasser ist es</translation>
    </message>
    <message>
        <source>The more bits hold a word, the darker is the colour behind it</source>
        <translation>Je mehr Bits ein Wort halten, desto dunkler ist es hinterlegt</translation>
    </message>
    <message>
        <source>Show the plain text (Ctrl+H)</source>
        <translation>Reinen Text anzeigen (Strg+H)</translation>
    </message>
    <message>
        <source>an even share</source>
        <translation>gleich verteilt</translation>
    </message>
    <message>
        <source>4 times</source>
        <translation>4-fach</translation>
    </message>
    <message>
        <source>16 times</source>
        <translation>16-fach</translation>
    </message>
    <message>
        <source>64 times</source>
        <translation>64-fach</translation>
    </message>
    <message>
        <source>Heat</source>
        <translation>Wärme</translation>
    </message>
    <message>
        <source>The more the newest answer looked at a word, the warmer it is</source>
        <translation>Je mehr die neueste Antwort auf ein Wort geachtet hat, desto wärmer ist es</translation>
    </message>
</context>
<context>
    <name>satchel::ui::HeldStrip</name>
    <message>
        <source>The whole chat, from top to bottom</source>
        <translation>Der ganze Chat, von oben nach unten</translation>
    </message>
    <message>
        <source>The words of the whole chat, coloured as they are</source>
        <translation>Die Wörter des ganzen Chats, gefärbt wie im Text</translation>
    </message>
</context>
<context>
    <name>satchel::ui::InProcessEngine</name>
    <message>
        <source>Wrote %1 messages to &quot;%2&quot;.</source>
        <translation>%1 Nachrichten in „%2“ geschrieben.</translation>
    </message>
    <message>
        <source>%1 damaged messages were left out.</source>
        <translation>%1 beschädigte Nachrichten wurden ausgelassen.</translation>
    </message>
</context>
<context>
    <name>satchel::ui::LayerBars</name>
    <message>
        <source>Memory of each layer</source>
        <translation>Speicher je Schicht</translation>
    </message>
    <message>
        <source>height: tokens kept</source>
        <translation>Höhe: behaltene Token</translation>
    </message>
    <message>
        <source>darker: more bits</source>
        <translation>dunkler: mehr Bits</translation>
    </message>
</context>
<context>
    <name>satchel::ui::LedgerDialog</name>
    <message>
        <source>Recall: %1</source>
        <translation>Erinnerung: %1</translation>
    </message>
    <message>
        <source>Memory history</source>
        <translation>Speicherverlauf</translation>
    </message>
    <message>
        <source>Each step that made this chat smaller in the model&apos;s memory, or moved its text there without reading it again, newest first. All messages stay saved. Percentages are of the text read by then.</source>
        <translation>Alle Schritte, die diesen Chat im Gedächtnis des Modells verkleinert oder seinen Text dort ohne erneutes Lesen verschoben haben, der neueste zuerst. Alle Nachrichten bleiben gespeichert. Prozente beziehen sich auf den bis dahin gelesenen Text.</translation>
    </message>
    <message>
        <source>Nothing in this chat has been compressed or moved.</source>
        <translation>In diesem Chat wurde nichts komprimiert oder verschoben.</translation>
    </message>
</context>
<context>
    <name>satchel::ui::MainWindow</name>
    <message>
        <source>Go on</source>
        <translation>Fortfahren</translation>
    </message>
    <message>
        <source>Stop here</source>
        <translation>Hier aufhören</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Erneut versuchen</translation>
    </message>
    <message>
        <source>Continue on the CPU</source>
        <translation>Auf der CPU fortfahren</translation>
    </message>
    <message>
        <source>Open a model</source>
        <translation>Modell öffnen</translation>
    </message>
    <message>
        <source>GGUF models (*.gguf);;All files (*)</source>
        <translation>GGUF-Modelle (*.gguf);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Documents (%1)</source>
        <translation>Dokumente (%1)</translation>
    </message>
    <message>
        <source>For example: %1</source>
        <translation>Zum Beispiel: %1</translation>
    </message>
    <message>
        <source>Reading…</source>
        <translation>Wird gelesen&#xa0;…</translation>
    </message>
    <message>
        <source>Opening chat…</source>
        <translation>Chat wird geöffnet&#xa0;…</translation>
    </message>
    <message>
        <source>Applying the memory settings…</source>
        <translation>Speichereinstellungen werden angewendet&#xa0;…</translation>
    </message>
    <message>
        <source>Loading model…</source>
        <translation>Modell wird geladen&#xa0;…</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Kein Modell</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Neuer Chat</translation>
    </message>
    <message>
        <source> – Satchel</source>
        <translation> – Satchel</translation>
    </message>
    <message>
        <source>Older parts…</source>
        <translation>Ältere Teile&#xa0;…</translation>
    </message>
    <message>
        <source>Ask all parts</source>
        <translation>Alle Teile befragen</translation>
    </message>
    <message>
        <source>Asks what is written of each part of a long chat by itself</source>
        <translation>Stellt die eingegebene Frage an jeden Teil eines langen Chats einzeln</translation>
    </message>
    <message>
        <source>Show or hide the chat list (Ctrl+B)</source>
        <translation>Chatliste ein- oder ausblenden (Strg+B)</translation>
    </message>
    <message>
        <source>Show or hide the memory panel (Ctrl+M)</source>
        <translation>Speicherbereich ein- oder ausblenden (Strg+M)</translation>
    </message>
    <message>
        <source>Older text is read and compressed in the background. This pauses while you type.</source>
        <translation>Älterer Text wird im Hintergrund gelesen und komprimiert. Während Sie tippen, pausiert das.</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>%1   %2</source>
        <translation>%1   %2</translation>
    </message>
    <message>
        <source>Open model file…</source>
        <translation>Modelldatei öffnen&#xa0;…</translation>
    </message>
    <message>
        <source>Model folder: %1</source>
        <translation>Modellordner: %1</translation>
    </message>
    <message>
        <source>Runs on the %1…</source>
        <translation>Läuft auf der %1&#xa0;…</translation>
    </message>
    <message>
        <source>Keyboard shortcuts…</source>
        <translation>Tastenkürzel&#xa0;…</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>Erscheinungsbild</translation>
    </message>
    <message>
        <source>System</source>
        <translation>System</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>Sprache</translation>
    </message>
    <message>
        <source>The language changes when you start Satchel again.</source>
        <translation>Die Sprache ändert sich beim nächsten Start von Satchel.</translation>
    </message>
    <message>
        <source>No answer in this chat repeats a document word for word.</source>
        <translation>Keine Antwort in diesem Chat gibt ein Dokument wörtlich wieder.</translation>
    </message>
    <message>
        <source>You are editing an earlier message. Enter asks it anew: what came after it is kept as another version.</source>
        <translation>Sie bearbeiten eine frühere Nachricht. Die Eingabetaste stellt sie neu: Was danach kam, bleibt als weitere Version erhalten.</translation>
    </message>
    <message>
        <source>Keep what follows</source>
        <translation>Folgendes behalten</translation>
    </message>
    <message>
        <source>%1 tokens were moved without being read again. They do not reflect the text before them.</source>
        <translation>%1 Token wurden verschoben, ohne erneut gelesen zu werden. Sie berücksichtigen den Text davor nicht.</translation>
    </message>
    <message>
        <source>Read them again</source>
        <translation>Erneut lesen</translation>
    </message>
    <message>
        <source>Attach documents</source>
        <translation>Dokumente anhängen</translation>
    </message>
    <message>
        <source>Export the chat</source>
        <translation>Chat exportieren</translation>
    </message>
    <message>
        <source>Markdown (*.md);;JSON (*.json)</source>
        <translation>Markdown (*.md);;JSON (*.json)</translation>
    </message>
    <message>
        <source>Show how the words are held and what the answer looked at (Ctrl+H)</source>
        <translation>Anzeigen, wie die Wörter gehalten werden und worauf die Antwort geachtet hat (Strg+H)</translation>
    </message>
    <message>
        <source>More (F10)</source>
        <translation>Mehr (F10)</translation>
    </message>
    <message>
        <source>Server</source>
        <translation>Server</translation>
    </message>
    <message>
        <source>Find in this chat</source>
        <translation>In diesem Chat suchen</translation>
    </message>
    <message>
        <source>Copy the last answer</source>
        <translation>Letzte Antwort kopieren</translation>
    </message>
    <message>
        <source>Export this chat…</source>
        <translation>Diesen Chat exportieren&#xa0;…</translation>
    </message>
    <message>
        <source>Chat settings…</source>
        <translation>Chateinstellungen&#xa0;…</translation>
    </message>
    <message>
        <source>Models…</source>
        <translation>Modelle&#xa0;…</translation>
    </message>
    <message>
        <source>Server…</source>
        <translation>Server&#xa0;…</translation>
    </message>
    <message>
        <source>Saved prompts…</source>
        <translation>Gespeicherte Prompts&#xa0;…</translation>
    </message>
    <message>
        <source>Retry</source>
        <translation>Wiederholen</translation>
    </message>
    <message>
        <source>You: %1</source>
        <translation>Sie: %1</translation>
    </message>
    <message>
        <source>Answer: %1</source>
        <translation>Antwort: %1</translation>
    </message>
    <message>
        <source>Not compressed from now on:</source>
        <translation>Ab jetzt nicht komprimiert:</translation>
    </message>
    <message>
        <source>No message can be pinned now</source>
        <translation>Zurzeit kann keine Nachricht angeheftet werden</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Weiter</translation>
    </message>
    <message>
        <source>End the tour</source>
        <translation>Führung beenden</translation>
    </message>
</context>
<context>
    <name>satchel::ui::MemoryPanel</name>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>Memory limit</source>
        <translation>Speicherlimit</translation>
    </message>
    <message>
        <source>Accuracy vs. memory</source>
        <translation>Genauigkeit oder Speicher</translation>
    </message>
    <message>
        <source>Current chat</source>
        <translation>Aktueller Chat</translation>
    </message>
    <message>
        <source>Apply to this chat</source>
        <translation>Auf diesen Chat anwenden</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Neuer Chat</translation>
    </message>
    <message>
        <source>New chat with these settings</source>
        <translation>Neuer Chat mit diesen Einstellungen</translation>
    </message>
    <message>
        <source>This chat</source>
        <translation>Dieser Chat</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>Older text</source>
        <translation>Älterer Text</translation>
    </message>
    <message>
        <source>Older text is compressed in the background. This pauses while you type.</source>
        <translation>Älterer Text wird im Hintergrund komprimiert. Während Sie tippen, pausiert das.</translation>
    </message>
    <message>
        <source>Layers</source>
        <translation>Schichten</translation>
    </message>
    <message>
        <source>Fidelity</source>
        <translation>Wiedergabetreue</translation>
    </message>
    <message>
        <source>Show what was compressed or moved, and what it cost (Ctrl+L)</source>
        <translation>Anzeigen, was komprimiert oder verschoben wurde und was es gekostet hat (Strg+L)</translation>
    </message>
</context>
<context>
    <name>satchel::ui::MemoryPanelState</name>
    <message>
        <source>%1 · recipe %2, %3 kept</source>
        <translation>%1 · Rezept %2, %3 behalten</translation>
    </message>
    <message>
        <source>%1 · recipe %2</source>
        <translation>%1 · Rezept %2</translation>
    </message>
    <message>
        <source>profiling the model… %1</source>
        <translation>Modell wird vermessen&#xa0;… %1</translation>
    </message>
    <message>
        <source>reading… %1 of %2 parts</source>
        <translation>wird gelesen&#xa0;… %1 von %2 Teilen</translation>
    </message>
    <message>
        <source>%1 of %2 parts read</source>
        <translation>%1 von %2 Teilen gelesen</translation>
    </message>
    <message>
        <source>compressing… %1</source>
        <translation>wird komprimiert&#xa0;… %1</translation>
    </message>
    <message>
        <source>paused at %1</source>
        <translation>pausiert bei %1</translation>
    </message>
    <message>
        <source>Nothing read yet</source>
        <translation>Noch nichts gelesen</translation>
    </message>
    <message>
        <source>Older text: %1, %2 less than in fp16</source>
        <translation>Älterer Text: %1, %2 weniger als in fp16</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>Exact: nothing is compressed</source>
        <translation>Exakt: Nichts ist komprimiert</translation>
    </message>
    <message>
        <source>Not measured yet</source>
        <translation>Noch nicht gemessen</translation>
    </message>
    <message>
        <source>Nothing compressed yet</source>
        <translation>Noch nichts komprimiert</translation>
    </message>
    <message>
        <source>%1; text corrected or moved since then</source>
        <translation>%1; seitdem Text korrigiert oder verschoben</translation>
    </message>
    <message>
        <source>%1; compressed further since then</source>
        <translation>%1; seitdem weiter komprimiert</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1, %2</translation>
    </message>
    <message>
        <source>%1 of %2 tokens in reach</source>
        <translation>%1 von %2 Token in Reichweite</translation>
    </message>
    <message>
        <source>%1 of %2 tokens</source>
        <translation>%1 von %2 Token</translation>
    </message>
    <message>
        <source>The model sees %1 tokens of this chat now: the newest turns and the older parts that the last question needed. The other %2 are kept, and are looked up when a question needs them.</source>
        <translation>Das Modell sieht jetzt %1 Token dieses Chats: die neuesten Nachrichten und die älteren Teile, die die letzte Frage brauchte. Die übrigen %2 bleiben erhalten und werden nachgeschlagen, wenn eine Frage sie braucht.</translation>
    </message>
    <message>
        <source>The model sees all of this chat. It sees at most %1 tokens at once: as the chat grows, older turns stay as parts that are looked up when a question needs them.</source>
        <translation>Das Modell sieht diesen Chat ganz. Es sieht höchstens %1 Token auf einmal: Wenn der Chat wächst, bleiben ältere Nachrichten als Teile erhalten, die nachgeschlagen werden, wenn eine Frage sie braucht.</translation>
    </message>
    <message>
        <source>This chat is longer than the %1 tokens that the model sees at once: nothing more can be sent, unless it goes on with its older turns as parts.</source>
        <translation>Dieser Chat ist länger als die %1 Token, die das Modell auf einmal sieht: Es kann nichts mehr gesendet werden, es sei denn, er geht mit seinen älteren Nachrichten als Teilen weiter.</translation>
    </message>
    <message>
        <source>The model sees all of this chat, at most %1 tokens at once. When they are used up, you are asked whether the chat goes on.</source>
        <translation>Das Modell sieht diesen Chat ganz, höchstens %1 Token auf einmal. Sind sie aufgebraucht, werden Sie gefragt, ob der Chat weitergeht.</translation>
    </message>
    <message>
        <source>Keeps every token exactly, in 16 bits.</source>
        <translation>Behält jedes Token exakt, in 16&#xa0;Bit.</translation>
    </message>
    <message>
        <source>Keeps every token, older ones in 4 bits.</source>
        <translation>Behält jedes Token, ältere in 4&#xa0;Bit.</translation>
    </message>
    <message>
        <source>Keeps the %1 of tokens that matter most for repeating the text, in 4 bits.</source>
        <translation>Behält die %1 der Token, auf die es beim Wiedergeben des Textes am meisten ankommt, in 4&#xa0;Bit.</translation>
    </message>
    <message>
        <source>%1 tokens fit</source>
        <translation>%1 Token</translation>
    </message>
    <message>
        <source>exact</source>
        <translation>exakt</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>ungemessen</translation>
    </message>
    <message>
        <source>%1 agreement, measured %2</source>
        <translation>%1 gleich, gemessen %2</translation>
    </message>
    <message>
        <source>%1 free on the GPU</source>
        <translation>%1 auf der GPU frei</translation>
    </message>
    <message>
        <source>%1 free on this machine</source>
        <translation>%1 auf diesem Rechner frei</translation>
    </message>
    <message>
        <source>Open a model to see what fits.</source>
        <translation>Öffnen Sie ein Modell, um zu sehen, was passt.</translation>
    </message>
    <message>
        <source>%1 tokens fit into the limit (estimated). The full context needs a limit of %2.</source>
        <translation>%1 Token passen in das Limit (geschätzt). Der volle Kontext braucht ein Limit von %2.</translation>
    </message>
    <message>
        <source>The full context of %1 tokens takes %2 (estimated).</source>
        <translation>Der volle Kontext von %1 Token belegt %2 (geschätzt).</translation>
    </message>
    <message>
        <source>The full context of %1 tokens takes %2 once compressed (estimated).</source>
        <translation>Der volle Kontext von %1 Token belegt komprimiert %2 (geschätzt).</translation>
    </message>
    <message>
        <source>Cache: %1 for %2 tokens, %3 per&#xa0;1,000 (%4 in fp16)</source>
        <translation>Cache: %1 für %2 Token, %3 je&#xa0;1.000 (%4 in fp16)</translation>
    </message>
    <message>
        <source>History: 1 step…</source>
        <translation>Verlauf: 1 Schritt&#xa0;…</translation>
    </message>
    <message>
        <source>History: %1 steps…</source>
        <translation>Verlauf: %1 Schritte&#xa0;…</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ModelLibrary</name>
    <message>
        <source>%1 billion</source>
        <translation>%1 Milliarden</translation>
    </message>
    <message>
        <source>%1 million</source>
        <translation>%1 Millionen</translation>
    </message>
    <message>
        <source>does not fit</source>
        <translation>passt nicht</translation>
    </message>
    <message>
        <source>%1 tokens in %2</source>
        <translation>%1 Token in %2</translation>
    </message>
    <message>
        <source>none: it continues what you write</source>
        <translation>keine: Es setzt fort, was Sie schreiben</translation>
    </message>
    <message>
        <source>one that is not known</source>
        <translation>eine unbekannte</translation>
    </message>
    <message>
        <source>%1   %2</source>
        <translation>%1   %2</translation>
    </message>
    <message>
        <source>%1: connecting…</source>
        <translation>%1: Verbindung wird aufgebaut&#xa0;…</translation>
    </message>
    <message>
        <source>%1: %2 of %3</source>
        <translation>%1: %2 von %3</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>%1 is in the library.</source>
        <translation>%1 ist in der Bibliothek.</translation>
    </message>
    <message>
        <source>Stopped. What came is kept: the same address goes on there.</source>
        <translation>Angehalten. Das Empfangene bleibt: Dieselbe Adresse macht dort weiter.</translation>
    </message>
    <message>
        <source>Architecture</source>
        <translation>Architektur</translation>
    </message>
    <message>
        <source>not named</source>
        <translation>nicht genannt</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>%1 parameters, %2, mostly %3</source>
        <translation>%1 Parameter, %2, meist %3</translation>
    </message>
    <message>
        <source>Chat template</source>
        <translation>Chatvorlage</translation>
    </message>
    <message>
        <source>Licence</source>
        <translation>Lizenz</translation>
    </message>
    <message>
        <source>the file names none</source>
        <translation>die Datei nennt keine</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 Token</translation>
    </message>
    <message>
        <source>Does not run</source>
        <translation>Läuft nicht</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>%1 for the weights, %2 free</source>
        <translation>%1 für die Gewichte, %2 frei</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>Passt</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ModelsDialog</name>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Import a file…</source>
        <translation>Datei importieren&#xa0;…</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Drop a .gguf file here to import it. Folder: %1</source>
        <translation>Ziehen Sie eine .gguf-Datei hierher, um sie zu importieren. Ordner: %1</translation>
    </message>
    <message>
        <source>About the model</source>
        <translation>Über das Modell</translation>
    </message>
    <message>
        <source>https address of a .gguf file</source>
        <translation>https-Adresse einer .gguf-Datei</translation>
    </message>
    <message>
        <source>SHA-256, if you know it</source>
        <translation>SHA-256, falls bekannt</translation>
    </message>
    <message>
        <source>Progress of the download</source>
        <translation>Fortschritt des Downloads</translation>
    </message>
    <message>
        <source>Cannot be read</source>
        <translation>Nicht lesbar</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Kein Modell</translation>
    </message>
    <message>
        <source>File</source>
        <translation>Datei</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>Passt</translation>
    </message>
    <message>
        <source>The file is being read…</source>
        <translation>Die Datei wird gelesen&#xa0;…</translation>
    </message>
    <message>
        <source>Import a model</source>
        <translation>Modell importieren</translation>
    </message>
    <message>
        <source>GGUF models (*.gguf);;All files (*)</source>
        <translation>GGUF-Modelle (*.gguf);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>Herunterladen</translation>
    </message>
    <message>
        <source>Nothing is fetched but what you ask for here. A download that ends early goes on where it ended.</source>
        <translation>Es wird nur geladen, was Sie hier anfordern. Ein abgebrochener Download geht dort weiter, wo er endete.</translation>
    </message>
</context>
<context>
    <name>satchel::ui::PartsPopup</name>
    <message>
        <source>Parts of the older chat</source>
        <translation>Teile des älteren Verlaufs</translation>
    </message>
    <message>
        <source>Ask again with these</source>
        <translation>Hiermit erneut fragen</translation>
    </message>
    <message>
        <source>Use for the next question</source>
        <translation>Für die nächste Frage nutzen</translation>
    </message>
    <message>
        <source>Ask all parts</source>
        <translation>Alle Teile befragen</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 Token</translation>
    </message>
    <message>
        <source>Write a question first (Ctrl+Shift+A)</source>
        <translation>Zuerst eine Frage schreiben (Strg+Umschalt+A)</translation>
    </message>
    <message>
        <source>Ask each part by itself (Ctrl+Shift+A): %1</source>
        <translation>Jeden Teil einzeln befragen (Strg+Umschalt+A): %1</translation>
    </message>
</context>
<context>
    <name>satchel::ui::PresetTable</name>
    <message>
        <source>Preset %1, %2, %3</source>
        <translation>Voreinstellung %1, %2, %3</translation>
    </message>
</context>
<context>
    <name>satchel::ui::PromptsDialog</name>
    <message>
        <source>New</source>
        <translation>Neu</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>Insert</source>
        <translation>Einfügen</translation>
    </message>
    <message>
        <source>Saved prompts</source>
        <translation>Gespeicherte Prompts</translation>
    </message>
    <message>
        <source>Find by name</source>
        <translation>Nach Namen suchen</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Name</translation>
    </message>
    <message>
        <source>Name of the prompt</source>
        <translation>Name des Prompts</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>Text</translation>
    </message>
    <message>
        <source>Text of the prompt</source>
        <translation>Text des Prompts</translation>
    </message>
    <message>
        <source>Puts the text into the message that you are writing</source>
        <translation>Fügt den Text in die Nachricht ein, die Sie gerade schreiben</translation>
    </message>
</context>
<context>
    <name>satchel::ui::QuoteDialog</name>
    <message>
        <source>&amp;Previous</source>
        <translation>&amp;Vorige</translation>
    </message>
    <message>
        <source>&amp;Next</source>
        <translation>&amp;Nächste</translation>
    </message>
    <message>
        <source>Quoted passage</source>
        <translation>Zitierte Stelle</translation>
    </message>
    <message>
        <source>Text of the document</source>
        <translation>Text des Dokuments</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>The answer repeats this passage word for word</source>
        <translation>Die Antwort gibt diese Stelle wörtlich wieder</translation>
    </message>
    <message>
        <source>Passage %1 of %2 that the answer repeats word for word</source>
        <translation>Stelle %1 von %2, die die Antwort wörtlich wiedergibt</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ServerDialog</name>
    <message>
        <source>Copy: %1</source>
        <translation>Kopieren: %1</translation>
    </message>
    <message>
        <source>Server</source>
        <translation>Server</translation>
    </message>
    <message>
        <source>For programs that speak OpenAI&apos;s or Anthropic&apos;s API, on this machine only. The server loads the open model a second time and keeps no chats. It ends with this window.</source>
        <translation>Für Programme, die die API von OpenAI oder Anthropic sprechen, nur auf diesem Rechner. Der Server lädt das geöffnete Modell ein zweites Mal und speichert keine Chats. Er endet mit diesem Fenster.</translation>
    </message>
    <message>
        <source>Port</source>
        <translation>Port</translation>
    </message>
    <message>
        <source>Address</source>
        <translation>Adresse</translation>
    </message>
    <message>
        <source>Token</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>Log of the server</source>
        <translation>Protokoll des Servers</translation>
    </message>
    <message>
        <source>What the server says stands here.</source>
        <translation>Hier steht, was der Server meldet.</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Starten</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ServerSwitch</name>
    <message>
        <source>%1 cannot be started.</source>
        <translation>%1 kann nicht gestartet werden.</translation>
    </message>
    <message>
        <source>The token cannot be written to a file.</source>
        <translation>Das Token kann nicht in eine Datei geschrieben werden.</translation>
    </message>
    <message>
        <source>The server ended by itself. Its log says why.</source>
        <translation>Der Server hat sich selbst beendet. Sein Protokoll sagt, warum.</translation>
    </message>
    <message>
        <source>Off.</source>
        <translation>Aus.</translation>
    </message>
    <message>
        <source>The program satchel is not installed beside this one.</source>
        <translation>Das Programm satchel ist nicht neben diesem installiert.</translation>
    </message>
    <message>
        <source>Starting: the model is being loaded…</source>
        <translation>Startet: Das Modell wird geladen&#xa0;…</translation>
    </message>
    <message>
        <source>On. %1 answers other programs on this machine.</source>
        <translation>An. %1 antwortet anderen Programmen auf diesem Rechner.</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>Wird angehalten&#xa0;…</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ShelfPopup</name>
    <message>
        <source>Documents that a chat begins with stand here once they have been read. There are none yet.</source>
        <translation>Hier stehen Dokumente, mit denen ein Chat beginnt, sobald sie gelesen sind. Noch gibt es keine.</translation>
    </message>
    <message>
        <source>They have been read: a new chat has them at once. Those that you keep stay when their chat is deleted.</source>
        <translation>Sie sind gelesen: Ein neuer Chat hat sie sofort. Die Sie behalten, bleiben auch, wenn ihr Chat gelöscht wird.</translation>
    </message>
    <message>
        <source>Shelf</source>
        <translation>Regal</translation>
    </message>
    <message>
        <source>Begin with it</source>
        <translation>Damit beginnen</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>Behalten</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
</context>
<context>
    <name>satchel::ui::Tour</name>
    <message>
        <source>The notes are read once</source>
        <translation>Die Notizen werden einmal gelesen</translation>
    </message>
    <message>
        <source>Then this question is asked: %1</source>
        <translation>Dann wird diese Frage gestellt: %1</translation>
    </message>
    <message>
        <source>The notes were read, and this is the answer</source>
        <translation>Die Notizen sind gelesen, und das ist die Antwort</translation>
    </message>
    <message>
        <source>Next: less memory</source>
        <translation>Weiter: weniger Speicher</translation>
    </message>
    <message>
        <source>The same chat in less memory</source>
        <translation>Derselbe Chat in weniger Speicher</translation>
    </message>
    <message>
        <source>The memory panel (Ctrl+M) says beforehand what a setting does to the open chat.</source>
        <translation>Der Speicherbereich (Strg+M) sagt vorher, was eine Einstellung mit dem offenen Chat macht.</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Anwenden</translation>
    </message>
    <message>
        <source>Go on without it</source>
        <translation>Ohne das weiter</translation>
    </message>
    <message>
        <source>The same question again</source>
        <translation>Dieselbe Frage noch einmal</translation>
    </message>
    <message>
        <source>Ask it again</source>
        <translation>Noch einmal fragen</translation>
    </message>
    <message>
        <source>The answer is the same, word for word.</source>
        <translation>Die Antwort ist dieselbe, Wort für Wort.</translation>
    </message>
    <message>
        <source>The answer differs from the first one.</source>
        <translation>Die Antwort weicht von der ersten ab.</translation>
    </message>
    <message>
        <source>Next: what is held</source>
        <translation>Weiter: was gehalten wird</translation>
    </message>
    <message>
        <source>What the model still holds of each word (Ctrl+H)</source>
        <translation>Was das Modell von jedem Wort noch hält (Strg+H)</translation>
    </message>
    <message>
        <source>Close and open this chat</source>
        <translation>Diesen Chat schließen und öffnen</translation>
    </message>
    <message>
        <source>The chat is closed and opened again</source>
        <translation>Der Chat wird geschlossen und wieder geöffnet</translation>
    </message>
    <message>
        <source>The chat was closed and opened again</source>
        <translation>Der Chat wurde geschlossen und wieder geöffnet</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>Fertig</translation>
    </message>
    <message>
        <source>Tour, %1 of %2: %3</source>
        <translation>Führung, %1 von %2: %3</translation>
    </message>
</context>
</TS>
