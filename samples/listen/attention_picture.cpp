#include "attention_picture.hpp"

#include <algorithm>
#include <cmath>

#include "../drawing.hpp"

namespace listen {
namespace {

using samples::Color, samples::fill_rectangle, samples::use, samples::use_font, samples::write;

// Lengths are in points.
constexpr double kPixels = 2, kMargin = 26, kRow = 17, kTop = 62, kAxis = 26, kMostWidth = 1400, kSecond = 240;
constexpr Color kPaper{252, 252, 250}, kInk{32, 34, 40}, kGrey{120, 124, 132}, kFrame{250, 90, 60};
constexpr double kStep = 0.02;  // seconds of a column

struct Row {
  const heed::SpeechWord* word;
  double window;  // the second at which its attention begins
};

class Painter {
 public:
  Painter(const std::vector<heed::SpeechSegment>& segments, cairo_t* c) : c_(c) {
    for (const heed::SpeechSegment& segment : segments)
      for (const heed::SpeechWord& word : segment.words) {
        ++words_;
        if (rows_.size() < kMostPictureWords) rows_.push_back({&word, segment.window_begin});
      }
    use_font(c, 12);
    for (const Row& row : rows_) {
      label_ = std::max(label_, samples::text_width(c, text_of(row)));
      end_ = std::max(end_, row.word->end + 0.4);
      heard_ = std::max(heard_, row.window + kStep * static_cast<double>(row.word->attention.size()));
    }
    end_ = std::min(end_, heard_);
    if (!rows_.empty()) begin_ = rows_.front().window;
    second_ = std::min(kSecond, kMostWidth / std::max(end_ - begin_, kStep));
  }

  double width() const { return std::max(left() + (end_ - begin_) * second_ + kMargin, 560.0); }
  double height() const { return kTop + kRow * static_cast<double>(rows_.size()) + kAxis + kMargin; }

  void paint() {
    fill_rectangle(c_, 0, 0, width() + 1, height() + 1, kPaper);
    use(c_, kInk);
    use_font(c_, 17, true);
    write(c_, "When each word was said", kMargin, kMargin + 10);
    use_font(c_, 11);
    use(c_, kGrey);
    std::string about = "what the heads that align look at in the sound; frames: where the word was found";
    if (words_ > rows_.size()) about += "; " + std::to_string(words_ - rows_.size()) + " more words are left out";
    write(c_, about, kMargin, kMargin + 27);
    for (size_t i = 0; i < rows_.size(); ++i) paint_row(rows_[i], kTop + kRow * static_cast<double>(i));
    paint_axis(kTop + kRow * static_cast<double>(rows_.size()));
  }

 private:
  double left() const { return kMargin + label_ + 10; }
  double x_of(double seconds) const { return left() + (std::clamp(seconds, begin_, end_) - begin_) * second_; }
  static std::string text_of(const Row& row) {
    const size_t first = row.word->text.find_first_not_of(' ');
    return first == std::string::npos ? "" : row.word->text.substr(first);
  }

  void paint_row(const Row& row, double y) {
    use(c_, kInk);
    use_font(c_, 12);
    write(c_, text_of(row), left() - 8, y + kRow - 5, 1);
    const std::vector<float>& looked = row.word->attention;
    const float most = std::max(*std::max_element(looked.begin(), looked.end()), 1e-9f);
    cairo_set_antialias(c_, CAIRO_ANTIALIAS_NONE);  // else the edges of cells form a visible pattern
    fill_rectangle(c_, left(), y, (end_ - begin_) * second_, kRow - 1, samples::viridis(0));
    for (size_t i = 0; i < looked.size(); ++i) {
      const double from = row.window + kStep * static_cast<double>(i);
      // The square root makes small weights visible.
      const double share = std::sqrt(static_cast<double>(looked[i] / most));
      if (from < end_)
        fill_rectangle(c_, x_of(from), y, x_of(from + kStep) - x_of(from), kRow - 1, samples::viridis(share));
    }
    cairo_set_antialias(c_, CAIRO_ANTIALIAS_DEFAULT);
    use(c_, kFrame);
    cairo_set_line_width(c_, 1.6);
    const double from = x_of(row.word->begin), to = x_of(row.word->end);
    cairo_rectangle(c_, from + 0.8, y + 0.8, std::max(to - from - 1.6, 1.0), kRow - 2.6);
    cairo_stroke(c_);
  }

  void paint_axis(double y) {
    // A label every so many seconds, as far apart as they are readable.
    double every = 0.5;
    while (every * second_ < 44) every *= 2;
    use_font(c_, 10);
    use(c_, kGrey);
    for (double at = std::ceil(begin_ / every) * every; at <= end_ + 1e-6; at += every) {
      fill_rectangle(c_, x_of(at), y, 0.8, 4, kGrey);
      char label[32];
      std::snprintf(label, sizeof label, every < 1 ? "%.1f s" : "%.0f s", at);
      use(c_, kGrey);
      write(c_, label, x_of(at), y + 16, 0.5);
    }
  }

  cairo_t* c_;
  std::vector<Row> rows_;
  size_t words_ = 0;
  double label_ = 40, begin_ = 0, end_ = 0, heard_ = 0, second_ = kSecond;
};

}  // namespace

bool draw_words(const std::vector<heed::SpeechSegment>& segments, const std::string& path, std::string* error) {
  const samples::Page ruler = samples::Page::ruler();
  const Painter plan(segments, ruler.context());
  const samples::Page page(plan.width(), plan.height(), kPixels);
  Painter(segments, page.context()).paint();
  return page.write_png(path, error);
}

}  // namespace listen
