<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="fr" sourcelanguage="en">
<context>
    <name>AnswerSettings</name>
    <message>
        <source>always the likeliest word</source>
        <translation>toujours le mot le plus probable</translation>
    </message>
    <message>
        <source>close to the likeliest words</source>
        <translation>proche des mots les plus probables</translation>
    </message>
    <message>
        <source>varied</source>
        <translation>varié</translation>
    </message>
    <message>
        <source>surprising, often wrong</source>
        <translation>surprenant, souvent faux</translation>
    </message>
    <message>
        <source>Own system prompt</source>
        <translation>Invite système propre</translation>
    </message>
    <message>
        <source>Creativity %1</source>
        <translation>Créativité %1</translation>
    </message>
    <message>
        <source>Other choice of words</source>
        <translation>Autre choix des mots</translation>
    </message>
    <message>
        <source>Answers of any length</source>
        <translation>Réponses de toute longueur</translation>
    </message>
    <message>
        <source>At most %1 tokens</source>
        <translation>Au plus %1 tokens</translation>
    </message>
    <message>
        <source>1 stop text</source>
        <translation>1 texte d’arrêt</translation>
    </message>
    <message>
        <source>%1 stop texts</source>
        <translation>%1 textes d’arrêt</translation>
    </message>
</context>
<context>
    <name>ContextQuestion</name>
    <message>
        <source>This chat is longer than the model&apos;s context</source>
        <translation>Cette discussion dépasse le contexte du modèle</translation>
    </message>
    <message>
        <source>The document does not fit into the model&apos;s context</source>
        <translation>Le document ne tient pas dans le contexte du modèle</translation>
    </message>
    <message>
        <source>The model&apos;s context is full</source>
        <translation>Le contexte du modèle est plein</translation>
    </message>
    <message>
        <source>Your message was not sent.</source>
        <translation>Votre message n’a pas été envoyé.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; was not read.</source>
        <translation>«&#x202f;%1&#x202f;» n’a pas été lu.</translation>
    </message>
    <message>
        <source>The answer ended early.</source>
        <translation>La réponse s’est arrêtée avant la fin.</translation>
    </message>
    <message>
        <source>You can read it here.</source>
        <translation>Vous pouvez la lire ici.</translation>
    </message>
    <message>
        <source>This model sees at most %1 tokens at once. If the chat goes on, the document is read in parts, and the model sees those that a question needs.</source>
        <translation>Ce modèle voit au plus %1 tokens à la fois. Si la discussion continue, le document est lu par parties, et le modèle voit celles dont une question a besoin.</translation>
    </message>
    <message>
        <source>This model sees at most %1 tokens at once. If the chat goes on, its older turns stay as parts, and the model sees those that a question needs. Nothing is deleted.</source>
        <translation>Ce modèle voit au plus %1 tokens à la fois. Si la discussion continue, ses échanges anciens restent sous forme de parties, et le modèle voit celles dont une question a besoin. Rien n’est supprimé.</translation>
    </message>
</context>
<context>
    <name>DocumentFile</name>
    <message>
        <source>&quot;%1&quot; is not a text or Markdown file (.txt, .md). Nothing was attached.</source>
        <translation>«&#x202f;%1&#x202f;» n’est pas un fichier texte ou Markdown (.txt, .md). Rien n’a été joint.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; cannot be read: %2.</source>
        <translation>Impossible de lire «&#x202f;%1&#x202f;»&#x202f;: %2.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is larger than 16 MiB. Attach a smaller part of it.</source>
        <translation>«&#x202f;%1&#x202f;» dépasse 16&#xa0;Mio. Joignez-en une partie plus petite.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is not a text file: it contains zero bytes.</source>
        <translation>«&#x202f;%1&#x202f;» n’est pas un fichier texte&#x202f;: il contient des octets nuls.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is empty.</source>
        <translation>«&#x202f;%1&#x202f;» est vide.</translation>
    </message>
</context>
<context>
    <name>EngineValues</name>
    <message>
        <source>This message is damaged on disk and cannot be shown. A backup of the library may have it.</source>
        <translation>Ce message est endommagé sur le disque et ne peut pas être affiché. Une sauvegarde de la bibliothèque le contient peut-être.</translation>
    </message>
    <message>
        <source>Pinned</source>
        <translation>Épinglé</translation>
    </message>
    <message>
        <source>Forgotten by the model</source>
        <translation>Oublié par le modèle</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 sur %2</translation>
    </message>
</context>
<context>
    <name>Fidelity</name>
    <message>
        <source>%1 same next token · KL %2 nats</source>
        <translation>%1 de tokens suivants identiques · KL %2 nats</translation>
    </message>
    <message>
        <source>%1 of attention retained</source>
        <translation>%1 de l’attention conservée</translation>
    </message>
    <message>
        <source>measured at token %1, %2</source>
        <translation>mesuré au token %1, %2</translation>
    </message>
    <message>
        <source>%1 of %2 facts repeated correctly</source>
        <translation>%1 faits sur %2 restitués correctement</translation>
    </message>
</context>
<context>
    <name>HeldText</name>
    <message>
        <source>less than 1 %</source>
        <translation>moins de 1&#xa0;%</translation>
    </message>
    <message>
        <source>%1 %</source>
        <translation>%1&#xa0;%</translation>
    </message>
    <message>
        <source>Kept aside: it is fetched where a question needs it</source>
        <translation>Mis de côté&#x202f;: récupéré quand une question en a besoin</translation>
    </message>
    <message>
        <source>Not held any more</source>
        <translation>N’est plus dans le cache</translation>
    </message>
    <message>
        <source>Held exactly</source>
        <translation>Conservé exactement</translation>
    </message>
    <message>
        <source>exactly</source>
        <translation>exactement</translation>
    </message>
    <message>
        <source>at %1 bits</source>
        <translation>sur %1&#xa0;bits</translation>
    </message>
    <message>
        <source>Held by all heads, %1</source>
        <translation>Conservé par toutes les têtes, %1</translation>
    </message>
    <message>
        <source>Held by %1 of the heads, %2</source>
        <translation>Conservé par %1 des têtes, %2</translation>
    </message>
    <message>
        <source>Nothing has been read yet.</source>
        <translation>Rien n’a encore été lu.</translation>
    </message>
    <message>
        <source>All of it is held exactly.</source>
        <translation>Tout est conservé exactement.</translation>
    </message>
    <message>
        <source>On average, a word is held by %1 of the heads at %2 bits.</source>
        <translation>En moyenne, un mot est conservé par %1 des têtes, sur %2&#xa0;bits.</translation>
    </message>
    <message>
        <source>less than 0.1 %</source>
        <translation>moins de 0,1&#xa0;%</translation>
    </message>
    <message>
        <source>%1 of the newest answer&apos;s attention</source>
        <translation>%1 de l’attention de la dernière réponse</translation>
    </message>
    <message>
        <source>%1, less than an even share</source>
        <translation>%1, moins qu’une part égale</translation>
    </message>
    <message>
        <source>%1, %2 times an even share</source>
        <translation>%1, soit %2 fois une part égale</translation>
    </message>
    <message>
        <source>There is no answer yet. Heat shows what the newest answer looked at.</source>
        <translation>Il n’y a pas encore de réponse. Chaleur montre ce que la dernière réponse a regardé.</translation>
    </message>
    <message>
        <source>The newest answer has not been read again yet, so nothing is known of what it looked at.</source>
        <translation>La dernière réponse n’a pas encore été relue&#x202f;: on ne sait donc pas ce qu’elle a regardé.</translation>
    </message>
    <message>
        <source>Attention of the newest answer: %1 on the words before it, %2 on its own words, %3 on marks and instructions that are not shown. Measured on %4 of its tokens, in memory as it is now.</source>
        <translation>Attention de la dernière réponse&#x202f;: %1 sur les mots qui la précèdent, %2 sur les siens, %3 sur des marques et des consignes qui ne sont pas affichées. Mesuré sur %4 de ses tokens, dans la mémoire telle qu’elle est maintenant.</translation>
    </message>
</context>
<context>
    <name>LayerBar</name>
    <message>
        <source>Layer %1: %2 tokens kept</source>
        <translation>Couche %1&#x202f;: %2 tokens conservés</translation>
    </message>
    <message>
        <source>, older ones with %1-bit keys and %2-bit values</source>
        <translation>, les plus anciens avec des clés de %1&#xa0;bits et des valeurs de %2&#xa0;bits</translation>
    </message>
</context>
<context>
    <name>Ledger</name>
    <message>
        <source>new text</source>
        <translation>nouveau texte</translation>
    </message>
    <message>
        <source>turn ended</source>
        <translation>fin d’échange</translation>
    </message>
    <message>
        <source>idle time</source>
        <translation>inactivité</translation>
    </message>
    <message>
        <source>memory limit</source>
        <translation>limite de mémoire</translation>
    </message>
    <message>
        <source>your request</source>
        <translation>à votre demande</translation>
    </message>
    <message>
        <source>thinned on disk</source>
        <translation>allégé sur le disque</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>non mesuré</translation>
    </message>
    <message>
        <source>%1 · %2 attention</source>
        <translation>%1 · %2 d’attention</translation>
    </message>
    <message>
        <source>When</source>
        <translation>Quand</translation>
    </message>
    <message>
        <source>At token</source>
        <translation>Au token</translation>
    </message>
    <message>
        <source>Reason</source>
        <translation>Motif</translation>
    </message>
    <message>
        <source>Lowered</source>
        <translation>Réduit</translation>
    </message>
    <message>
        <source>Dropped</source>
        <translation>Écarté</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Mémoire</translation>
    </message>
    <message>
        <source>Measured afterwards</source>
        <translation>Mesuré ensuite</translation>
    </message>
    <message>
        <source>message corrected</source>
        <translation>message corrigé</translation>
    </message>
    <message>
        <source>document moved here</source>
        <translation>document déplacé ici</translation>
    </message>
    <message>
        <source>%1: %2 tokens moved, %3 read</source>
        <translation>%1&#x202f;: %2 tokens déplacés, %3 lus</translation>
    </message>
    <message>
        <source>%1, no time saved</source>
        <translation>%1, sans gain de temps</translation>
    </message>
    <message>
        <source>%1 in %2. Reading all of it would have taken about %3.</source>
        <translation>%1 en %2. Tout lire aurait pris environ %3.</translation>
    </message>
    <message>
        <source>%1, measured at token %2 on %3</source>
        <translation>%1, mesuré au token %2 le %3</translation>
    </message>
    <message>
        <source>%1, with %2 steps before it</source>
        <translation>%1, avec %2 étapes avant</translation>
    </message>
    <message>
        <source>%1 of it is now stored at lower precision</source>
        <translation>%1 en est désormais conservé avec une précision réduite</translation>
    </message>
    <message>
        <source>%1 of it was dropped from the model&apos;s memory</source>
        <translation>%1 en a été retiré de la mémoire du modèle</translation>
    </message>
    <message>
        <source>%1 of it is now stored at lower precision, %2 was dropped from the model&apos;s memory</source>
        <translation>%1 en est désormais conservé avec une précision réduite, %2 a été retiré de la mémoire du modèle</translation>
    </message>
    <message>
        <source>Packed to stay within %1</source>
        <translation>Compressé pour respecter %1</translation>
    </message>
    <message>
        <source>Packed to stay within the memory limit</source>
        <translation>Compressé pour respecter la limite de mémoire</translation>
    </message>
    <message>
        <source>The chat&apos;s %1 tokens took %2 and now take %3: %4.</source>
        <translation>Les %1 tokens de la discussion occupaient %2 et occupent maintenant %3&#x202f;: %4.</translation>
    </message>
    <message>
        <source>The chat&apos;s %1 tokens took %2 afterwards.</source>
        <translation>Les %1 tokens de la discussion occupaient ensuite %2.</translation>
    </message>
    <message>
        <source>What that changed is not measured yet.</source>
        <translation>Ce que cela a changé n’est pas encore mesuré.</translation>
    </message>
    <message>
        <source>What that changed was not measured.</source>
        <translation>Ce que cela a changé n’a pas été mesuré.</translation>
    </message>
</context>
<context>
    <name>MemoryChange</name>
    <message>
        <source>This chat does not fit into %1 with these settings. It needs a limit of at least %2.</source>
        <translation>Avec ces réglages, cette discussion ne tient pas dans %1. Il lui faut une limite d’au moins %2.</translation>
    </message>
    <message>
        <source>The effect on accuracy is not measured yet.</source>
        <translation>L’effet sur l’exactitude n’est pas encore mesuré.</translation>
    </message>
    <message>
        <source>Compared with the chat as it is now, on its last %1 tokens: %2.</source>
        <translation>Par rapport à l’état actuel de la discussion, sur ses %1 derniers tokens&#x202f;: %2.</translation>
    </message>
    <message>
        <source>With this limit, text may drop to lower precision again while it is reread; a limit of %1 avoids that.</source>
        <translation>Avec cette limite, du texte peut perdre à nouveau en précision pendant la relecture&#x202f;; une limite de %1 l’évite.</translation>
    </message>
    <message>
        <source>With this limit, text drops to lower precision again instead of taking %1; a limit of %2 avoids that.</source>
        <translation>Avec cette limite, du texte perd à nouveau en précision au lieu d’occuper %1&#x202f;; une limite de %2 l’évite.</translation>
    </message>
    <message>
        <source>%1 tokens must be reread, which takes about %2.</source>
        <translation>%1 tokens doivent être relus, ce qui prend environ %2.</translation>
    </message>
    <message>
        <source>%1 tokens must be reread; how long that takes is not known yet.</source>
        <translation>%1 tokens doivent être relus&#x202f;; la durée n’est pas encore connue.</translation>
    </message>
    <message>
        <source>The chat will then take %1 instead of %2 (estimated).</source>
        <translation>La discussion occupera alors %1 au lieu de %2 (estimation).</translation>
    </message>
    <message>
        <source>%1 of it at lower precision</source>
        <translation>%1 avec une précision réduite</translation>
    </message>
    <message>
        <source>%1 of it dropped</source>
        <translation>%1 écarté</translation>
    </message>
    <message>
        <source>%1 of it at lower precision, %2 dropped</source>
        <translation>%1 avec une précision réduite, %2 écarté</translation>
    </message>
    <message>
        <source>Nothing has been read yet. This chat will start with these settings.</source>
        <translation>Rien n’a encore été lu. Cette discussion commencera avec ces réglages.</translation>
    </message>
    <message>
        <source>This chat will take %1 instead of %2 (estimated). There is too little memory to measure beforehand what that changes.</source>
        <translation>Cette discussion occupera %1 au lieu de %2 (estimation). La mémoire ne suffit pas pour mesurer à l’avance ce que cela change.</translation>
    </message>
    <message>
        <source>Nothing changes in this chat; it takes %1.</source>
        <translation>Rien ne change dans cette discussion&#x202f;; elle occupe %1.</translation>
    </message>
    <message>
        <source>This chat will take %1 instead of %2 (estimated): %3. Only rereading undoes that. %4</source>
        <translation>Cette discussion occupera %1 au lieu de %2 (estimation)&#x202f;: %3. Seule une relecture annule cela. %4</translation>
    </message>
    <message>
        <source>The change was stopped. This chat now has the recipe %1 and a limit of %2; the rest is reread with your next message.</source>
        <translation>La modification a été arrêtée. Cette discussion a maintenant la recette %1 et une limite de %2&#x202f;; le reste sera relu avec votre prochain message.</translation>
    </message>
    <message>
        <source>This chat has the new settings. Its contents did not change.</source>
        <translation>Cette discussion a les nouveaux réglages. Son contenu n’a pas changé.</translation>
    </message>
    <message>
        <source>This chat now takes %1 instead of %2.</source>
        <translation>Cette discussion occupe maintenant %1 au lieu de %2.</translation>
    </message>
    <message>
        <source>Reread %1 tokens.</source>
        <translation>%1 tokens relus.</translation>
    </message>
</context>
<context>
    <name>MessageLayout</name>
    <message>
        <source>Stopped. The partial answer is saved.</source>
        <translation>Arrêté. La réponse partielle est enregistrée.</translation>
    </message>
    <message>
        <source>Show less</source>
        <translation>Afficher moins</translation>
    </message>
    <message>
        <source>Show all %1 characters</source>
        <translation>Afficher les %1 caractères</translation>
    </message>
    <message>
        <source>text</source>
        <translation>texte</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Copier</translation>
    </message>
</context>
<context>
    <name>PackedCard</name>
    <message>
        <source>Pin passages…</source>
        <translation>Épingler des passages…</translation>
    </message>
    <message>
        <source>Read exactly…</source>
        <translation>Lire exactement…</translation>
    </message>
    <message>
        <source>Raise the limit…</source>
        <translation>Relever la limite…</translation>
    </message>
</context>
<context>
    <name>PartsText</name>
    <message>
        <source>%1 parts</source>
        <translation>%1 parties</translation>
    </message>
    <message>
        <source>%1 of %2 parts read</source>
        <translation>%1 parties lues sur %2</translation>
    </message>
    <message>
        <source>read in %1 parts</source>
        <translation>lu en %1 parties</translation>
    </message>
    <message>
        <source> · from %1 of %2 of the older chat</source>
        <translation> · a vu&#x202f;: %1 sur %2 des échanges anciens</translation>
    </message>
    <message>
        <source> · quotes %1</source>
        <translation> · cite&#x202f;: %1</translation>
    </message>
    <message>
        <source> · 1 part was not read yet</source>
        <translation> · 1 partie n’était pas encore lue</translation>
    </message>
    <message>
        <source> · %1 parts were not read yet</source>
        <translation> · %1 parties n’étaient pas encore lues</translation>
    </message>
    <message>
        <source>Ticked: what the answer saw.</source>
        <translation>Cochées&#x202f;: celles que la réponse a vues.</translation>
    </message>
    <message>
        <source>1 part is not read yet</source>
        <translation>1 partie n’est pas encore lue</translation>
    </message>
    <message>
        <source>%1 parts are not read yet</source>
        <translation>%1 parties ne sont pas encore lues</translation>
    </message>
    <message>
        <source>%1: that is done while the chat is idle, or when a question needs it.</source>
        <translation>%1&#x202f;: cela se fait pendant l’inactivité, ou quand une question en a besoin.</translation>
    </message>
    <message>
        <source>not read yet</source>
        <translation>pas encore lue</translation>
    </message>
    <message>
        <source>quoted</source>
        <translation>citée</translation>
    </message>
    <message>
        <source>The unread parts are read while the chat is idle, or when a question needs them.</source>
        <translation>Les parties non lues le seront pendant l’inactivité, ou quand une question en a besoin.</translation>
    </message>
</context>
<context>
    <name>Preset</name>
    <message>
        <source>Full</source>
        <translation>Complet</translation>
    </message>
    <message>
        <source>Balanced</source>
        <translation>Équilibré</translation>
    </message>
    <message>
        <source>Compact</source>
        <translation>Compact</translation>
    </message>
    <message>
        <source>Extreme</source>
        <translation>Extrême</translation>
    </message>
</context>
<context>
    <name>QObject</name>
    <message>
        <source>[picture: %1]</source>
        <translation>[image&#x202f;: %1]</translation>
    </message>
    <message>
        <source>Your chats are encrypted. Passphrase:</source>
        <translation>Vos discussions sont chiffrées. Phrase secrète&#x202f;:</translation>
    </message>
    <message>
        <source>This passphrase does not open your chats. Passphrase:</source>
        <translation>Cette phrase secrète n’ouvre pas vos discussions. Phrase secrète&#x202f;:</translation>
    </message>
    <message>
        <source>Fits with Full</source>
        <translation>Tient avec Complet</translation>
    </message>
    <message>
        <source>Fits with Compact</source>
        <translation>Tient avec Compact</translation>
    </message>
</context>
<context>
    <name>QuoteText</name>
    <message>
        <source>%1, page %2</source>
        <translation>%1, page %2</translation>
    </message>
</context>
<context>
    <name>ReadingClock</name>
    <message>
        <source>Loading model</source>
        <translation>Chargement du modèle</translation>
    </message>
    <message>
        <source>Reading %1 of %2 tokens</source>
        <translation>%1 tokens lus sur %2</translation>
    </message>
    <message>
        <source>Measuring accuracy</source>
        <translation>Mesure de l’exactitude</translation>
    </message>
    <message>
        <source>Answering</source>
        <translation>Réponse en cours</translation>
    </message>
    <message>
        <source>Compressing</source>
        <translation>Compression</translation>
    </message>
    <message>
        <source>Profiling the model</source>
        <translation>Profilage du modèle</translation>
    </message>
    <message>
        <source>Asking part %1 of %2</source>
        <translation>Question à la partie %1 sur %2</translation>
    </message>
    <message>
        <source>%1 · %2 left</source>
        <translation>%1 · encore %2</translation>
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
        <translation>%1 tokens repris en %2.</translation>
    </message>
    <message>
        <source>Rereading them would take about %1.</source>
        <translation>Les relire prendrait environ %1.</translation>
    </message>
    <message>
        <source>Reread %1 tokens in %2.</source>
        <translation>%1 tokens relus en %2.</translation>
    </message>
    <message>
        <source>Reused %1 tokens and reread %2 in %3.</source>
        <translation>%1 tokens réutilisés et %2 relus en %3.</translation>
    </message>
    <message>
        <source>Resuming saved no time.</source>
        <translation>La reprise n’a pas fait gagner de temps.</translation>
    </message>
</context>
<context>
    <name>Shelf</name>
    <message>
        <source> · %1 tokens</source>
        <translation> · %1 tokens</translation>
    </message>
    <message>
        <source> · kept</source>
        <translation> · conservé</translation>
    </message>
    <message>
        <source>Read by %1 with %2</source>
        <translation>Lu par %1 avec %2</translation>
    </message>
    <message>
        <source>Not read yet</source>
        <translation>Pas encore lu</translation>
    </message>
    <message>
        <source>Read %1 tokens in %2.</source>
        <translation>%1 tokens lus en %2.</translation>
    </message>
    <message>
        <source>%1 tokens taken from the shelf, nothing read.</source>
        <translation>%1 tokens pris sur l’étagère, rien n’a été lu.</translation>
    </message>
    <message>
        <source>%1 tokens taken from the shelf.</source>
        <translation>%1 tokens pris sur l’étagère.</translation>
    </message>
</context>
<context>
    <name>Shortcuts</name>
    <message>
        <source>Enter</source>
        <translation>Entrée</translation>
    </message>
    <message>
        <source>Send the message</source>
        <translation>Envoyer le message</translation>
    </message>
    <message>
        <source>Shift+Enter</source>
        <translation>Maj+Entrée</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>Nouvelle ligne</translation>
    </message>
    <message>
        <source>Esc</source>
        <translation>Échap</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Arrêter</translation>
    </message>
    <message>
        <source>Ctrl+E</source>
        <translation>Ctrl+E</translation>
    </message>
    <message>
        <source>Edit your last message</source>
        <translation>Modifier votre dernier message</translation>
    </message>
    <message>
        <source>Ctrl+R</source>
        <translation>Ctrl+R</translation>
    </message>
    <message>
        <source>Answer it again</source>
        <translation>Y répondre à nouveau</translation>
    </message>
    <message>
        <source>Alt+Left, Alt+Right</source>
        <translation>Alt+Gauche, Alt+Droite</translation>
    </message>
    <message>
        <source>Older or newer version of the last message that has several</source>
        <translation>Version plus ancienne ou plus récente du dernier message qui en a plusieurs</translation>
    </message>
    <message>
        <source>Shift+F10, in the messages</source>
        <translation>Maj+F10, dans les messages</translation>
    </message>
    <message>
        <source>Pin, forget or copy the message in the middle</source>
        <translation>Épingler, oublier ou copier le message du milieu</translation>
    </message>
    <message>
        <source>Ctrl+N</source>
        <translation>Ctrl+N</translation>
    </message>
    <message>
        <source>New chat with the selected memory settings</source>
        <translation>Nouvelle discussion avec les réglages de mémoire choisis</translation>
    </message>
    <message>
        <source>Ctrl+K</source>
        <translation>Ctrl+K</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>Rechercher dans les discussions</translation>
    </message>
    <message>
        <source>Ctrl+O</source>
        <translation>Ctrl+O</translation>
    </message>
    <message>
        <source>Ctrl+B</source>
        <translation>Ctrl+B</translation>
    </message>
    <message>
        <source>Show or hide the chat list</source>
        <translation>Afficher ou masquer la liste des discussions</translation>
    </message>
    <message>
        <source>Ctrl+M</source>
        <translation>Ctrl+M</translation>
    </message>
    <message>
        <source>Show or hide the memory panel</source>
        <translation>Afficher ou masquer le volet de la mémoire</translation>
    </message>
    <message>
        <source>Ctrl+L</source>
        <translation>Ctrl+L</translation>
    </message>
    <message>
        <source>Ctrl+H</source>
        <translation>Ctrl+H</translation>
    </message>
    <message>
        <source>Ctrl+T</source>
        <translation>Ctrl+T</translation>
    </message>
    <message>
        <source>Show or hide the thoughts before the last answer</source>
        <translation>Afficher ou masquer la réflexion avant la dernière réponse</translation>
    </message>
    <message>
        <source>Ctrl+D</source>
        <translation>Ctrl+D</translation>
    </message>
    <message>
        <source>Show the passages of documents that the last answer quotes</source>
        <translation>Afficher les passages des documents que cite la dernière réponse</translation>
    </message>
    <message>
        <source>Ctrl+P</source>
        <translation>Ctrl+P</translation>
    </message>
    <message>
        <source>Show which older parts the last answer saw</source>
        <translation>Afficher les parties anciennes que la dernière réponse a vues</translation>
    </message>
    <message>
        <source>Ctrl+Shift+A</source>
        <translation>Ctrl+Maj+A</translation>
    </message>
    <message>
        <source>Ask what is written of all parts of a long chat</source>
        <translation>Poser la question saisie à toutes les parties d’une longue discussion</translation>
    </message>
    <message>
        <source>F2</source>
        <translation>F2</translation>
    </message>
    <message>
        <source>Rename the selected chat</source>
        <translation>Renommer la discussion sélectionnée</translation>
    </message>
    <message>
        <source>F1</source>
        <translation>F1</translation>
    </message>
    <message>
        <source>Show this list</source>
        <translation>Afficher cette liste</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>Raccourcis clavier</translation>
    </message>
    <message>
        <source>Ctrl+F, then F3 or Shift+F3</source>
        <translation>Ctrl+F, puis F3 ou Maj+F3</translation>
    </message>
    <message>
        <source>Find in this chat, next or previous place</source>
        <translation>Rechercher dans cette discussion, occurrence suivante ou précédente</translation>
    </message>
    <message>
        <source>Ctrl+Shift+C</source>
        <translation>Ctrl+Maj+C</translation>
    </message>
    <message>
        <source>Copy the last answer</source>
        <translation>Copier la dernière réponse</translation>
    </message>
    <message>
        <source>Ctrl+S</source>
        <translation>Ctrl+S</translation>
    </message>
    <message>
        <source>Export this chat</source>
        <translation>Exporter cette discussion</translation>
    </message>
    <message>
        <source>Attach documents</source>
        <translation>Joindre des documents</translation>
    </message>
    <message>
        <source>Show the memory history of this chat</source>
        <translation>Afficher l’historique de la mémoire de cette discussion</translation>
    </message>
    <message>
        <source>Show what the model still holds of each word, and what it looked at</source>
        <translation>Afficher ce que le modèle conserve de chaque mot, et ce qu’il a regardé</translation>
    </message>
    <message>
        <source>Ctrl+,</source>
        <translation>Ctrl+,</translation>
    </message>
    <message>
        <source>System prompt, creativity and stop texts of this chat</source>
        <translation>Invite système, créativité et textes d’arrêt de cette discussion</translation>
    </message>
    <message>
        <source>Ctrl+Shift+P</source>
        <translation>Ctrl+Maj+P</translation>
    </message>
    <message>
        <source>Saved prompts</source>
        <translation>Invites enregistrées</translation>
    </message>
    <message>
        <source>Ctrl+Shift+M</source>
        <translation>Ctrl+Maj+M</translation>
    </message>
    <message>
        <source>Models: what each is, import, download</source>
        <translation>Modèles&#x202f;: détails, importation, téléchargement</translation>
    </message>
    <message>
        <source>Ctrl+Shift+S</source>
        <translation>Ctrl+Maj+S</translation>
    </message>
    <message>
        <source>Server for other programs</source>
        <translation>Serveur pour d’autres programmes</translation>
    </message>
    <message>
        <source>F10</source>
        <translation>F10</translation>
    </message>
    <message>
        <source>Menu of all these</source>
        <translation>Menu de tout cela</translation>
    </message>
</context>
<context>
    <name>format</name>
    <message>
        <source>B</source>
        <translation>o</translation>
    </message>
    <message>
        <source>kB</source>
        <translation>ko</translation>
    </message>
    <message>
        <source>MB</source>
        <translation>Mo</translation>
    </message>
    <message>
        <source>GB</source>
        <translation>Go</translation>
    </message>
    <message>
        <source>TB</source>
        <translation>To</translation>
    </message>
    <message>
        <source>none</source>
        <translation>rien</translation>
    </message>
    <message>
        <source>part %1</source>
        <translation>partie %1</translation>
    </message>
    <message>
        <source>parts %1 and %2</source>
        <translation>parties %1 et %2</translation>
    </message>
    <message>
        <source>d&#xa0;MMM, HH:mm</source>
        <extracomment>The form of a date as QDateTime::toString() takes it: 22 Nov, 14:02</extracomment>
        <translation>d&#xa0;MMM, HH:mm</translation>
    </message>
    <message>
        <source>just now</source>
        <translation>à l’instant</translation>
    </message>
    <message>
        <source>%1 min ago</source>
        <translation>il y a %1&#xa0;min</translation>
    </message>
    <message>
        <source>%1 h ago</source>
        <translation>il y a %1&#xa0;h</translation>
    </message>
    <message>
        <source>1 day ago</source>
        <translation>il y a 1 jour</translation>
    </message>
    <message>
        <source>%1 days ago</source>
        <translation>il y a %1 jours</translation>
    </message>
</context>
<context>
    <name>satchel::ui::AppState</name>
    <message>
        <source>Reading the text of &quot;%1&quot;.</source>
        <translation>Lecture du texte de «&#x202f;%1&#x202f;».</translation>
    </message>
    <message>
        <source>&quot;%1&quot; is not UTF-8; it was read as Windows-1252.</source>
        <translation>«&#x202f;%1&#x202f;» n’est pas en UTF-8&#x202f;; il a été lu comme du Windows-1252.</translation>
    </message>
    <message>
        <source>This model has no chat template: it continues what you write, as a base model does.</source>
        <translation>Ce modèle n’a pas de gabarit de discussion&#x202f;: il continue ce que vous écrivez, comme un modèle de base.</translation>
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
        <translation>Exécuté sur le GPU&#x202f;: %1.</translation>
    </message>
    <message>
        <source>Runs on the CPU: %1.</source>
        <translation>Exécuté sur le CPU&#x202f;: %1.</translation>
    </message>
    <message>
        <source>This chat can only be read. &quot;%1&quot; was not attached.</source>
        <translation>Cette discussion est en lecture seule. «&#x202f;%1&#x202f;» n’a pas été joint.</translation>
    </message>
    <message>
        <source>Open a model first. &quot;%1&quot; was not attached.</source>
        <translation>Ouvrez d’abord un modèle. «&#x202f;%1&#x202f;» n’a pas été joint.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; was stopped and not attached.</source>
        <translation>«&#x202f;%1&#x202f;» a été arrêté et n’a pas été joint.</translation>
    </message>
    <message>
        <source>%1 documents were stopped and not attached.</source>
        <translation>%1 documents ont été arrêtés et n’ont pas été joints.</translation>
    </message>
    <message>
        <source>The model sees all of this chat: it has no older parts.</source>
        <translation>Le modèle voit toute cette discussion&#x202f;: elle n’a pas de parties anciennes.</translation>
    </message>
    <message>
        <source>The chat goes on. Type &quot;continue&quot; for the rest of the answer.</source>
        <translation>La discussion continue. Écrivez «&#x202f;continue&#x202f;» pour obtenir la suite de la réponse.</translation>
    </message>
    <message>
        <source>The next question is answered from %1 of the older chat.</source>
        <translation>La prochaine question s’appuiera sur&#x202f;: %1 des échanges anciens.</translation>
    </message>
    <message>
        <source>Write a question first. It is asked of each part of the chat.</source>
        <translation>Écrivez d’abord une question. Elle sera posée à chaque partie de la discussion.</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 tokens</translation>
    </message>
    <message>
        <source> · %1 tokens/s</source>
        <translation> · %1 tokens/s</translation>
    </message>
    <message>
        <source> · stopped at the length limit; type &quot;continue&quot; to go on</source>
        <translation> · arrêté à la limite de longueur&#x202f;; écrivez «&#x202f;continue&#x202f;» pour la suite</translation>
    </message>
    <message>
        <source> · stopped because it was repeating itself</source>
        <translation> · arrêtée car elle se répétait</translation>
    </message>
    <message>
        <source>Thought for %1 · %2 tokens</source>
        <translation>Réflexion de %1 · %2 tokens</translation>
    </message>
    <message>
        <source>The settings are not saved.</source>
        <translation>Les réglages ne sont pas enregistrés.</translation>
    </message>
    <message>
        <source>&quot;%1&quot; was not attached.</source>
        <translation>«&#x202f;%1&#x202f;» n’a pas été joint.</translation>
    </message>
    <message>
        <source>Your last message has no answer yet.</source>
        <translation>Votre dernier message n’a pas encore de réponse.</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>Répondre</translation>
    </message>
    <message>
        <source>The last answer ended early. What had come of it is kept.</source>
        <translation>La dernière réponse s’est arrêtée avant la fin. Ce qui en était venu est conservé.</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>Répondre à nouveau</translation>
    </message>
    <message>
        <source>Looking at what the newest answer attends to…</source>
        <translation>Recherche de ce que regarde la dernière réponse…</translation>
    </message>
    <message>
        <source>continue</source>
        <translation>continue</translation>
    </message>
    <message>
        <source>Opening was stopped. The rest of this chat is read with your next message.</source>
        <translation>L’ouverture a été arrêtée. Le reste de cette discussion sera lu avec votre prochain message.</translation>
    </message>
    <message>
        <source>Opening was stopped. Choose the chat again to open it.</source>
        <translation>L’ouverture a été arrêtée. Choisissez à nouveau la discussion pour l’ouvrir.</translation>
    </message>
</context>
<context>
    <name>satchel::ui::Banner</name>
    <message>
        <source>Close</source>
        <translation>Fermer</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChatFinder</name>
    <message>
        <source>Not found</source>
        <translation>Introuvable</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 sur %2</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChatListModel</name>
    <message>
        <source>%1, kept at the top</source>
        <translation>%1, gardée en haut de la liste</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChatListPanel</name>
    <message>
        <source>In messages</source>
        <translation>Dans les messages</translation>
    </message>
    <message>
        <source>Deleted chats</source>
        <translation>Discussions supprimées</translation>
    </message>
    <message>
        <source>New chat (Ctrl+N)</source>
        <translation>Nouvelle discussion (Ctrl+N)</translation>
    </message>
    <message>
        <source>Search chats (Ctrl+K)</source>
        <translation>Rechercher (Ctrl+K)</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>Rechercher dans les discussions</translation>
    </message>
    <message>
        <source>Chats</source>
        <translation>Discussions</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Ouvrir</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Renommer</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Supprimer</translation>
    </message>
    <message>
        <source>Chat deleted.</source>
        <translation>Discussion supprimée.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Annuler</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>Dossier</translation>
    </message>
    <message>
        <source>All chats</source>
        <translation>Toutes les discussions</translation>
    </message>
    <message>
        <source>None</source>
        <translation>Aucun</translation>
    </message>
    <message>
        <source>New folder…</source>
        <translation>Nouveau dossier…</translation>
    </message>
    <message>
        <source>New folder</source>
        <translation>Nouveau dossier</translation>
    </message>
    <message>
        <source>Name of the folder:</source>
        <translation>Nom du dossier&#x202f;:</translation>
    </message>
    <message>
        <source>Export…</source>
        <translation>Exporter…</translation>
    </message>
    <message>
        <source>Don&apos;t keep at top</source>
        <translation>Ne plus garder en haut</translation>
    </message>
    <message>
        <source>Keep at top</source>
        <translation>Garder en haut de la liste</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChatPlan</name>
    <message>
        <source>This chat already has these settings.</source>
        <translation>Cette discussion a déjà ces réglages.</translation>
    </message>
    <message>
        <source>Applying these settings to this chat…</source>
        <translation>Application de ces réglages à cette discussion…</translation>
    </message>
    <message>
        <source>Satchel estimates the effect on this chat once it is idle.</source>
        <translation>Satchel estimera l’effet sur cette discussion dès qu’elle sera inactive.</translation>
    </message>
    <message>
        <source>Estimating the effect on this chat…</source>
        <translation>Estimation de l’effet sur cette discussion…</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChatSettingsDialog</name>
    <message>
        <source>Saved prompts</source>
        <translation>Invites enregistrées</translation>
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
        <translation>Pénalité de répétition</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>Réinitialiser</translation>
    </message>
    <message>
        <source>New chat with these</source>
        <translation>Nouvelle discussion avec</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Appliquer</translation>
    </message>
    <message>
        <source>Chat settings</source>
        <translation>Réglages de la discussion</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Invite système</translation>
    </message>
    <message>
        <source>As the model&apos;s template has it</source>
        <translation>Comme dans le gabarit du modèle</translation>
    </message>
    <message>
        <source>It stands before everything the model has read, so it stays as it is in this chat. A new chat can begin with another one.</source>
        <translation>Elle précède tout ce que le modèle a lu, et reste donc telle quelle dans cette discussion. Une nouvelle discussion peut commencer avec une autre.</translation>
    </message>
    <message>
        <source>What the model is told before your first message. It stays with the chat.</source>
        <translation>Ce qui est dit au modèle avant votre premier message. Cela reste avec la discussion.</translation>
    </message>
    <message>
        <source>Creativity</source>
        <translation>Créativité</translation>
    </message>
    <message>
        <source>any length</source>
        <translation>toute longueur</translation>
    </message>
    <message>
        <source> tokens</source>
        <translation> tokens</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>Réponse la plus longue</translation>
    </message>
    <message>
        <source>all</source>
        <translation>tous</translation>
    </message>
    <message>
        <source>Top-K</source>
        <translation>Top-K</translation>
    </message>
    <message>
        <source>Stop texts, one a line</source>
        <translation>Textes d’arrêt, un par ligne</translation>
    </message>
    <message>
        <source>Only so many of the likeliest tokens may come</source>
        <translation>Seuls tant de tokens, les plus probables, peuvent venir</translation>
    </message>
    <message>
        <source>Only the likeliest tokens that together have this probability</source>
        <translation>Seuls les tokens les plus probables qui ont ensemble cette probabilité</translation>
    </message>
    <message>
        <source>Only tokens that are this likely, compared with the likeliest</source>
        <translation>Seuls les tokens aussi probables que cela, par rapport au plus probable</translation>
    </message>
    <message>
        <source>Tokens that came lately are this much less likely; 1: they are not</source>
        <translation>Les tokens récents deviennent d’autant moins probables&#x202f;; 1&#x202f;: pas du tout</translation>
    </message>
    <message>
        <source>Stop texts</source>
        <translation>Textes d’arrêt</translation>
    </message>
    <message>
        <source>An answer ends before any of these, one a line. \n is the end of a line.</source>
        <translation>Une réponse s’arrête avant chacun d’eux, un par ligne. \n est une fin de ligne.</translation>
    </message>
    <message>
        <source>Top-K, Top-P and Min-P only matter where creativity is above 0.</source>
        <translation>Top-K, Top-P et Min-P ne comptent que si la créativité dépasse 0.</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>Réponses</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Annuler</translation>
    </message>
    <message>
        <source>As every new chat begins; the system prompt stays</source>
        <translation>Comme au début de toute nouvelle discussion&#x202f;; l’invite système reste</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ChildEngine</name>
    <message>
        <source>Your messages are saved.</source>
        <translation>Vos messages sont enregistrés.</translation>
    </message>
    <message>
        <source>The engine said what cannot be understood, and was ended.</source>
        <translation>Le moteur a dit quelque chose d’incompréhensible et a été arrêté.</translation>
    </message>
    <message>
        <source>The engine cannot be started: %1.</source>
        <translation>Impossible de démarrer le moteur&#x202f;: %1.</translation>
    </message>
    <message>
        <source>The engine ended by itself (exit code %1).</source>
        <translation>Le moteur s’est arrêté de lui-même (code de sortie %1).</translation>
    </message>
    <message>
        <source>The engine was ended from outside (signal 9), as the system does where memory runs out.</source>
        <translation>Le moteur a été arrêté de l’extérieur (signal 9), comme le fait le système quand la mémoire manque.</translation>
    </message>
    <message>
        <source>The engine crashed (signal %1, %2).</source>
        <translation>Le moteur s’est arrêté brutalement (signal %1, %2).</translation>
    </message>
</context>
<context>
    <name>satchel::ui::Composer</name>
    <message>
        <source>Attach a text or Markdown file</source>
        <translation>Joindre un fichier texte ou Markdown</translation>
    </message>
    <message>
        <source>Think first</source>
        <translation>Réfléchir d’abord</translation>
    </message>
    <message>
        <source>Send (Enter)</source>
        <translation>Envoyer (Entrée)</translation>
    </message>
    <message>
        <source>Enter to send · Shift+Enter for a new line</source>
        <translation>Entrée&#x202f;: envoyer · Maj+Entrée&#x202f;: nouvelle ligne</translation>
    </message>
    <message>
        <source>Write a message</source>
        <translation>Écrire un message</translation>
    </message>
    <message>
        <source>Message</source>
        <translation>Message</translation>
    </message>
    <message>
        <source>Let the model think before it answers: slower, often better</source>
        <translation>Laisser le modèle réfléchir avant de répondre&#x202f;: plus lent, souvent meilleur</translation>
    </message>
    <message>
        <source>Write the beginning of a text</source>
        <translation>Écrire le début d’un texte</translation>
    </message>
    <message>
        <source>Stop (Esc)</source>
        <translation>Arrêter (Échap)</translation>
    </message>
    <message>
        <source>Enter to send · Esc to stop</source>
        <translation>Entrée&#x202f;: envoyer · Échap&#x202f;: arrêter</translation>
    </message>
    <message>
        <source>Esc to stop</source>
        <translation>Échap&#x202f;: arrêter</translation>
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
        <translation>Réponse&#x202f;: %1</translation>
    </message>
    <message>
        <source>You: %1</source>
        <translation>Vous&#x202f;: %1</translation>
    </message>
    <message>
        <source>You: %1, %2</source>
        <translation>Vous&#x202f;: %1, %2</translation>
    </message>
    <message>
        <source>Thought</source>
        <translation>Réflexion</translation>
    </message>
    <message>
        <source>Thinking…</source>
        <translation>Réflexion en cours…</translation>
    </message>
    <message>
        <source>Thought · %1 tokens</source>
        <translation>Réflexion · %1 tokens</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ConversationView</name>
    <message>
        <source>Edit</source>
        <translation>Modifier</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>Répondre à nouveau</translation>
    </message>
    <message>
        <source>Older version</source>
        <translation>Version plus ancienne</translation>
    </message>
    <message>
        <source>Newer version</source>
        <translation>Version plus récente</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>Conversation</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>Désépingler</translation>
    </message>
    <message>
        <source>It may be compressed again.</source>
        <translation>Il pourra de nouveau être compressé.</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>Épingler</translation>
    </message>
    <message>
        <source>From now on it is not compressed.</source>
        <translation>Désormais, il n’est plus compressé.</translation>
    </message>
    <message>
        <source>Forget for good…</source>
        <translation>Oublier définitivement…</translation>
    </message>
    <message>
        <source>The model no longer sees it. Its words stay in the chat.</source>
        <translation>Le modèle ne le voit plus. Son texte reste dans la discussion.</translation>
    </message>
    <message>
        <source>Forget for good</source>
        <translation>Oublier définitivement</translation>
    </message>
    <message>
        <source>Should the model forget this message?</source>
        <translation>Le modèle doit-il oublier ce message&#x202f;?</translation>
    </message>
    <message>
        <source>The model no longer sees it, so no later answer can use what it says. Its words stay in the chat. This can&apos;t be undone.</source>
        <translation>Le modèle ne le verra plus, et aucune réponse ultérieure ne pourra utiliser son contenu. Son texte reste dans la discussion. Cette action est irréversible.</translation>
    </message>
    <message>
        <source>Show quoted passages</source>
        <translation>Afficher les passages cités</translation>
    </message>
    <message>
        <source>Open in the browser</source>
        <translation>Ouvrir dans le navigateur</translation>
    </message>
    <message>
        <source>Copy address</source>
        <translation>Copier l’adresse</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Copier</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>Copier le message</translation>
    </message>
    <message>
        <source>Copy thoughts</source>
        <translation>Copier la réflexion</translation>
    </message>
    <message>
        <source>Copy code</source>
        <translation>Copier le code</translation>
    </message>
    <message>
        <source>Copy code %1 (%2)</source>
        <translation>Copier le code %1 (%2)</translation>
    </message>
</context>
<context>
    <name>satchel::ui::DeletedChatsPopup</name>
    <message>
        <source>There are none.</source>
        <translation>Il n’y en a aucune.</translation>
    </message>
    <message>
        <source>They are kept for 30 days at least.</source>
        <translation>Elles sont conservées au moins 30 jours.</translation>
    </message>
    <message>
        <source>Deleted chats</source>
        <translation>Discussions supprimées</translation>
    </message>
    <message>
        <source>Restore</source>
        <translation>Restaurer</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>Copy before an update · %1 · %2</source>
        <translation>Copie avant une mise à jour · %1 · %2</translation>
    </message>
    <message>
        <source>%1, which an update of Satchel left. It has the words of all chats of that day, those deleted since too.</source>
        <translation>%1, laissée par une mise à jour de Satchel. Elle contient le texte de toutes les discussions de ce jour-là, y compris celles supprimées depuis.</translation>
    </message>
    <message>
        <source>Delete for good?</source>
        <translation>Supprimer définitivement&#x202f;?</translation>
    </message>
    <message>
        <source>Delete now</source>
        <translation>Supprimer maintenant</translation>
    </message>
</context>
<context>
    <name>satchel::ui::EmptyState</name>
    <message>
        <source>Try it with sample notes</source>
        <translation>Essayer avec des notes d’exemple</translation>
    </message>
    <message>
        <source>Attach a document…</source>
        <translation>Joindre un document…</translation>
    </message>
    <message>
        <source>From the shelf…</source>
        <translation>Depuis l’étagère…</translation>
    </message>
    <message>
        <source>Open a model…</source>
        <translation>Ouvrir un modèle…</translation>
    </message>
    <message>
        <source>Begin with a document that another chat has read</source>
        <translation>Commencer avec un document qu’une autre discussion a lu</translation>
    </message>
    <message>
        <source>Loading model…</source>
        <translation>Chargement du modèle…</translation>
    </message>
    <message>
        <source>A long memory in a small bag</source>
        <translation>Une longue mémoire dans une petite sacoche</translation>
    </message>
    <message>
        <source>No model is open</source>
        <translation>Aucun modèle ouvert</translation>
    </message>
    <message>
        <source>Attach a document once and ask as often as you like. Satchel remembers it in a fixed amount of memory, and saved chats continue instantly.</source>
        <translation>Joignez un document une seule fois et posez autant de questions que vous voulez. Satchel s’en souvient dans une quantité fixe de mémoire, et les discussions enregistrées reprennent aussitôt.</translation>
    </message>
    <message>
        <source>This takes a moment the first time.</source>
        <translation>La première fois, cela prend un instant.</translation>
    </message>
    <message>
        <source>Choose one above, drop a .gguf file here, or open one from your disk.</source>
        <translation>Choisissez-en un ci-dessus, déposez un fichier .gguf ici ou ouvrez-en un depuis votre disque.</translation>
    </message>
    <message>
        <source>Show me in thirty seconds</source>
        <translation>Voir en trente secondes</translation>
    </message>
    <message>
        <source>A tour on sample notes: ask, compress, ask again, close, open</source>
        <translation>Une visite guidée sur des notes d’exemple&#x202f;: demander, compresser, redemander, fermer, rouvrir</translation>
    </message>
</context>
<context>
    <name>satchel::ui::FindBar</name>
    <message>
        <source>Previous (Shift+F3)</source>
        <translation>Précédent (Maj+F3)</translation>
    </message>
    <message>
        <source>Next (F3)</source>
        <translation>Suivant (F3)</translation>
    </message>
    <message>
        <source>Find in this chat</source>
        <translation>Rechercher dans cette discussion</translation>
    </message>
    <message>
        <source>Close (Esc)</source>
        <translation>Fermer (Échap)</translation>
    </message>
</context>
<context>
    <name>satchel::ui::FoundList</name>
    <message>
        <source>Found in messages</source>
        <translation>Trouvé dans les messages</translation>
    </message>
</context>
<context>
    <name>satchel::ui::FoundModel</name>
    <message>
        <source>%1: %2</source>
        <translation>%1&#x202f;: %2</translation>
    </message>
</context>
<context>
    <name>satchel::ui::HeldBar</name>
    <message>
        <source>gone</source>
        <translation>perdu</translation>
    </message>
    <message>
        <source>2 bits</source>
        <translation>2&#xa0;bits</translation>
    </message>
    <message>
        <source>4 bits</source>
        <translation>4&#xa0;bits</translation>
    </message>
    <message>
        <source>8 bits</source>
        <translation>8&#xa0;bits</translation>
    </message>
    <message>
        <source>exact</source>
        <translation>exact</translation>
    </message>
    <message>
        <source>a third</source>
        <translation>un tiers</translation>
    </message>
    <message>
        <source>two thirds</source>
        <translation>deux tiers</translation>
    </message>
    <message>
        <source>all heads</source>
        <translation>toutes les têtes</translation>
    </message>
    <message>
        <source>Fade</source>
        <translation>Estomper</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>Précision</translation>
    </message>
    <message>
        <source>The more heads have dropped a word, the paler it is</source>
        <translation>Plus il y a de têtes qui ont écarté un mot, plus il est pâle</translation>
    </message>
    <message>
        <source>The more bits hold a word, the darker is the colour behind it</source>
        <translation>Plus un mot est conservé sur de bits, plus la couleur derrière lui est foncée</translation>
    </message>
    <message>
        <source>Show the plain text (Ctrl+H)</source>
        <translation>Afficher le texte simple (Ctrl+H)</translation>
    </message>
    <message>
        <source>an even share</source>
        <translation>part égale</translation>
    </message>
    <message>
        <source>4 times</source>
        <translation>4 fois</translation>
    </message>
    <message>
        <source>16 times</source>
        <translation>16 fois</translation>
    </message>
    <message>
        <source>64 times</source>
        <translation>64 fois</translation>
    </message>
    <message>
        <source>Heat</source>
        <translation>Chaleur</translation>
    </message>
    <message>
        <source>The more the newest answer looked at a word, the warmer it is</source>
        <translation>Plus la dernière réponse a regardé un mot, plus il est chaud</translation>
    </message>
</context>
<context>
    <name>satchel::ui::HeldStrip</name>
    <message>
        <source>The whole chat, from top to bottom</source>
        <translation>Toute la discussion, de haut en bas</translation>
    </message>
    <message>
        <source>The words of the whole chat, coloured as they are</source>
        <translation>Les mots de toute la discussion, colorés comme dans le texte</translation>
    </message>
</context>
<context>
    <name>satchel::ui::InProcessEngine</name>
    <message>
        <source>Wrote %1 messages to &quot;%2&quot;.</source>
        <translation>%1 messages écrits dans «&#x202f;%2&#x202f;».</translation>
    </message>
    <message>
        <source>%1 damaged messages were left out.</source>
        <translation>%1 messages endommagés ont été laissés de côté.</translation>
    </message>
</context>
<context>
    <name>satchel::ui::LayerBars</name>
    <message>
        <source>Memory of each layer</source>
        <translation>Mémoire de chaque couche</translation>
    </message>
    <message>
        <source>height: tokens kept</source>
        <translation>hauteur&#x202f;: tokens conservés</translation>
    </message>
    <message>
        <source>darker: more bits</source>
        <translation>plus foncé&#x202f;: plus de bits</translation>
    </message>
</context>
<context>
    <name>satchel::ui::LedgerDialog</name>
    <message>
        <source>Recall: %1</source>
        <translation>Restitution&#x202f;: %1</translation>
    </message>
    <message>
        <source>Memory history</source>
        <translation>Historique de la mémoire</translation>
    </message>
    <message>
        <source>Each step that made this chat smaller in the model&apos;s memory, or moved its text there without reading it again, newest first. All messages stay saved. Percentages are of the text read by then.</source>
        <translation>Toutes les étapes qui ont réduit cette discussion dans la mémoire du modèle, ou y ont déplacé son texte sans le relire, la plus récente en premier. Tous les messages restent enregistrés. Les pourcentages portent sur le texte lu jusque-là.</translation>
    </message>
    <message>
        <source>Nothing in this chat has been compressed or moved.</source>
        <translation>Rien n’a été compressé ni déplacé dans cette discussion.</translation>
    </message>
</context>
<context>
    <name>satchel::ui::MainWindow</name>
    <message>
        <source>Go on</source>
        <translation>Continuer</translation>
    </message>
    <message>
        <source>Stop here</source>
        <translation>S’arrêter là</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Réessayer</translation>
    </message>
    <message>
        <source>Continue on the CPU</source>
        <translation>Continuer sur le CPU</translation>
    </message>
    <message>
        <source>Open a model</source>
        <translation>Ouvrir un modèle</translation>
    </message>
    <message>
        <source>GGUF models (*.gguf);;All files (*)</source>
        <translation>Modèles GGUF (*.gguf);;Tous les fichiers (*)</translation>
    </message>
    <message>
        <source>Documents (%1)</source>
        <translation>Documents (%1)</translation>
    </message>
    <message>
        <source>For example: %1</source>
        <translation>Par exemple&#x202f;: %1</translation>
    </message>
    <message>
        <source>Reading…</source>
        <translation>Lecture…</translation>
    </message>
    <message>
        <source>Opening chat…</source>
        <translation>Ouverture de la discussion…</translation>
    </message>
    <message>
        <source>Applying the memory settings…</source>
        <translation>Application des réglages de mémoire…</translation>
    </message>
    <message>
        <source>Loading model…</source>
        <translation>Chargement du modèle…</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Aucun modèle</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Nouvelle discussion</translation>
    </message>
    <message>
        <source> – Satchel</source>
        <translation> – Satchel</translation>
    </message>
    <message>
        <source>Older parts…</source>
        <translation>Parties anciennes…</translation>
    </message>
    <message>
        <source>Ask all parts</source>
        <translation>Interroger toutes les parties</translation>
    </message>
    <message>
        <source>Asks what is written of each part of a long chat by itself</source>
        <translation>Pose la question saisie à chaque partie d’une longue discussion, une par une</translation>
    </message>
    <message>
        <source>Show or hide the chat list (Ctrl+B)</source>
        <translation>Afficher ou masquer la liste des discussions (Ctrl+B)</translation>
    </message>
    <message>
        <source>Show or hide the memory panel (Ctrl+M)</source>
        <translation>Afficher ou masquer le volet de la mémoire (Ctrl+M)</translation>
    </message>
    <message>
        <source>Older text is read and compressed in the background. This pauses while you type.</source>
        <translation>Le texte plus ancien est lu et compressé en arrière-plan. Cela s’interrompt pendant que vous tapez.</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modèle</translation>
    </message>
    <message>
        <source>%1   %2</source>
        <translation>%1   %2</translation>
    </message>
    <message>
        <source>Open model file…</source>
        <translation>Ouvrir un fichier de modèle…</translation>
    </message>
    <message>
        <source>Model folder: %1</source>
        <translation>Dossier des modèles&#x202f;: %1</translation>
    </message>
    <message>
        <source>Runs on the %1…</source>
        <translation>Exécuté sur le %1…</translation>
    </message>
    <message>
        <source>Keyboard shortcuts…</source>
        <translation>Raccourcis clavier…</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>Apparence</translation>
    </message>
    <message>
        <source>System</source>
        <translation>Système</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>Clair</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Sombre</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>Langue</translation>
    </message>
    <message>
        <source>The language changes when you start Satchel again.</source>
        <translation>La langue changera au prochain démarrage de Satchel.</translation>
    </message>
    <message>
        <source>No answer in this chat repeats a document word for word.</source>
        <translation>Aucune réponse de cette discussion ne reprend un document mot pour mot.</translation>
    </message>
    <message>
        <source>You are editing an earlier message. Enter asks it anew: what came after it is kept as another version.</source>
        <translation>Vous modifiez un message précédent. Entrée le renvoie&#x202f;: ce qui le suivait est conservé comme une autre version.</translation>
    </message>
    <message>
        <source>Keep what follows</source>
        <translation>Garder la suite</translation>
    </message>
    <message>
        <source>%1 tokens were moved without being read again. They do not reflect the text before them.</source>
        <translation>%1 tokens ont été déplacés sans être relus. Ils ne tiennent pas compte du texte qui les précède.</translation>
    </message>
    <message>
        <source>Read them again</source>
        <translation>Les relire</translation>
    </message>
    <message>
        <source>Attach documents</source>
        <translation>Joindre des documents</translation>
    </message>
    <message>
        <source>Export the chat</source>
        <translation>Exporter la discussion</translation>
    </message>
    <message>
        <source>Markdown (*.md);;JSON (*.json)</source>
        <translation>Markdown (*.md);;JSON (*.json)</translation>
    </message>
    <message>
        <source>Show how the words are held and what the answer looked at (Ctrl+H)</source>
        <translation>Afficher comment les mots sont conservés et ce que la réponse a regardé (Ctrl+H)</translation>
    </message>
    <message>
        <source>More (F10)</source>
        <translation>Plus (F10)</translation>
    </message>
    <message>
        <source>Server</source>
        <translation>Serveur</translation>
    </message>
    <message>
        <source>Find in this chat</source>
        <translation>Rechercher dans cette discussion</translation>
    </message>
    <message>
        <source>Copy the last answer</source>
        <translation>Copier la dernière réponse</translation>
    </message>
    <message>
        <source>Export this chat…</source>
        <translation>Exporter cette discussion…</translation>
    </message>
    <message>
        <source>Chat settings…</source>
        <translation>Réglages de la discussion…</translation>
    </message>
    <message>
        <source>Models…</source>
        <translation>Modèles…</translation>
    </message>
    <message>
        <source>Server…</source>
        <translation>Serveur…</translation>
    </message>
    <message>
        <source>Saved prompts…</source>
        <translation>Invites enregistrées…</translation>
    </message>
    <message>
        <source>Retry</source>
        <translation>Réessayer</translation>
    </message>
    <message>
        <source>You: %1</source>
        <translation>Vous&#x202f;: %1</translation>
    </message>
    <message>
        <source>Answer: %1</source>
        <translation>Réponse&#x202f;: %1</translation>
    </message>
    <message>
        <source>Not compressed from now on:</source>
        <translation>Plus compressés à partir de maintenant&#x202f;:</translation>
    </message>
    <message>
        <source>No message can be pinned now</source>
        <translation>Aucun message ne peut être épinglé en ce moment</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Continuer</translation>
    </message>
    <message>
        <source>End the tour</source>
        <translation>Quitter la visite</translation>
    </message>
</context>
<context>
    <name>satchel::ui::MemoryPanel</name>
    <message>
        <source>Memory</source>
        <translation>Mémoire</translation>
    </message>
    <message>
        <source>Memory limit</source>
        <translation>Limite de mémoire</translation>
    </message>
    <message>
        <source>Accuracy vs. memory</source>
        <translation>Exactitude ou mémoire</translation>
    </message>
    <message>
        <source>Current chat</source>
        <translation>Discussion actuelle</translation>
    </message>
    <message>
        <source>Apply to this chat</source>
        <translation>Appliquer à cette discussion</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>Nouvelle discussion</translation>
    </message>
    <message>
        <source>New chat with these settings</source>
        <translation>Nouvelle discussion avec ces réglages</translation>
    </message>
    <message>
        <source>This chat</source>
        <translation>Cette discussion</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Contexte</translation>
    </message>
    <message>
        <source>Older text</source>
        <translation>Texte ancien</translation>
    </message>
    <message>
        <source>Older text is compressed in the background. This pauses while you type.</source>
        <translation>Le texte plus ancien est compressé en arrière-plan. Cela s’interrompt pendant que vous tapez.</translation>
    </message>
    <message>
        <source>Layers</source>
        <translation>Couches</translation>
    </message>
    <message>
        <source>Fidelity</source>
        <translation>Fidélité</translation>
    </message>
    <message>
        <source>Show what was compressed or moved, and what it cost (Ctrl+L)</source>
        <translation>Afficher ce qui a été compressé ou déplacé, et ce que cela a coûté (Ctrl+L)</translation>
    </message>
</context>
<context>
    <name>satchel::ui::MemoryPanelState</name>
    <message>
        <source>%1 · recipe %2, %3 kept</source>
        <translation>%1 · recette %2, %3 conservés</translation>
    </message>
    <message>
        <source>%1 · recipe %2</source>
        <translation>%1 · recette %2</translation>
    </message>
    <message>
        <source>profiling the model… %1</source>
        <translation>profilage du modèle… %1</translation>
    </message>
    <message>
        <source>reading… %1 of %2 parts</source>
        <translation>lecture… %1 parties sur %2</translation>
    </message>
    <message>
        <source>%1 of %2 parts read</source>
        <translation>%1 parties lues sur %2</translation>
    </message>
    <message>
        <source>compressing… %1</source>
        <translation>compression… %1</translation>
    </message>
    <message>
        <source>paused at %1</source>
        <translation>en pause à %1</translation>
    </message>
    <message>
        <source>Nothing read yet</source>
        <translation>Rien n’a encore été lu</translation>
    </message>
    <message>
        <source>Older text: %1, %2 less than in fp16</source>
        <translation>Texte ancien&#x202f;: %1, soit %2 de moins qu’en fp16</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 sur %2</translation>
    </message>
    <message>
        <source>Exact: nothing is compressed</source>
        <translation>Exact&#x202f;: rien n’est compressé</translation>
    </message>
    <message>
        <source>Not measured yet</source>
        <translation>Pas encore mesurée</translation>
    </message>
    <message>
        <source>Nothing compressed yet</source>
        <translation>Rien n’est encore compressé</translation>
    </message>
    <message>
        <source>%1; text corrected or moved since then</source>
        <translation>%1&#x202f;; texte corrigé ou déplacé depuis</translation>
    </message>
    <message>
        <source>%1; compressed further since then</source>
        <translation>%1&#x202f;; compressée davantage depuis</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1, %2</translation>
    </message>
    <message>
        <source>%1 of %2 tokens in reach</source>
        <translation>%1 tokens à portée sur %2</translation>
    </message>
    <message>
        <source>%1 of %2 tokens</source>
        <translation>%1 tokens sur %2</translation>
    </message>
    <message>
        <source>The model sees %1 tokens of this chat now: the newest turns and the older parts that the last question needed. The other %2 are kept, and are looked up when a question needs them.</source>
        <translation>Le modèle voit maintenant %1 tokens de cette discussion&#x202f;: les échanges les plus récents et les parties anciennes dont la dernière question avait besoin. Les %2 autres sont conservés, et consultés quand une question en a besoin.</translation>
    </message>
    <message>
        <source>The model sees all of this chat. It sees at most %1 tokens at once: as the chat grows, older turns stay as parts that are looked up when a question needs them.</source>
        <translation>Le modèle voit toute cette discussion. Il voit au plus %1 tokens à la fois&#x202f;: quand la discussion s’allonge, les échanges anciens restent sous forme de parties, consultées quand une question en a besoin.</translation>
    </message>
    <message>
        <source>This chat is longer than the %1 tokens that the model sees at once: nothing more can be sent, unless it goes on with its older turns as parts.</source>
        <translation>Cette discussion dépasse les %1 tokens que le modèle voit à la fois&#x202f;: rien de plus ne peut être envoyé, sauf si elle continue avec ses échanges anciens sous forme de parties.</translation>
    </message>
    <message>
        <source>The model sees all of this chat, at most %1 tokens at once. When they are used up, you are asked whether the chat goes on.</source>
        <translation>Le modèle voit toute cette discussion, au plus %1 tokens à la fois. Quand ils sont épuisés, il vous est demandé si la discussion continue.</translation>
    </message>
    <message>
        <source>Keeps every token exactly, in 16 bits.</source>
        <translation>Conserve chaque token exactement, sur 16&#xa0;bits.</translation>
    </message>
    <message>
        <source>Keeps every token, older ones in 4 bits.</source>
        <translation>Conserve chaque token, les plus anciens sur 4&#xa0;bits.</translation>
    </message>
    <message>
        <source>Keeps the %1 of tokens that matter most for repeating the text, in 4 bits.</source>
        <translation>Conserve les %1 de tokens qui comptent le plus pour restituer le texte, sur 4&#xa0;bits.</translation>
    </message>
    <message>
        <source>%1 tokens fit</source>
        <translation>%1 tokens</translation>
    </message>
    <message>
        <source>exact</source>
        <translation>exact</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>non mesuré</translation>
    </message>
    <message>
        <source>%1 agreement, measured %2</source>
        <translation>%1 de concordance, mesuré %2</translation>
    </message>
    <message>
        <source>%1 free on the GPU</source>
        <translation>%1 libres sur le GPU</translation>
    </message>
    <message>
        <source>%1 free on this machine</source>
        <translation>%1 libres sur cette machine</translation>
    </message>
    <message>
        <source>Open a model to see what fits.</source>
        <translation>Ouvrez un modèle pour voir ce qui tient.</translation>
    </message>
    <message>
        <source>%1 tokens fit into the limit (estimated). The full context needs a limit of %2.</source>
        <translation>%1 tokens tiennent dans la limite (estimation). Le contexte complet demande une limite de %2.</translation>
    </message>
    <message>
        <source>The full context of %1 tokens takes %2 (estimated).</source>
        <translation>Le contexte complet de %1 tokens occupe %2 (estimation).</translation>
    </message>
    <message>
        <source>The full context of %1 tokens takes %2 once compressed (estimated).</source>
        <translation>Le contexte complet de %1 tokens occupe %2 une fois compressé (estimation).</translation>
    </message>
    <message>
        <source>Cache: %1 for %2 tokens, %3 per&#xa0;1,000 (%4 in fp16)</source>
        <translation>Cache&#x202f;: %1 pour %2 tokens, %3 par millier (%4 en fp16)</translation>
    </message>
    <message>
        <source>History: 1 step…</source>
        <translation>Historique&#x202f;: 1 étape…</translation>
    </message>
    <message>
        <source>History: %1 steps…</source>
        <translation>Historique&#x202f;: %1 étapes…</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ModelLibrary</name>
    <message>
        <source>%1 billion</source>
        <translation>%1 milliards</translation>
    </message>
    <message>
        <source>%1 million</source>
        <translation>%1 millions</translation>
    </message>
    <message>
        <source>does not fit</source>
        <translation>ne tient pas</translation>
    </message>
    <message>
        <source>%1 tokens in %2</source>
        <translation>%1 tokens dans %2</translation>
    </message>
    <message>
        <source>none: it continues what you write</source>
        <translation>aucun&#x202f;: il continue ce que vous écrivez</translation>
    </message>
    <message>
        <source>one that is not known</source>
        <translation>un gabarit inconnu</translation>
    </message>
    <message>
        <source>%1   %2</source>
        <translation>%1   %2</translation>
    </message>
    <message>
        <source>%1: connecting…</source>
        <translation>%1&#x202f;: connexion…</translation>
    </message>
    <message>
        <source>%1: %2 of %3</source>
        <translation>%1&#x202f;: %2 sur %3</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1&#x202f;: %2</translation>
    </message>
    <message>
        <source>%1 is in the library.</source>
        <translation>%1 est dans la bibliothèque.</translation>
    </message>
    <message>
        <source>Stopped. What came is kept: the same address goes on there.</source>
        <translation>Arrêté. Ce qui est arrivé est conservé&#x202f;: la même adresse reprendra là.</translation>
    </message>
    <message>
        <source>Architecture</source>
        <translation>Architecture</translation>
    </message>
    <message>
        <source>not named</source>
        <translation>non indiquée</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>Taille</translation>
    </message>
    <message>
        <source>%1 parameters, %2, mostly %3</source>
        <translation>%1 paramètres, %2, surtout %3</translation>
    </message>
    <message>
        <source>Chat template</source>
        <translation>Gabarit de discussion</translation>
    </message>
    <message>
        <source>Licence</source>
        <translation>Licence</translation>
    </message>
    <message>
        <source>the file names none</source>
        <translation>le fichier n’en indique aucune</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Contexte</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 tokens</translation>
    </message>
    <message>
        <source>Does not run</source>
        <translation>Ne fonctionne pas</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Mémoire</translation>
    </message>
    <message>
        <source>%1 for the weights, %2 free</source>
        <translation>%1 pour les poids, %2 libres</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>Tient</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ModelsDialog</name>
    <message>
        <source>Open</source>
        <translation>Ouvrir</translation>
    </message>
    <message>
        <source>Import a file…</source>
        <translation>Importer un fichier…</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modèles</translation>
    </message>
    <message>
        <source>Drop a .gguf file here to import it. Folder: %1</source>
        <translation>Déposez un fichier .gguf ici pour l’importer. Dossier&#x202f;: %1</translation>
    </message>
    <message>
        <source>About the model</source>
        <translation>À propos du modèle</translation>
    </message>
    <message>
        <source>https address of a .gguf file</source>
        <translation>Adresse https d’un fichier .gguf</translation>
    </message>
    <message>
        <source>SHA-256, if you know it</source>
        <translation>SHA-256, si vous le connaissez</translation>
    </message>
    <message>
        <source>Progress of the download</source>
        <translation>Progression du téléchargement</translation>
    </message>
    <message>
        <source>Cannot be read</source>
        <translation>Illisible</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Aucun modèle</translation>
    </message>
    <message>
        <source>File</source>
        <translation>Fichier</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>Tient</translation>
    </message>
    <message>
        <source>The file is being read…</source>
        <translation>Lecture du fichier…</translation>
    </message>
    <message>
        <source>Import a model</source>
        <translation>Importer un modèle</translation>
    </message>
    <message>
        <source>GGUF models (*.gguf);;All files (*)</source>
        <translation>Modèles GGUF (*.gguf);;Tous les fichiers (*)</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Arrêter</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>Télécharger</translation>
    </message>
    <message>
        <source>Nothing is fetched but what you ask for here. A download that ends early goes on where it ended.</source>
        <translation>Seul ce que vous demandez ici est téléchargé. Un téléchargement interrompu reprend là où il s’est arrêté.</translation>
    </message>
</context>
<context>
    <name>satchel::ui::PartsPopup</name>
    <message>
        <source>Parts of the older chat</source>
        <translation>Parties des échanges anciens</translation>
    </message>
    <message>
        <source>Ask again with these</source>
        <translation>Reposer avec celles-ci</translation>
    </message>
    <message>
        <source>Use for the next question</source>
        <translation>Pour la prochaine question</translation>
    </message>
    <message>
        <source>Ask all parts</source>
        <translation>Interroger toutes les parties</translation>
    </message>
    <message>
        <source>%1 tokens</source>
        <translation>%1 tokens</translation>
    </message>
    <message>
        <source>Write a question first (Ctrl+Shift+A)</source>
        <translation>Écrivez d’abord une question (Ctrl+Maj+A)</translation>
    </message>
    <message>
        <source>Ask each part by itself (Ctrl+Shift+A): %1</source>
        <translation>Interroger chaque partie séparément (Ctrl+Maj+A)&#x202f;: %1</translation>
    </message>
</context>
<context>
    <name>satchel::ui::PresetTable</name>
    <message>
        <source>Preset %1, %2, %3</source>
        <translation>Préréglage %1, %2, %3</translation>
    </message>
</context>
<context>
    <name>satchel::ui::PromptsDialog</name>
    <message>
        <source>New</source>
        <translation>Nouvelle</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Supprimer</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Enregistrer</translation>
    </message>
    <message>
        <source>Insert</source>
        <translation>Insérer</translation>
    </message>
    <message>
        <source>Saved prompts</source>
        <translation>Invites enregistrées</translation>
    </message>
    <message>
        <source>Find by name</source>
        <translation>Rechercher par nom</translation>
    </message>
    <message>
        <source>Name</source>
        <translation>Nom</translation>
    </message>
    <message>
        <source>Name of the prompt</source>
        <translation>Nom de l’invite</translation>
    </message>
    <message>
        <source>Text</source>
        <translation>Texte</translation>
    </message>
    <message>
        <source>Text of the prompt</source>
        <translation>Texte de l’invite</translation>
    </message>
    <message>
        <source>Puts the text into the message that you are writing</source>
        <translation>Insère le texte dans le message que vous écrivez</translation>
    </message>
</context>
<context>
    <name>satchel::ui::QuoteDialog</name>
    <message>
        <source>&amp;Previous</source>
        <translation>&amp;Précédent</translation>
    </message>
    <message>
        <source>&amp;Next</source>
        <translation>&amp;Suivant</translation>
    </message>
    <message>
        <source>Quoted passage</source>
        <translation>Passage cité</translation>
    </message>
    <message>
        <source>Text of the document</source>
        <translation>Texte du document</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Fermer</translation>
    </message>
    <message>
        <source>The answer repeats this passage word for word</source>
        <translation>La réponse reprend ce passage mot pour mot</translation>
    </message>
    <message>
        <source>Passage %1 of %2 that the answer repeats word for word</source>
        <translation>Passage %1 sur %2 que la réponse reprend mot pour mot</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ServerDialog</name>
    <message>
        <source>Copy: %1</source>
        <translation>Copier&#x202f;: %1</translation>
    </message>
    <message>
        <source>Server</source>
        <translation>Serveur</translation>
    </message>
    <message>
        <source>For programs that speak OpenAI&apos;s or Anthropic&apos;s API, on this machine only. The server loads the open model a second time and keeps no chats. It ends with this window.</source>
        <translation>Pour les programmes qui utilisent l’API d’OpenAI ou d’Anthropic, sur cette machine seulement. Le serveur charge une seconde fois le modèle ouvert et ne conserve aucune discussion. Il s’arrête avec cette fenêtre.</translation>
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
        <translation>Jeton</translation>
    </message>
    <message>
        <source>Log of the server</source>
        <translation>Journal du serveur</translation>
    </message>
    <message>
        <source>What the server says stands here.</source>
        <translation>Les messages du serveur s’affichent ici.</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Arrêter</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>Démarrer</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ServerSwitch</name>
    <message>
        <source>%1 cannot be started.</source>
        <translation>Impossible de démarrer %1.</translation>
    </message>
    <message>
        <source>The token cannot be written to a file.</source>
        <translation>Le jeton ne peut pas être écrit dans un fichier.</translation>
    </message>
    <message>
        <source>The server ended by itself. Its log says why.</source>
        <translation>Le serveur s’est arrêté de lui-même. Son journal dit pourquoi.</translation>
    </message>
    <message>
        <source>Off.</source>
        <translation>Arrêté.</translation>
    </message>
    <message>
        <source>The program satchel is not installed beside this one.</source>
        <translation>Le programme satchel n’est pas installé à côté de celui-ci.</translation>
    </message>
    <message>
        <source>Starting: the model is being loaded…</source>
        <translation>Démarrage&#x202f;: chargement du modèle…</translation>
    </message>
    <message>
        <source>On. %1 answers other programs on this machine.</source>
        <translation>En marche. %1 répond aux autres programmes de cette machine.</translation>
    </message>
    <message>
        <source>Stopping…</source>
        <translation>Arrêt en cours…</translation>
    </message>
</context>
<context>
    <name>satchel::ui::ShelfPopup</name>
    <message>
        <source>Documents that a chat begins with stand here once they have been read. There are none yet.</source>
        <translation>Les documents par lesquels commence une discussion se trouvent ici dès qu’ils ont été lus. Il n’y en a pas encore.</translation>
    </message>
    <message>
        <source>They have been read: a new chat has them at once. Those that you keep stay when their chat is deleted.</source>
        <translation>Ils ont été lus&#x202f;: une nouvelle discussion en dispose aussitôt. Ceux que vous conservez restent quand leur discussion est supprimée.</translation>
    </message>
    <message>
        <source>Shelf</source>
        <translation>Étagère</translation>
    </message>
    <message>
        <source>Begin with it</source>
        <translation>Commencer avec</translation>
    </message>
    <message>
        <source>Keep</source>
        <translation>Conserver</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Retirer</translation>
    </message>
</context>
<context>
    <name>satchel::ui::Tour</name>
    <message>
        <source>The notes are read once</source>
        <translation>Les notes sont lues une fois</translation>
    </message>
    <message>
        <source>Then this question is asked: %1</source>
        <translation>Puis cette question est posée&#x202f;: %1</translation>
    </message>
    <message>
        <source>The notes were read, and this is the answer</source>
        <translation>Les notes sont lues, et voici la réponse</translation>
    </message>
    <message>
        <source>Next: less memory</source>
        <translation>Suite&#x202f;: moins de mémoire</translation>
    </message>
    <message>
        <source>The same chat in less memory</source>
        <translation>La même discussion en moins de mémoire</translation>
    </message>
    <message>
        <source>The memory panel (Ctrl+M) says beforehand what a setting does to the open chat.</source>
        <translation>Le volet de la mémoire (Ctrl+M) dit à l’avance ce qu’un réglage fait à la discussion ouverte.</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>Appliquer</translation>
    </message>
    <message>
        <source>Go on without it</source>
        <translation>Continuer sans</translation>
    </message>
    <message>
        <source>The same question again</source>
        <translation>La même question encore une fois</translation>
    </message>
    <message>
        <source>Ask it again</source>
        <translation>La reposer</translation>
    </message>
    <message>
        <source>The answer is the same, word for word.</source>
        <translation>La réponse est la même, mot pour mot.</translation>
    </message>
    <message>
        <source>The answer differs from the first one.</source>
        <translation>La réponse diffère de la première.</translation>
    </message>
    <message>
        <source>Next: what is held</source>
        <translation>Suite&#x202f;: ce qui est conservé</translation>
    </message>
    <message>
        <source>What the model still holds of each word (Ctrl+H)</source>
        <translation>Ce que le modèle conserve encore de chaque mot (Ctrl+H)</translation>
    </message>
    <message>
        <source>Close and open this chat</source>
        <translation>Fermer et rouvrir cette discussion</translation>
    </message>
    <message>
        <source>The chat is closed and opened again</source>
        <translation>La discussion est fermée puis rouverte</translation>
    </message>
    <message>
        <source>The chat was closed and opened again</source>
        <translation>La discussion a été fermée puis rouverte</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>Terminé</translation>
    </message>
    <message>
        <source>Tour, %1 of %2: %3</source>
        <translation>Visite, %1 sur %2&#x202f;: %3</translation>
    </message>
</context>
</TS>
