// Grammars: which are parsed and refused, and which texts and tokens they accept.
#include "text/grammar/grammar_masker.hpp"

#include <bit>
#include <chrono>
#include <random>

#include <heed/grammar.hpp>

#include "text/grammar_support.hpp"

namespace heed::test {

TEST_CASE("a grammar accepts the texts that its rules write", "[grammar][text]") {
  struct Case {
    const char* grammar;
    std::vector<std::string> yes, no;
  };
  const Case cases[] = {
      {"root ::= \"\"", {""}, {"a"}},
      {"root ::=", {""}, {"a"}},
      {"root ::= \"a\" |", {"", "a"}, {"aa"}},
      {"root ::= \"yes\" | \"no\" # one of them\n", {"yes", "no"}, {"", "ye", "yesno", "Yes"}},
      {"# a comment\nroot::=a b\na ::= \"x\"\nb\t::= \"y\"", {"xy"}, {"x", "y", "yx"}},
      {"root ::=\n  a\n  | \"z\"\n\n  | b\na ::= \"x\" b ::= \"y\"", {"x", "y", "z"}, {"xy"}},
      {"root ::= [a-cx]", {"a", "b", "c", "x"}, {"d", "", "ab"}},
      {"root ::= [^a-c]", {"d", "\n", "\xC3\xA4", "\xF0\x9F\x90\x89"}, {"a", "b", "", "\xC3", "\x80"}},
      {"root ::= [-a] [a-] [\\]^] [\\^-]", {"-a]^", "a-^-"}, {"b-]-"}},
      {"root ::= .", {"a", "\n", "\xE2\x82\xAC"}, {"", "ab", "\xFF", "\xED\xA0\x80", "\xC0\x80", "\xF4\x90\x80\x80"}},
      {"root ::= \"\\x41\\u00e4\\U0001F409\\n\\\"\\\\\"", {"A\xC3\xA4\xF0\x9F\x90\x89\n\"\\"}, {"A"}},
      {"root ::= [\\u00e4-\\u20ac]+",
       {"\xC3\xA4", "\xE2\x82\xAC", "\xDF\xBF\xE0\xA0\x80", "\xC4\x80"},
       {"\xC3\xA3", "\xE2\x82\xAD", "a", "\xC3"}},
      {"root ::= \"a\"*", {"", "a", "aaaaa"}, {"b", "ab"}},
      {"root ::= \"a\"+ \"b\"?", {"a", "ab", "aaa"}, {"", "b", "abb"}},
      {"root ::= \"a\"{ 2 } \"b\"{1,} \"c\"{0,2}", {"aab", "aabbbcc"}, {"ab", "aa", "aabccc"}},
      {"root ::= (\"a\" | \"b\" (\"c\" | \"d\"))+", {"a", "bc", "abdbc"}, {"b", "", "ac"}},
      {"root ::= (\"a\"?)* \"b\"", {"b", "ab", "aaab"}, {"a", ""}},
      {"root ::= ((\"a\"*)*)+ (\"\")*", {"", "aaa"}, {"b"}},
      {"root ::= \"(\" root \")\" | \"\"", {"", "()", "((()))"}, {"(", "(()", "())"}},
      {"root ::= e\ne ::= t (\"+\" t)*\nt ::= [0-9] | \"(\" e \")\"", {"1", "1+2", "(1+2)+(3)"}, {"1+", "()", "+1"}},
      {"root ::= a root \"x\" | \"y\"\na ::= \"a\"", {"y", "aayxx"}, {"aayx", "ay"}},
      {"root ::= a \"x\"\na ::= | \"a\" | b\nb ::= a2 \"b\"\na2 ::= \"\"", {"x", "ax", "bx"}, {"abx"}},
      {"root ::= \"a\" root | \"b\"", {"b", "aaab"}, {"aaa", ""}},
  };
  for (const Case& c : cases) {
    GrammarStates states = states_of(c.grammar);
    INFO(c.grammar);
    for (const std::string& text : c.yes) {
      INFO("'" << text << "'");
      CHECK(accepts(states, text));
    }
    for (const std::string& text : c.no) {
      INFO("not '" << text << "'");
      CHECK_FALSE(accepts(states, text));
    }
  }
}

TEST_CASE("what is no grammar is refused with its place", "[grammar][text]") {
  const auto many = [](const std::string& one, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += one;
    return all;
  };
  const std::pair<std::string, std::string> cases[] = {
      {"", "line 1, column 1: there is no rule 'root'"},
      {"a ::= \"x\"\n", "line 2, column 1: there is no rule 'root'"},
      {"root ::= a\n", "line 1, column 10: there is no rule 'a'"},
      {"root ::= \"x\"\nroot ::= \"y\"", "line 2, column 1: rule 'root' is there twice"},
      {"root \"x\"", "line 1, column 1: a rule is expected"},
      {"root ::= \"x\" )", "line 1, column 14: ')' is not expected here"},
      {"root ::= \"x\"\n  ? ? $", "line 2, column 7: '$' is not expected here"},
      {"root ::= *", "line 1, column 10: '*' is not expected here"},
      {"root ::= \"x", "column 10: this text has no end"},
      {"root ::= [ab", "column 10: these characters have no end"},
      {"root ::= (\"x\"", "column 10: this group has no end"},
      {"root ::= []", "column 10: no character is one of these"},
      {"root ::= [^\\U00000000-\\U0010FFFF]", "no character is one of these"},
      {"root ::= [z-a]", "column 11: a range whose last character is below its first"},
      {"root ::= \"\\q\"", "column 11: this escape is not known"},
      {"root ::= \"\\x4\"", "2 hexadecimal digits"},
      {"root ::= \"\\uD800\"", "U+D800 is no character"},
      {"root ::= \"\\U00110000\"", "U+110000 is no character"},
      {"root ::= \"x\"{3,2}", "column 13: a repetition whose most is below its least"},
      {"root ::= \"x\"{", "a number is expected"},
      {"root ::= \"x\"{2", "this repetition has no end"},
      {"root ::= \"x\"{99999}", "more than 10000 times"},
      {"root ::= \"x\"{4294967297}", "more than 10000 times"},
      {"root ::= (\"x\"{10000}){10000}", "the grammar is too large here"},
      {"root ::= (((\"\"{10000}){10000}){10000}){10000}", "the grammar is too large here"},
      {"root ::= root", "line 1, column 1: rule 'root' never ends"},
      {"root ::= \"x\" root", "rule 'root' never ends"},
      {"root ::= root \"x\" | \"y\"", "line 1, column 1: rule 'root' calls itself before it reads anything"},
      {"root ::= a \"x\"\n a ::= b | \"x\"\nb ::= \"\" c a\nc ::= \"c\"?", "calls itself before it reads anything"},
      {"root ::= (\"a\"? root)* \"x\"", "rule 'root' calls itself"},
      {"root ::= " + many("(", 5000) + "\"x\"" + many(")", 5000), "nested deeper than 100"},
      {"root ::= \"x\"" + many("*", 5000), "nested deeper than 100"},
      {"root ::= \"" + many("x", 70000) + "\"", "more than 65536 items"},
      {"root ::= " + many("x", 300000), "at most 262144 are read"},
      {"root ::= " + many("\"x\"? ", 9000), "too much of the grammar may be left out"},
      {"root ::= \"\xFF\"", "is not UTF-8"},
      {std::string("root ::= \0", 10), "is not expected here"},
  };
  for (const auto& [grammar, part] : cases) {
    INFO(grammar.substr(0, 80));
    Messages messages;
    GrammarRules rules;
    std::shared_ptr<GrammarAutomaton> automaton;
    CHECK(compile_grammar(grammar, messages.log(), &rules, &automaton) == Status::InvalidArgument);
    INFO(messages.text);
    CHECK(messages.mention(part));
  }
}

namespace {

// Random rules over a and b. Most are grammars, some are refused.
class RandomGrammar {
 public:
  explicit RandomGrammar(uint32_t seed) : random_(seed) {}
  std::string text() {
    std::string all;
    for (const char* name : {"root", "x", "y"}) all += std::string(name) + " ::= " + choice(0) + "\n";
    return all;
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  std::string choice(int depth) {
    std::string all = sequence(depth);
    for (uint32_t i = below(3); i > 0; --i) all += " | " + sequence(depth);
    return all;
  }
  std::string sequence(int depth) {
    std::string all;
    for (uint32_t i = below(4); i > 0; --i) all += " " + element(depth);
    return all;
  }
  std::string element(int depth) {
    static constexpr const char* kSimple[] = {"\"a\"", "\"b\"", "[ab]", "[^b]", "\"ab\"", "x", "y", "root"};
    static constexpr const char* kTimes[] = {"", "", "", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "{1,3}"};
    const bool group = depth < 2 && below(5) == 0;
    return (group ? "(" + choice(depth + 1) + ")" : kSimple[below(8)]) + std::string(kTimes[below(11)]);
  }
  std::mt19937 random_;
};

// Whether an accepted text begins so, within the searched states.
bool leads_to_end(GrammarStates& states, uint32_t from) {
  std::set<uint32_t> seen = {from};
  std::vector<uint32_t> open = {from};
  for (size_t i = 0; i < open.size() && open.size() < 4000; ++i) {
    if (states.accepts(open[i])) return true;
    for (const char byte : {'a', 'b'}) {
      const uint32_t next = states.step(open[i], static_cast<uint8_t>(byte));
      if (next != GrammarStates::kDead && seen.insert(next).second) open.push_back(next);
    }
  }
  return false;
}

}  // namespace

TEST_CASE("grammars at random accept what a slow reader of their rules accepts", "[grammar][slow][text]") {
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size() && texts[i].size() < 6; ++i)
    for (const char c : {'a', 'b'}) texts.push_back(texts[i] + c);
  size_t tried = 0, refused = 0, accepted = 0;
  for (uint32_t seed = 0; seed < 800; ++seed) {
    const std::string grammar = RandomGrammar(seed).text();
    GrammarRules rules;
    std::shared_ptr<GrammarAutomaton> automaton;
    if (compile_grammar(grammar, {}, &rules, &automaton) != Status::Ok) {
      ++refused;
      continue;
    }
    ++tried;
    GrammarStates states(automaton), copies(automaton);
    SlowGrammar slow(rules);
    INFO("seed " << seed << "\n" << grammar);
    for (const std::string& text : texts) {
      const bool wanted = slow.accepts(text);
      const uint32_t state = walked(states, text);
      accepted += wanted ? 1 : 0;
      if (states.accepts(state) != wanted) FAIL("'" << text << "' should be " << wanted);
      // In another table the same state continues in the same way.
      const uint32_t copy = copies.copy(states, state);
      if (copies.accepts(copy) != wanted || copies.goes_on(copy) != states.goes_on(state) ||
          copy != walked(copies, text))
        FAIL("'" << text << "' differs in a copy");
      if (text.size() < 4 && state != GrammarStates::kDead && !leads_to_end(states, state))
        FAIL("'" << text << "' leads nowhere");
    }
  }
  CHECK(tried > 200);
  CHECK(refused > 100);
  CHECK(accepted > 4000);
}

TEST_CASE("ambiguous and deeply nested texts take little time and memory", "[grammar][text]") {
  struct Case {
    const char *grammar, *again, *end;
    size_t times;
  };
  const Case cases[] = {
      {"root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"d\"", "a", "d", 4000},  // 2^4000 paths
      {"root ::= x+\nx ::= \"a\" | \"a\" \"a\" | \"a\" x", "a", "", 300},
      {"root ::= \"[\" root \"]\" | \"\"", "[", "", 20000},
      {"root ::= \"a\" root | \"a\"", "a", "", 20000},
      {"root ::= (\"a\"? \"a\"? \"a\"?)*", "a", "", 20000},
  };
  for (const Case& c : cases) {
    GrammarStates states = states_of(c.grammar);
    INFO(c.grammar);
    uint32_t state = states.start();
    for (size_t i = 0; i < c.times; ++i) {
      states.rest();
      state = states.step(state, static_cast<uint8_t>(c.again[0]));
      REQUIRE(state != GrammarStates::kDead);
    }
    for (const char* byte = c.end; *byte != 0; ++byte) state = states.step(state, static_cast<uint8_t>(*byte));
    CHECK(state != GrammarStates::kDead);
    CHECK(states.bytes() < 64u << 20);
  }
}

TEST_CASE("a mask has the tokens that the grammar lets come, and the end where it may end", "[grammar][text]") {
  const std::pair<const char*, const char*> cases[] = {
      {"root ::= [^\"]* \"\\\"\"", "hello w\xC3"},
      {"root ::= (\"the\" | \" sword\" | \"e\")+", "the sw"},
      {"root ::= \"{\" [a-z \\u00e0-\\u00ff]{0,12} \"}\"", "{a b\xC3\xA4"},
      {"root ::= .*", "x"},
      {"root ::= \" \"? [0-9]+ (\".\" [0-9]+)?", "12.5"},
  };
  for (const char* vocabulary : {"gpt-2", "llama-bpe", "qwen2", "llama"}) {
    const Bpe bpe = small_bpe(vocabulary);
    const auto trie = std::make_shared<TokenTrie>(bpe);
    const bool moves_spaces = bpe.vocabulary().space_prefix && !bpe.vocabulary().space_once;
    for (const auto& [grammar, text] : cases) {
      INFO(vocabulary << ": " << grammar);
      std::shared_ptr<GrammarMasker> masker;
      REQUIRE(GrammarMasker::make(grammar, trie, {0, 2}, stderr_log(), &masker) == Status::Ok);
      GrammarMasker::Place place = masker->start();
      GrammarStates states = states_of(grammar);
      const std::string whole = text;
      for (size_t length = 0; length <= whole.size(); ++length) {
        const GrammarMasker::Mask* mask = nullptr;
        REQUIRE(masker->mask(&place, stderr_log(), &mask) == Status::Ok);
        const uint32_t here = walked(states, whole.substr(0, length));
        size_t different = 0;
        for (size_t i = 0; i < bpe.size(); ++i) {
          const auto id = static_cast<int32_t>(i);
          const std::string_view bytes = bpe.bytes(id);
          uint32_t state = here;
          for (const char byte : bytes) state = states.step(state, static_cast<uint8_t>(byte));
          const bool writes = !bytes.empty() && bpe.type(id) != TokenType::Unused &&
                              !(moves_spaces && bpe.type(id) == TokenType::UserDefined);
          const bool ends = (id == 0 || id == 2) && states.accepts(here);
          const bool wanted = ends || (writes && state != GrammarStates::kDead);
          different += wanted != (((*mask)[i / 64] >> i % 64 & 1) != 0) ? 1 : 0;
        }
        CHECK(different == 0);
        if (length < whole.size()) REQUIRE(masker->take(whole.substr(length, 1), stderr_log(), &place) == Status::Ok);
      }
    }
  }
}

TEST_CASE("where no token goes on as the grammar wants, the mask is empty", "[grammar][text]") {
  Bpe bpe;
  BpeVocabulary vocabulary;
  vocabulary.tokens = {"a", "b", "ab", "<e>"};
  vocabulary.types = {TokenType::Normal, TokenType::Normal, TokenType::Normal, TokenType::Control};
  REQUIRE(Bpe::make(vocabulary, "letters", stderr_log(), &bpe) == Status::Ok);
  std::shared_ptr<GrammarMasker> masker;
  REQUIRE(GrammarMasker::make("root ::= \"ab\" \"c\"? | \"b\" \"c\"", std::make_shared<TokenTrie>(bpe), {3},
                              stderr_log(), &masker) == Status::Ok);
  const auto mask_behind = [&](std::string_view text) {
    GrammarMasker::Place place = masker->start();
    const GrammarMasker::Mask* mask = nullptr;
    REQUIRE(masker->take(text, stderr_log(), &place) == Status::Ok);
    REQUIRE(masker->mask(&place, stderr_log(), &mask) == Status::Ok);
    return (*mask)[0];
  };
  CHECK(mask_behind("") == 0b0111);  // "ab" and its prefixes, never the end
  CHECK(mask_behind("a") == 0b0010);
  CHECK(mask_behind("ab") == 0b1000);
  CHECK(mask_behind("b") == 0);
}

// Also prints how long masks take. Those within JSON strings allow the most tokens.
TEST_CASE("each token of a JSON text is allowed at its place among SmolLM2's tokens", "[language_model][grammar]") {
  const std::string path = smollm2_file();
  if (path.empty()) return;
  using Clock = std::chrono::steady_clock;
  const auto milliseconds = [](Clock::time_point since) {
    return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
  };
  const Bpe bpe = bpe_of(path);
  std::string grammar;
  REQUIRE(grammar_of_json_schema("{}", stderr_log(), &grammar) == Status::Ok);
  const auto trie_since = Clock::now();
  const auto trie = std::make_shared<TokenTrie>(bpe);
  const double trie_time = milliseconds(trie_since);
  std::shared_ptr<GrammarMasker> masker;
  REQUIRE(GrammarMasker::make(grammar, trie, {2}, stderr_log(), &masker) == Status::Ok);
  const std::string text = R"({"mood": "grumpy", "text": "What? A \"sword\", again?", "gold": [1, 25.5, {"a":null}]})";
  GrammarMasker::Place place = masker->start();
  const GrammarMasker::Mask* mask = nullptr;
  double longest = 0, all = 0;
  size_t most = 0;
  const std::vector<int32_t> ids = ids_of(bpe, text);
  for (const int32_t id : ids) {
    const auto since = Clock::now();
    REQUIRE(masker->mask(&place, stderr_log(), &mask) == Status::Ok);
    longest = std::max(longest, milliseconds(since));
    all += milliseconds(since);
    size_t allowed = 0;
    for (const uint64_t word : *mask) allowed += static_cast<size_t>(std::popcount(word));
    most = std::max(most, allowed);
    INFO("token '" << bpe.bytes(id) << "'");
    CHECK(((*mask)[static_cast<size_t>(id) / 64] >> id % 64 & 1) == 1);
    CHECK(((*mask)[0] >> 2 & 1) == 0);  // the end, before the last brace
    REQUIRE(masker->take(bpe.bytes(id), stderr_log(), &place) == Status::Ok);
  }
  CHECK(GrammarMasker::accepts(place));
  CHECK(most > bpe.size() / 2);
  CHECK(longest < 100);  // else a step would be noticeably slower
  std::printf("masks of %zu tokens: %.2f ms for all %zu places, %.2f ms the longest; the tree of tokens %.1f ms\n",
              bpe.size(), all, ids.size(), longest, trie_time);
}

}  // namespace heed::test
