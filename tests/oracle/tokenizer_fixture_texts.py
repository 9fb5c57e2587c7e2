"""Texts and chats for make_tokenizer_fixtures.py."""

TEXTS = [
    "", " ", "  ", "\n", "\t", "\n\n\n", " \n \n", "a", " a", "a ", "  a  b   c    ",
    "Hello, world!", "The quick brown fox jumps over the lazy dog.",
    "I've been told he's there; they'RE sure, WE'LL see, y'all'd've gone. Isn't it? 'tis.",
    "Ms. O'Neil-Smith paid $1,234.56 (about £1,000) on 2024-02-29 at 07:45:30.",
    # Scripts.
    "Größe, façade, naïve, Łódź, smørrebrød, İstanbul, ﬁn, Ǆ",
    "Cửa Việt, thử nghiệm tiếng Việt có dấu.",
    "Καλημέρα κόσμε· τι κάνεις;", "Съешь ещё этих мягких французских булок, да выпей чаю.",
    "السلام عليكم، كيف حالك؟ ١٢٣٤٥", "שלום עולם, מה שלומך היום?", "नमस्ते दुनिया, आप कैसे हैं? १२३",
    "ฉันรักภาษาไทยและกินข้าวผัด", "今天天气很好，我们去公园散步吧。2024年12月31日", "吾輩は猫である。名前はまだ無い。カタカナ①",
    "동해물과 백두산이 마르고 닳도록", "გამარჯობა მსოფლიო", "வணக்கம் உலகம்", "ሰላም ለዓለም", "Բարեւ աշխարհ",
    "កាន់តែពិសេសអាចខលចេញ", "ᎣᏏᏲ 𐌰𐌱𐌲 𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𒀭𒂗",
    # Numbers.
    "3 33 333 3333 33333 333333 3.14159 1e-5 0xFF ½ Ⅷ x² 10⁻³ ٣٫١٤ 万", "1a2b3c a1b2c3 007",
    # Code.
    "def f(x, *args, **kwargs):\n    \"\"\"Doc.\"\"\"\n    return [i**2 for i in range(x) if i % 2 == 0]\n",
    "#include <vector>\nint main() {\n\tstd::vector<int> v{1, 2, 3};\n\treturn v.size() != 3;\n}\n\n\n",
    "SELECT * FROM t WHERE a >= 10 AND b LIKE '%x_%'; -- comment",
    "{\"key\": [1, 2.5, null, true], \"nested\": {\"a\\\\b\": \"c\\n\"}}", "if(x){y=z;}else{--y;}//!?<=>=->::&&||",
    "https://example.org/a/b?c=d&e=%20f#g user@example.com C:\\Users\\me", "snake_case camelCase SCREAMING_CASE kebab-case",
    # Emoji.
    "🙂", "👨‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 🇩🇪🇯🇵 ❤️ ☕️ ✅", "🚀🚀🚀 (normal) 😶‍🌫️ (joined) 1️⃣",
    # White space and control characters.
    "a\r\nb\rc\n\n  d\t\te", "a\u00a0b\u2003c\u3000d\u2028e\u2029f\u0085g", "a\u200bb\u200dc\ufeffd\u180ee\u00ade",
    "    indented\n        more\n\t\ttabs \n trailing   ", "x\x00y\x01z\x1b[0m\x7f", "\n \n\t\n  word  \n",
    " \u3000 a \u2003\u2003b\u00a0\u00a0", "word \n\nword\n \nword\t \n",
    # Marks, symbols, repetition.
    "------======= ''''''```````\"\"\"\"......!!!!!!??????", "¿Qué? ¡Sí! «guillemets» „quotes“ – — … ‰ № ™ © ± × ÷ ∑ ∞ ≈",
    "e\u0301 a\u0308\u0323 Z\u0351\u036b\u0343", "$$$ +++ <<< ^^^ ~~~ |||", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "ababababababababababab",
    "▁ ▁▁a ▁", "Ġ Ċ ĠĠ", "<0x41> <0x0A> <unk> [UNK]",
    "<|endoftext|> <|im_start|>user</s> <s> [INST]",
    "Once upon a time, in a small harbour town by the northern sea, there lived an old clockmaker whose hands never shook.\n"
    "He kept 17 clocks (all wrong), a grey cat named \"Minute\", and a letter he had not opened since 1987.",
]

CHATS = [
    [("user", "Hello!")],
    [("system", "You are terse."), ("user", "Hi")],
    [("system", "  Two\n\nlines. "), ("user", " spaced  ")],
    [("user", "One?"), ("assistant", "First."), ("user", "\n\nTwo?\n")],
    [("system", "S"), ("user", "1+1?"), ("assistant", " 2 "), ("user", "Und 2×3?"), ("assistant", "6"), ("user", "Danke 🙂")],
]

DEEPSEEK_LETTERS = (  # of deepseek-llm's tokenizer.json
    r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\x{1f7d}ᾀ-ᾴᾶ-ᾼ\x{1fbe}ῂ-ῄῆ-ῌ"
    r"ῐ-\x{1fd3}ῖ-\x{1fdb}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212a}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+")
