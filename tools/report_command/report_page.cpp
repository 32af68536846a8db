#include "report_command/report_page.h"

#include <string_view>

#include "text/json_text.h"
#include "text/user_error.h"

#ifdef SNUG_REPORT_PAGE
// A string literal of this length is beyond what compilers have to take, and they take long for it.
__asm__(
    ".pushsection .rodata\n"
    ".globl snug_report_page_begin\n"
    "snug_report_page_begin:\n"
    ".incbin \"" SNUG_REPORT_PAGE
    "\"\n"
    ".globl snug_report_page_end\n"
    "snug_report_page_end:\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const char snug_report_page_begin[];
extern "C" const char snug_report_page_end[];
#endif

namespace snug::tool {

namespace {

constexpr std::string_view kPlace = "<!--SNUG-DATA-->";

std::string_view page_template() {
#ifdef SNUG_REPORT_PAGE
  return {snug_report_page_begin, static_cast<std::size_t>(snug_report_page_end - snug_report_page_begin)};
#else
  return {};
#endif
}

}  // namespace

bool has_report_page() { return !page_template().empty(); }

std::string report_page(const nlohmann::ordered_json& data) {
  const std::string_view whole = page_template();
  const std::size_t place = whole.find(kPlace);
  if (place == std::string_view::npos)
    throw UserError(
        "this snug was built without the page of reports (its packages were not to be had, or -DSNUG_REPORT_PAGE=OFF): "
        "without "
        "-o a report has its sentences, --json and --check");
  std::string page(whole.substr(0, place));
  page += "<script type=\"application/json\" id=\"snug-data\">";
  // Names come out of traces, which anybody may have made: none may end the element.
  for (const char letter : json_text(data))
    if (letter == '<')
      page += "\\u003c";
    else
      page += letter;
  page += "</script>";
  page += whole.substr(place + kPlace.size());
  return page;
}

}  // namespace snug::tool
