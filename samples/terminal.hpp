// The terminal, if there is one, and Ctrl-C.
#pragma once

#include <string>
#include <string_view>

namespace samples {

bool input_is_terminal();
bool output_is_terminal();
int terminal_columns();  // 80 if there is no terminal

// From here on Ctrl-C ends no program: it sets a flag, which interrupted() reads and takes back.
void catch_interrupts();
bool interrupted();

enum class Line { Read, End, Interrupted };
// A line of standard input without its end.
Line read_line(std::string* line);

// Writes to standard output at once. What a model says may hold control characters, by which terminals do other things than write:
// on a terminal all but line feed and tab are left out.
void write_text(std::string_view text);
// Takes the place of the terminal's last line, as far as it fits; a cut text shows its end. Only on a terminal.
void write_over(const std::string& text);
// Text in one of the terminal's 256 colors, or as it is without a terminal or for color 0. write_colored writes it at once.
std::string in_color(int color, const std::string& text);
void write_colored(int color, const std::string& text);
inline constexpr int kGrey = 245;

}  // namespace samples
