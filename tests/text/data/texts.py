"""Texts on which the rules of tokenizers differ: code, numbers, whitespace, emoji, contractions, special tokens."""

CODE = [
    "def greet(name):\n    if not name:\n        return None\n    return f\"Hello, {name}!\"  # done\n",
    "for (int i = 0; i < 10; ++i) {\n\tsum += a[i] * 0x1F;\r\n}\r\n",
    "#include <vector>\n\nint main() { return std::vector<int>{1,2,3}.size() == 3 ? 0 : -1; }\n",
    "{\"name\": \"sword\", \"price\": 12.50, \"tags\": [\"iron\", \"old\"], \"left\": null}",
    "<p class=\"note\">It&#39;s <b>bold</b></p>\n<!-- end -->",
    "SELECT name, COUNT(*) FROM items WHERE price >= 100.00 GROUP BY name;",
    "$ git commit -m 'fix: off-by-one' && ./run.sh --all | tee log.txt",
    "x=y**2+z//3-~w<<4; a!=b===c->d::e..f...g",
    "snake_case camelCase PascalCase SCREAMING_CASE kebab-case __dunder__ $var @home #tag",
    "https://example.org/a/b.html?q=1&r=%20#top",
    "\t\tif x:\n\t\t\tpass\n\n\n\t\telse:\n",
    "C:\\Users\\smith\\new folder\\file.txt",
]

NUMBERS = [
    "0 1 12 123 1234 12345 123456 1234567 12345678",
    "3.14159, 1e-10, -42, +7, 1,000,000 and 1_000_000",
    "10:45, 2026-11-24, 24/11/2026, +49 (0)30 1234-567",
    "v1.2.3-rc4 x86_64 h264 4k 1080p 3rd 21st",
    "\u0661\u0662\u0663\u0664 \u06f1\u06f2\u06f3 \u0967\u0968\u0969 \uff11\uff12\uff13 \u2460\u2461 \u00bd \u00bc \u2167 \u3007 \u00b2\u00b3 \u2083",
    "a1b2c3 1a2b3c 12ab34",
    "  42  007   9",
    "7",
    "99\n100\n\n101",
]

WHITESPACE = [
    " ", "  ", "   ", "\n", "\n\n", "\n\n\n", "\t", "\r\n", "\r\n\r\n", " \n", "\n ", " \n \n ", "\n\n  \n",
    "a b", "a  b", "a   b", "a    b", " a", "  a", "   a", "a ", "a  ", "a   ",
    "a\nb", "a\n\nb", "a\n b", "a \nb", "a \n b", "a\n\n\n\tb", "a\t\tb", "a\r\nb", "a\r\r\nb",
    "a\u00a0b", "a\u00a0\u00a0b", "a\u3000\u3000b", "a\u2003 b", "a \u2003b", "a\u2028b", "a\u0085b", "a\x0bb", "a\x0c\x0cb",
    "a\u200bb", "\ufeffa", "a\u180eb", " \u00a0 1", "1  2", "1 \n2", "!  ?", "! \n?", "!\n\n?", "?!\r\n\r\nx", "\u2026\n x",
    "x" + " " * 40 + "y", " " * 100, "\n" * 50, "\t" * 33 + "z", " \t \t\n\n \t",
]

EMOJI = [
    "\U0001f600", "\U0001f600\U0001f601 \U0001f602", "I \u2764\ufe0f you", "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 family",
    "\U0001f44b\U0001f3fd hi", "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "1\ufe0f\u20e3 #\ufe0f\u20e3", "ok\U0001f44d!",
    "\u2605\u2606 \u2660\u2663 \u2192 \u00b1 \u221e \u2211", "\u266a la la \u266b", "\u00a9\u00ae\u2122 \u20ac5 \u00a35 \u00a55", "\u203c\ufe0f\u2049\ufe0f",
]

WORDS = [
    "", "a", "A", "'", "''", "'s", "'S", "it's IT'S It'Ll we'Re I'vE I'm I'D can't CAN'T y'all'd've",
    "'tis 'twas rock'n'roll o'clock '90s d'\u00e9t\u00e9 l'\u00e9t\u00e9", "don\u2019t it\u2019s", "he said 'stop' and 'really?'",
    "Where can I buy a sword?", "sword sword sword", "The dragon sleeps. The dragon wakes!", "supercalifragilisticexpialidocious",
    "na\u00efve caf\u00e9 nai\u0308ve cafe\u0301", "e\u0301\u0301\u0301 \u0301x", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35 \u0928\u092e\u0938\u094d\u0924\u0947",
    "\u6211\u60f3\u4e70\u4e00\u628a\u5251\u3002", "\u5263\u3092\u8cb7\u3044\u305f\u3044\u3067\u3059", "\uac80\uc744 \uc0ac\uace0 \uc2f6\uc5b4\uc694", "\U00020000\U0002a6d6 \U00010330\U00010331",
    "(hello) [world] {x} <y> \"z\" `w` ~v~ *u* _t_", "...---...", "!?!?!?", "a.b,c;d:e", " .", " ,x", " -5", "--- \n---", "\u00bfQu\u00e9?", "x\u00b2+y\u00b2",
    "\x00", "\x01\x02\x7f", "a\x00b", "\ufffd", "\ue000\U000f0000", "\u0378", "\u2581", "a\u2581b", "\u2581\u2581 x",
]

SPECIAL = [
    "<|im_start|>user\nHello<|im_end|>\n", "<|im_start|>", "<|im_start|><|im_start|>", " <|im_start|> ", "a<|im_end|>b",
    "<|im_start|", "|im_start|>", "<<|im_start|>>", "<|im_start|>system\n<|im_end|>\n<|im_start|>assistant\n", "<note>", "a <note> b<note>",
    "<note", "<note><|im_end|><note>", "<s>", "</s>", "a</s>b", "<unk>", "<s>a</s><s>b</s>", "[INST] Hi [/INST] Hello </s><s>[INST] Bye [/INST]",
    "<0x41>", "<0x0A>", "<|endoftext|>", "x<|endoftext|>y <|ENDOFTEXT|>",
]

TEXTS = CODE + NUMBERS + WHITESPACE + EMOJI + WORDS + SPECIAL
