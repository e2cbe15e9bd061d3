// The terminal, if there is one, and Ctrl-C.
#pragma once

#include <string>
#include <string_view>

namespace samples {

bool input_is_terminal();
bool output_is_terminal();
int terminal_columns();  // 80 if there is no terminal

// From here on Ctrl-C no longer ends the program: it sets a flag, which interrupted() reads and clears.
void catch_interrupts();
bool interrupted();

enum class Line { Read, End, Interrupted };
// A line of standard input, without its line feed.
Line read_line(std::string* line);

// Writes to standard output at once. A model's text may hold control characters, with which terminals do more than print: on a terminal all
// except line feed and tab are left out.
void write_text(std::string_view text);
// Replaces the terminal's last line, as far as it fits; cut text shows its end. Only on a terminal.
void write_over(const std::string& text);
// Text in one of the terminal's 256 colors, or plain without a terminal or for color 0. write_colored writes it at once.
std::string in_color(int color, const std::string& text);
void write_colored(int color, const std::string& text);
inline constexpr int kGrey = 245;

}  // namespace samples
