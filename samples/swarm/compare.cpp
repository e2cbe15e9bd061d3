// swarm_compare A.png B.png: prints the mean and the largest difference between two pictures, in steps of 255. Averages both over blocks of
// pixels first, since drivers differ in single pixels. Exit code 2: the pictures cannot be read, or differ in size.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "../drawing.hpp"

namespace {

constexpr int kBlock = 16;

struct Blocks {
  int width = 0, height = 0;
  std::vector<double> colors;  // [rows of blocks, columns of blocks, 3]
};

bool read(const char* path, Blocks* blocks) {
  const samples::Surface page(cairo_image_surface_create_from_png(path));
  const cairo_status_t status = cairo_surface_status(page.get());
  if (status != CAIRO_STATUS_SUCCESS) {
    std::fprintf(stderr, "swarm_compare: cannot read %s: %s\n", path, cairo_status_to_string(status));
    return false;
  }
  blocks->width = cairo_image_surface_get_width(page.get());
  blocks->height = cairo_image_surface_get_height(page.get());
  const int columns = blocks->width / kBlock, rows = blocks->height / kBlock;
  const int stride = cairo_image_surface_get_stride(page.get());
  const unsigned char* pixels = cairo_image_surface_get_data(page.get());
  blocks->colors.assign(static_cast<size_t>(columns) * static_cast<size_t>(rows) * 3, 0.0);
  for (int y = 0; y < rows * kBlock; ++y)
    for (int x = 0; x < columns * kBlock; ++x)
      for (int c = 0; c < 3; ++c)
        blocks->colors[static_cast<size_t>((y / kBlock * columns + x / kBlock) * 3 + c)] +=
            pixels[static_cast<std::ptrdiff_t>(y) * stride + x * 4 + c] / static_cast<double>(kBlock * kBlock);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Blocks a, b;
  if (argc != 3) return std::fprintf(stderr, "usage: swarm_compare A.png B.png\n"), 2;
  if (!read(argv[1], &a) || !read(argv[2], &b)) return 2;
  if (a.width != b.width || a.height != b.height || a.colors.empty())
    return std::fprintf(stderr, "swarm_compare: the pictures have %dx%d and %dx%d pixels\n", a.width, a.height, b.width,
                        b.height),
           2;
  double sum = 0, largest = 0;
  for (size_t i = 0; i < a.colors.size(); ++i) {
    const double apart = std::fabs(a.colors[i] - b.colors[i]);
    sum += apart;
    largest = std::max(largest, apart);
  }
  std::printf("mean %.3f largest %.1f\n", sum / static_cast<double>(a.colors.size()), largest);
  return 0;
}
