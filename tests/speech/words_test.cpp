// Word times: the filter, the path and the words by hand, and those of tiny models. tiny_en_test.cpp compares those of a recording.
#include "speech/words.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include "speech/alignment.hpp"
#include "speech/stream_words.hpp"
#include "speech/support.hpp"

namespace heed::test {
namespace {

using speech::Alignment;

struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<double> values;
  std::span<double> row(size_t r) { return std::span(values).subspan(r * columns, columns); }
  std::span<const double> row(size_t r) const { return std::span(values).subspan(r * columns, columns); }
};

std::vector<size_t> path_begins(const Matrix& m) {
  speech::BestPath path(m.rows, m.columns);
  for (size_t c = 0; c < m.columns; ++c) {
    std::vector<double> column;
    for (size_t r = 0; r < m.rows; ++r) column.push_back(m.row(r)[c]);
    path.add(column);
  }
  return path.begins();
}

std::string repeated(const std::string& text, size_t count) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

// Aligns in parts of so many elements. *parts becomes their number.
Alignment aligned(const std::vector<float>& looks, const Alignment::Sizes& sizes, size_t part,
                  size_t* parts = nullptr) {
  auto copy = std::make_unique<float[]>(looks.size());
  std::copy(looks.begin(), looks.end(), copy.get());
  Alignment alignment(std::move(copy), sizes);
  size_t count = 1;
  while (!alignment.advance(part)) ++count;
  if (parts != nullptr) *parts = count;
  return alignment;
}

// The greatest sum of any path, by exhaustive search.
double best_sum(const Matrix& m, size_t r, size_t c) {
  const double here = m.row(r)[c];
  if (r == 0 && c == 0) return here;
  double best = -1e9;
  if (r > 0) best = std::max(best, best_sum(m, r - 1, c));
  if (c > 0) best = std::max(best, best_sum(m, r, c - 1));
  if (r > 0 && c > 0) best = std::max(best, best_sum(m, r - 1, c - 1));
  return here + best;
}

}  // namespace

TEST_CASE("words: the median of seven", "[speech]") {
  CHECK(speech::median_of_7(std::vector<double>{5, 1, 2}) == std::vector<double>{5, 1, 2});
  const std::vector<double> values = {9, 1, 8, 2, 7, 3, 6, 4, 5};
  // Reflected at 9 and 5: 2 8 1 [9 1 8 2 ... 4 5] 4 6 3
  CHECK(speech::median_of_7(values) == std::vector<double>{2, 7, 3, 6, 4, 5, 4, 5, 4});
}

TEST_CASE("words: heads count alike, whatever they look at", "[speech]") {
  // The weights of two tokens: the first token attends to the first half, and the second token to the second half. `off` is the weight of
  // each frame of the other half.
  const auto halves = [](float off) {
    std::vector<float> looks;
    for (size_t i = 0; i < 16; ++i) looks.push_back((i < 8) == (i % 8 < 4) ? 1.0f : off);
    return looks;
  };
  const auto combined = [](const std::vector<float>& looks, size_t heads) {
    Alignment alignment = aligned(looks, {heads, 2, 8, 0, 2}, SIZE_MAX);
    return std::vector<double>(alignment.combined().begin(), alignment.combined().end());
  };
  const std::vector<float> one = halves(0.1f), opposite = halves(1.5f);
  std::vector<float> both = one;
  both.insert(both.end(), opposite.begin(), opposite.end());
  for (const double value : combined(both, 2)) CHECK(std::fabs(value) < 1e-9);
  const std::vector<double> alone = combined(one, 1);
  for (size_t i = 0; i < 16; ++i) CHECK(std::fabs(alone[i] - ((i < 8) == (i % 8 < 4) ? 1.0 : -1.0)) < 1e-9);
  for (const double value : combined(std::vector<float>(16, 0.5f), 1)) CHECK(value == 0.0);
  for (const double value : combined(std::vector<float>(16, 0.0f), 1)) CHECK(value == 0.0);  // no weights at all
}

TEST_CASE("words: an alignment in parts is that at once", "[speech]") {
  const Alignment::Sizes sizes = {.heads = 3, .tokens = 9, .frames = 31, .first = 2, .rows = 6};
  const std::vector<float> looks = tiny_sound(sizes.heads * sizes.tokens * sizes.frames + 4000);
  std::vector<float> weights;
  for (size_t i = 4000; i < looks.size(); ++i) weights.push_back(looks[i] * looks[i]);
  const Alignment whole = aligned(weights, sizes, SIZE_MAX);
  CHECK(std::is_sorted(whole.begins().begin(), whole.begins().end()));
  CHECK(whole.begins()[0] == 0);
  for (const size_t part : {size_t{1}, size_t{100}, size_t{2000}}) {
    size_t parts = 0;
    const Alignment again = aligned(weights, sizes, part, &parts);
    CHECK(std::ranges::equal(again.begins(), whole.begins()));
    CHECK(std::ranges::equal(again.combined(), whole.combined()));
    for (size_t row = 0; row < sizes.rows; ++row) {
      CHECK(std::ranges::equal(again.attention(row), whole.attention(row)));
      CHECK(std::fabs(std::accumulate(again.attention(row).begin(), again.attention(row).end(), -1.0)) < 1e-5);
    }
    // A part is never more than what was asked for and one row: three times over the rows, and once over the columns.
    if (part == 1) CHECK(parts == sizes.heads * sizes.tokens * 3 + sizes.frames);
    if (part == 100) CHECK(parts > 30);
  }
  // The words after it are timed in parts, too.
  const auto timed = [&](size_t part, size_t* parts) {
    SpeechWords words(aligned(weights, sizes, SIZE_MAX));
    words.spans = {{0, 2}, {2, 3}, {3, 9}, {9, 11}};  // the last tokens were not read
    words.times.resize(words.spans.size());
    for (*parts = 1; !words.advance(part);) ++*parts;
    return words;
  };
  size_t parts = 0;
  const SpeechWords all = timed(SIZE_MAX, &parts);
  CHECK(parts == 1);
  const SpeechWords one_by_one = timed(1, &parts);
  CHECK(parts == all.spans.size());
  CHECK(one_by_one.attentions == all.attentions);
  CHECK(std::ranges::equal(all.attentions[1], whole.attention(2)));
  for (size_t i = 0; i < all.spans.size(); ++i) {
    CHECK((one_by_one.times[i].begin == all.times[i].begin && one_by_one.times[i].end == all.times[i].end));
    CHECK(all.times[i].begin == static_cast<int32_t>(whole.begins()[std::min<size_t>(all.spans[i].from, 5)]));
    CHECK(std::fabs(std::accumulate(all.attentions[i].begin(), all.attentions[i].end(), -1.0)) < 1e-5);
  }
}

TEST_CASE("words: the best path", "[speech]") {
  // Each row has its own columns.
  Matrix blocks{3, 7, std::vector<double>(21, -0.5)};
  for (const auto& [r, c] : {std::pair{0, 0}, {0, 1}, {0, 2}, {1, 3}, {2, 4}, {2, 5}, {2, 6}})
    blocks.row(static_cast<size_t>(r))[static_cast<size_t>(c)] = 1;
  CHECK(path_begins(blocks) == std::vector<size_t>{0, 3, 4});
  CHECK(path_begins(Matrix{3, 1, {1, 2, 3}}) == std::vector<size_t>{0, 0, 0});
  CHECK(path_begins(Matrix{1, 3, {1, 2, 3}}) == std::vector<size_t>{0});
  CHECK(path_begins(Matrix{}).empty());
  uint32_t state = 7;
  for (int round = 0; round < 20; ++round) {
    Matrix m{4, 5, {}};
    for (size_t i = 0; i < 20; ++i) {
      state = state * 1664525u + 1013904223u;
      m.values.push_back(static_cast<double>(state >> 8) / (1 << 24) - 0.5);
    }
    const std::vector<size_t> begins = path_begins(m);
    // The path's sum: a row's columns extend to where the next row begins, or one further.
    const std::function<double(size_t, size_t)> most = [&](size_t r, size_t last) {
      double sum = 0;
      for (size_t c = begins[r]; c <= last; ++c) sum += m.row(r)[c];
      if (r == 0) return sum;
      double before = most(r - 1, begins[r]);
      if (begins[r] > begins[r - 1]) before = std::max(before, most(r - 1, begins[r] - 1));
      return sum + before;
    };
    CHECK(std::fabs(most(3, 4) - best_sum(m, 3, 4)) < 1e-9);
  }
}

TEST_CASE("words: where they begin", "[speech]") {
  const std::vector<std::string> tokens = {" He", "llo", ",", " \"", "wor", "ld", "\"",        "!",    " it", "'s",
                                           " (",  "2",   ")", " -",  " x",  "é",  " \xe9\xbe", "\x8d", "龍",  "。"};
  std::vector<int32_t> ids;
  for (size_t i = 0; i < tokens.size(); ++i) ids.push_back(static_cast<int32_t>(i));
  const auto bytes = [&](int32_t id) { return std::string_view(tokens[static_cast<size_t>(id)]); };
  const auto texts = [&](bool has_spaces) {
    std::vector<std::string> all;
    for (const speech::WordSpan& word : speech::words_of(ids, bytes, has_spaces)) all.push_back(word.text);
    return all;
  };
  CHECK(texts(true) == std::vector<std::string>{" Hello,", " \"world\"!", " it's", " (2)", " - xé", " 龍龍。"});
  const std::vector<speech::WordSpan> words = speech::words_of(ids, bytes, true);
  CHECK((words[0].begin == 0 && words[0].end == 3 && words[0].from == 0 && words[0].to == 2));
  CHECK((words[1].begin == 3 && words[1].end == 8 && words[1].from == 3 && words[1].to == 6));
  CHECK((words[4].begin == 13 && words[4].end == 16 && words[4].from == 14 && words[4].to == 16));
  CHECK(texts(false).size() == 11);
  CHECK(texts(false).back() == "龍。");
  CHECK(speech::words_of({}, bytes, true).empty());
  const std::vector<bool> may_follow_pause = {true, false, true, false, false, false};
  for (size_t i = 0; i < words.size(); ++i) CHECK(words[i].may_follow_pause == may_follow_pause[i]);
}

TEST_CASE("words: those without end are split", "[speech]") {
  const std::vector<std::string> tokens = {" A",  "aaaaaaa", "!",   "龍龍龍龍", std::string(120, '='),
                                           " \"", "\xe9",    "\x8d"};
  const auto bytes = [&](int32_t id) { return std::string_view(tokens[static_cast<size_t>(id)]); };
  const auto texts = [&](const std::vector<int32_t>& ids) {
    std::vector<std::string> all;
    std::string text, again;
    for (const int32_t id : ids) text += tokens[static_cast<size_t>(id)];
    size_t at = 0;
    for (const speech::WordSpan& word : speech::words_of(ids, bytes, true)) {
      all.push_back(word.text);
      again += word.text;
      CHECK(
          (word.begin == at && word.end > at && word.from >= word.begin && word.to > word.from && word.to <= word.end));
      at = word.end;
    }
    CHECK(again == text);
    CHECK(at == ids.size());
    return all;
  };
  // " A" and 11 times seven letters, 79 characters, and so on.
  std::vector<int32_t> loop(200, 1);
  loop[0] = 0;
  CHECK(texts(loop).size() == 19);
  for (const std::string& word : texts(loop)) CHECK(word.size() <= speech::kMostWordCharacters);
  CHECK(texts(std::vector<int32_t>(40, 3)) == std::vector<std::string>(2, std::string(repeated("龍", 80))));
  // Punctuation is joined to a word only as long as it fits.
  std::vector<int32_t> marks(200, 2);
  marks[0] = 0;
  CHECK(texts(marks).size() == 3);
  for (const std::string& word : texts(marks)) CHECK(word.size() <= speech::kMostWordCharacters);
  CHECK(texts(std::vector<int32_t>(200, 5)).size() <= 200);
  CHECK(texts({0, 4, 4, 1}).size() == 4);  // tokens stay whole
  for (const int32_t broken : {6, 7}) CHECK(texts(std::vector<int32_t>(1000, broken)).size() > 3);
}

TEST_CASE("words: after a pause they are not longer than others", "[speech]") {
  struct Case {
    std::vector<speech::WordTime> words;
    std::vector<int32_t> begins;
  };
  const Case cases[] = {
      {{}, {}},
      {{{5, 5, true}}, {5}},                                              // no length is known
      {{{0, 100, true}}, {30}},                                           // at most 1.4 s
      {{{0, 40, true}, {40, 50, false}, {50, 60, false}}, {20, 40, 50}},  // twice the median of 10
      {{{0, 40, true}, {40, 50, false}, {50, 64, false}, {64, 64, false}},
       {12, 40, 50, 64}},  // 14, without the empty one
      {{{0, 12, true}, {12, 60, false}, {60, 70, false}, {70, 110, true}}, {0, 12, 60, 70}},
      {{{0, 8, true}, {8, 60, false}, {60, 70, false}, {70, 110, true}, {110, 114, false}}, {0, 8, 60, 90, 110}},
  };
  for (Case one : cases) {
    speech::shorten_after_pauses(one.words);
    for (size_t i = 0; i < one.words.size(); ++i) CHECK(one.words[i].begin == one.begins[i]);
  }
}

TEST_CASE("words: those of tiny models, in streams that take turns", "[speech]") {
  for (const std::string name : {"english", "multilingual"}) {
    const TinyWhisper tiny(name);
    const std::vector<std::pair<int, int>> upper_half = name == "english"
                                                            ? std::vector<std::pair<int, int>>{{1, 0}, {1, 1}, {1, 2}}
                                                            : std::vector<std::pair<int, int>>{{0, 0}, {0, 1}};
    CHECK(tiny.model.config().aligning_heads() == upper_half);  // the model's file names no heads
    SpeechOptions options = without_doubts(true);
    options.words = true;
    SpeechText want;
    REQUIRE(opened_recognizer(open_cpu(), tiny.path).recognize(tiny.sound, options, &want) == Status::Ok);
    REQUIRE(ids_of(want) == tiny.lists("times"));  // the same ids as without words
    for (const SpeechSegment& segment : want.segments) {
      std::string all;
      double last = segment.window_begin;
      REQUIRE(!segment.words.empty());
      for (const SpeechWord& word : segment.words) {
        all += word.text;
        CHECK((word.begin >= last && word.end >= word.begin));
        last = word.begin;
        CHECK((word.probability > 0.0f && word.probability <= 1.0f));
        CHECK(std::fabs(std::accumulate(word.attention.begin(), word.attention.end(), -1.0)) < 1e-4);
        CHECK(word.end <= segment.window_begin + 0.02 * static_cast<double>(word.attention.size()));
      }
      CHECK(all == segment.text);
      CHECK(last <= static_cast<double>(tiny.sound.size()) / kSpeechRate);
    }
    for (const ops::TestDevice& on : ops::test_devices()) {
      const bool is_cpu = on.device.info().kind == DeviceKind::Cpu;
      // Drivers compile slowly, so that they run the model with one layer.
      if (is_cpu ? on.word != ops::test_devices().back().word : name != "multilingual") continue;
      INFO(on.word << ", " << name);
      const SpeechRecognizer model = opened_recognizer(on.device, tiny.path);
      // Two alternating streams keep their words apart.
      SpeechStream streams[2];
      std::vector<SpeechSegment> heard[2];
      for (SpeechStream& stream : streams) {
        REQUIRE(model.begin(options, &stream) == Status::Ok);
        REQUIRE(stream.push(tiny.sound) == Status::Ok);
        stream.finish();
      }
      while (streams[0].busy() || streams[1].busy())
        for (size_t i = 0; i < 2; ++i) {
          SpeechPiece piece;
          REQUIRE(streams[i].poll(&piece) == Status::Ok);
          std::move(piece.segments.begin(), piece.segments.end(), std::back_inserter(heard[i]));
          std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
      for (const std::vector<SpeechSegment>& segments : heard) {
        REQUIRE(segments.size() == want.segments.size());
        for (size_t s = 0; s < segments.size(); ++s) {
          REQUIRE(segments[s].words.size() == want.segments[s].words.size());
          for (size_t w = 0; w < segments[s].words.size(); ++w) {
            const SpeechWord &got = segments[s].words[w], &expected = want.segments[s].words[w];
            CHECK(got.text == expected.text);
            if (is_cpu) CHECK((got.begin == expected.begin && got.end == expected.end));  // timed in parts
            if (is_cpu) CHECK(got.attention == expected.attention);
            CHECK(std::fabs(got.begin - expected.begin) < 0.021);
            CHECK(std::fabs(got.end - expected.end) < 0.021);
            CHECK(distance(got.attention, expected.attention) < 1e-3);
          }
        }
      }
    }
  }
}

}  // namespace heed::test
