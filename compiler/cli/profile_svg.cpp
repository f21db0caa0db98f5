#include "compiler/cli/profile_svg.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/cli/counted.h"
#include "base/cli/duration_text.h"
#include "base/text/printable.h"

namespace tf::compiler_cli {
namespace {

constexpr double kWidth = 960, kMargin = 24;
constexpr double kRowHeight = 22, kLabelWidth = 300, kBarWidth = 280;
constexpr double kPlotLeft = 84, kPlotWidth = 850, kPlotHeight = 420;
constexpr size_t kMostRows = 40;     // the rest is one row
constexpr size_t kMostNumbers = 15;  // points with a number
constexpr size_t kLabelChars = 40;

// How near a kernel is to what the machine allows, in colours that colour-blind people tell apart (Okabe and Ito); black can
// be read on each, and each be seen on both backgrounds.
struct Nearness {
  double least;  // of the roof
  const char* colour;
  const char* name;
};
constexpr Nearness kNearness[] = {{1, "#CC79A7", "above the roof"},
                                  {0.75, "#009E73", "75 to 100% of it"},
                                  {0.5, "#56B4E9", "50 to 75%"},
                                  {0.25, "#E69F00", "25 to 50%"},
                                  {0, "#D55E00", "less than 25%"}};
constexpr char kNoArithmetic[] = "#888888";

constexpr char kStyle[] = R"(<style>
  svg { --ground: #ffffff; --ink: #1b1f24; --faint: #57606a; --line: #d0d7de; background: var(--ground);
        font: 13px system-ui, "DejaVu Sans", sans-serif; }
  @media (prefers-color-scheme: dark) { svg { --ground: #14181d; --ink: #e6edf3; --faint: #9aa5b1; --line: #363e48; } }
  text { fill: var(--ink); } .faint { fill: var(--faint); } .head { font-size: 16px; font-weight: 600; }
  .end { text-anchor: end; } .middle { text-anchor: middle; }
  .number { font-size: 11px; font-weight: 600; text-anchor: middle; fill: #000000; }
  .grid { stroke: var(--line); } .roof { stroke: var(--ink); stroke-width: 2; fill: none; }
  .point { stroke: var(--ground); stroke-width: 1.5; } .ground { fill: var(--ground); }
</style>
)";

std::string escaped(std::string_view text, size_t most_chars = 200) {
  std::string shown = printable(text, most_chars);
  return absl::StrReplaceAll(shown, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string text_at(double x, double y, const std::string& classes, const std::string& escaped_text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, classes, escaped_text);
}

std::string line_from(double x1, double y1, double x2, double y2) {
  return absl::StrFormat("<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1,
                         x2, y2);
}

bool is_on_roofline(const KernelRow& kernel) {
  return kernel.flops > 0 && kernel.bytes > 0 && kernel.median_ns > 0;
}

// What the machine allows a kernel: the least of what memory brings and what cores compute.
double roof_gflops(const Profile& profile, const KernelRow& kernel) {
  if (profile.memory_gb_per_s <= 0) return profile.peak_gflops;
  return std::min(profile.peak_gflops, profile.memory_gb_per_s * kernel.flops / kernel.bytes);
}

// A kernel as the drawing shows it: the slowest is number 1.
struct Ranked {
  const KernelRow* kernel = nullptr;
  size_t number = 0;
  double of_roof = 0;  // 0: it is not on the roofline
  const char* colour = kNoArithmetic;
};

std::vector<Ranked> rank(const Profile& profile) {
  std::vector<Ranked> kernels;
  for (const KernelRow& kernel : profile.kernels) kernels.push_back({.kernel = &kernel});
  std::ranges::stable_sort(kernels, std::ranges::greater(),
                           [](const Ranked& each) { return each.kernel->median_ns; });
  for (size_t i = 0; i < kernels.size(); ++i) {
    Ranked& each = kernels[i];
    each.number = i + 1;
    if (profile.peak_gflops <= 0 || !is_on_roofline(*each.kernel)) continue;
    each.of_roof = each.kernel->gflops() / roof_gflops(profile, *each.kernel);
    each.colour =
        std::ranges::find_if(kNearness, [&](const Nearness& n) { return each.of_roof >= n.least; })->colour;
  }
  return kernels;
}

// Above the roof, operands came from caches or the algorithm needs fewer operations: by how much says nothing.
std::string of_roof_text(const Ranked& each) {
  if (each.of_roof <= 0) return "-";
  return each.of_roof >= 1 ? "&gt; 100%" : absl::StrFormat("%.0f%%", each.of_roof * 100);
}

std::string tooltip(const Ranked& each) {
  const KernelRow& kernel = *each.kernel;
  const std::string rate =
      is_on_roofline(kernel)
          ? absl::StrFormat(", %.1f GFLOP/s, %.2f FLOP/byte", kernel.gflops(), kernel.flops / kernel.bytes)
          : "";
  return absl::StrFormat("<title>%d. %s: %s, %.1f%% of the time%s</title>", each.number, escaped(kernel.name),
                         duration_text(kernel.median_ns), kernel.share * 100, rate);
}

std::string legend(double x, double y) {
  std::string out;
  const auto entry = [&](const char* colour, const char* name) {
    absl::StrAppend(
        &out,
        absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" rx=\"2\" fill=\"%s\"/>\n", x,
                        y - 11, colour),
        text_at(x + 17, y, "", name));
    x += 17 + 7.2 * static_cast<double>(std::string_view(name).size()) + 18;
  };
  for (const Nearness& each : kNearness) entry(each.colour, each.name);
  entry(kNoArithmetic, "no arithmetic");
  return out;
}

std::string bar(const Ranked& each, double longest, double top) {
  const KernelRow& kernel = *each.kernel;
  const double baseline = top + 15, bar_left = kMargin + kLabelWidth, text_left = bar_left + kBarWidth;
  const bool is_long = kernel.name.size() > kLabelChars;
  const std::string name =
      is_long ? escaped(kernel.name.substr(0, kLabelChars - 1)) + "…" : escaped(kernel.name);
  const std::string rate = kernel.flops > 0 ? absl::StrFormat("%.1f", kernel.gflops()) : "-";
  return absl::StrCat(
      "<g>", tooltip(each), "\n", text_at(kMargin + 22, baseline, "faint end", absl::StrCat(each.number)),
      text_at(kMargin + 30, baseline, "", name),
      absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"14\" rx=\"2\" fill=\"%s\"/>\n",
                      bar_left, top + 4, std::max(1.0, kernel.share / longest * kBarWidth), each.colour),
      text_at(text_left + 65, baseline, "end", absl::StrFormat("%.1f%%", kernel.share * 100)),
      text_at(text_left + 150, baseline, "end", duration_text(kernel.median_ns)),
      text_at(text_left + 240, baseline, "faint end", rate),
      text_at(text_left + 320, baseline, "faint end", of_roof_text(each)), "</g>\n");
}

// The panel of bars, from `top` down; moves `top` below it.
std::string bars(const std::vector<Ranked>& kernels, double& top) {
  const double text_left = kMargin + kLabelWidth + kBarWidth;
  std::string out =
      absl::StrCat(text_at(kMargin, top, "head", "Kernels by time"), legend(kMargin + 150, top));
  top += 26;
  absl::StrAppend(&out, text_at(text_left + 65, top, "faint end", "share"),
                  text_at(text_left + 150, top, "faint end", "time"),
                  text_at(text_left + 240, top, "faint end", "GFLOP/s"),
                  text_at(text_left + 320, top, "faint end", "of roof"));
  top += 4;
  const size_t shown = std::min(kMostRows, kernels.size());
  for (size_t i = 0; i < shown; ++i) {
    absl::StrAppend(&out, bar(kernels[i], std::max(kernels[0].kernel->share, 1e-9), top));
    top += kRowHeight;
  }
  if (shown == kernels.size()) return out;
  double share = 0;
  for (size_t i = shown; i < kernels.size(); ++i) share += kernels[i].kernel->share;
  absl::StrAppend(
      &out, text_at(kMargin + 30, top + 15, "faint",
                    absl::StrFormat("%s: %.1f%% of the time",
                                    counted(static_cast<int64_t>(kernels.size() - shown), "more kernel"),
                                    share * 100)));
  top += kRowHeight;
  return out;
}

// A logarithmic axis between two of its ticks.
struct Axis {
  double low = 1, high = 10;
  double from = 0, to = 1;  // of the drawing
  double at(double value) const {
    return from + (std::log10(value) - std::log10(low)) / (std::log10(high) - std::log10(low)) * (to - from);
  }
};

// 1, 2, 5, 10, 20, …; tick(0) is 1.
double tick(int number) {
  constexpr double kSteps[] = {1, 2, 5};
  const int decade = static_cast<int>(std::floor(number / 3.0));
  return kSteps[number - 3 * decade] * std::pow(10, decade);
}

int tick_below(double value) {
  int number = 3 * static_cast<int>(std::floor(std::log10(value))) + 3;
  while (tick(number) > value) --number;
  return number;
}

Axis axis_of(double least, double most, double from, double to) {
  return {tick(tick_below(least)), tick(tick_below(most) + 1), from, to};
}

std::string grid(const Axis& x, const Axis& y) {
  std::string out;
  for (int i = tick_below(x.low * 1.01); tick(i) < x.high * 1.01; ++i) {
    const double at = x.at(tick(i));
    absl::StrAppend(&out, line_from(at, y.from, at, y.to),
                    text_at(at, y.from + 18, "faint middle", absl::StrFormat("%g", tick(i))));
  }
  for (int i = tick_below(y.low * 1.01); tick(i) < y.high * 1.01; ++i) {
    const double at = y.at(tick(i));
    absl::StrAppend(&out, line_from(x.from, at, x.to, at),
                    text_at(x.from - 8, at + 4, "faint end", absl::StrFormat("%g", tick(i))));
  }
  return out;
}

// What the machine allows at each ratio: the least of what memory brings and what cores compute.
std::string roof(const Profile& profile, const Axis& x, const Axis& y) {
  const double peak = profile.peak_gflops, memory = profile.memory_gb_per_s;
  std::string path = absl::StrFormat("M %.1f %.1f", x.from, y.at(peak));
  std::string out;
  if (memory > 0) {
    // Where the slope enters the plot, at its left or lower edge, and where it meets the peak.
    const double begin = std::max(x.low, y.low / memory), ridge = std::clamp(peak / memory, x.low, x.high);
    path = absl::StrFormat("M %.1f %.1f L %.1f %.1f", x.at(begin), y.at(begin * memory), x.at(ridge),
                           y.at(std::min(peak, ridge * memory)));
    const double middle = std::sqrt(begin * ridge);
    const double angle =
        -std::atan2(y.at(begin * memory) - y.at(ridge * memory), x.at(ridge) - x.at(begin)) * 180 / M_PI;
    out += absl::StrFormat(
        "<text class=\"middle\" transform=\"translate(%.1f %.1f) rotate(%.1f)\">memory: %.1f GB/s</text>\n",
        x.at(middle), y.at(middle * memory) - 9, angle, memory);
  }
  absl::StrAppend(&path, absl::StrFormat(" L %.1f %.1f", x.to, y.at(peak)));
  absl::StrAppend(&out, "<path class=\"roof\" d=\"", path, "\"/>\n");
  absl::StrAppend(&out,
                  text_at(x.to - 6, y.at(peak) - 16, "end", absl::StrFormat("FMA peak: %.0f GFLOP/s", peak)));
  return out;
}

std::string points(const std::vector<Ranked>& kernels, const Axis& x, const Axis& y) {
  std::string out;
  for (size_t i = kernels.size(); i-- > 0;) {  // the slowest lie on top
    const Ranked& each = kernels[i];
    const KernelRow& kernel = *each.kernel;
    if (!is_on_roofline(kernel)) continue;
    const bool has_number = each.number <= kMostNumbers;
    const double left = x.at(kernel.flops / kernel.bytes), up = y.at(kernel.gflops());
    absl::StrAppend(
        &out, "<g>", tooltip(each),
        absl::StrFormat("<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"/>", left, up,
                        has_number ? 10.0 : 5.0, each.colour));
    if (has_number) absl::StrAppend(&out, text_at(left, up + 4, "number", absl::StrCat(each.number)));
    out += "</g>\n";
  }
  return out;
}

std::string roofline(const Profile& profile, const std::vector<Ranked>& kernels, double& top) {
  double least_x = 1, most_x = 10, least_y = profile.peak_gflops / 10, most_y = profile.peak_gflops * 1.2;
  int64_t left_out = 0;
  for (const KernelRow& kernel : profile.kernels) {
    if (!is_on_roofline(kernel)) {
      ++left_out;
      continue;
    }
    least_x = std::min(least_x, kernel.flops / kernel.bytes);
    most_x = std::max(most_x, kernel.flops / kernel.bytes * 1.2);
    least_y = std::min(least_y, kernel.gflops());
    most_y = std::max(most_y, kernel.gflops() * 1.2);
  }
  if (profile.memory_gb_per_s > 0)
    most_x = std::max(most_x, profile.peak_gflops / profile.memory_gb_per_s * 1.5);
  std::string out = text_at(kMargin, top, "head", "Roofline");
  absl::StrAppend(&out, text_at(kMargin + 150, top, "faint",
                                "numbers as above; above the roof, operands came from caches, or Winograd "
                                "needed fewer operations"));
  top += 16;
  const Axis x = axis_of(least_x, most_x, kPlotLeft, kPlotLeft + kPlotWidth);
  const Axis y = axis_of(least_y, most_y, top + kPlotHeight, top);
  absl::StrAppend(&out, grid(x, y), roof(profile, x, y), points(kernels, x, y));
  absl::StrAppend(&out, text_at((x.from + x.to) / 2, y.from + 40, "middle", "FLOP per byte of operands"));
  out += absl::StrFormat(
      "<text class=\"middle\" transform=\"translate(%.1f %.1f) rotate(-90)\">GFLOP/s</text>\n", kMargin + 8,
      (y.from + y.to) / 2);
  top = y.from + 62;
  if (left_out > 0) {
    absl::StrAppend(
        &out, text_at(kMargin, top, "faint",
                      absl::StrCat(counted(left_out, "kernel"), " without arithmetic: not in the roofline")));
    top += 20;
  }
  return out;
}

}  // namespace

std::string profile_svg(const Profile& profile, const std::string& title, int threads) {
  const std::vector<Ranked> kernels = rank(profile);
  const std::string about =
      absl::StrFormat("%s on %s: kernels take %s together", escaped(title),
                      profile.device.empty() ? counted(threads, "thread") : profile.device,
                      duration_text(profile.total_ms * 1e6));
  double top = 62;
  std::string body = text_at(kMargin, 32, "head", about);
  absl::StrAppend(&body, bars(kernels, top));
  top += 36;
  if (profile.peak_gflops > 0) absl::StrAppend(&body, roofline(profile, kernels, top));
  return absl::StrCat(absl::StrFormat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
                                      "width=\"%.0f\" height=\"%.0f\" "
                                      "role=\"img\" aria-label=\"%s\">\n",
                                      kWidth, top, kWidth, top, about),
                      kStyle, "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n", body, "</svg>\n");
}

}  // namespace tf::compiler_cli
