#pragma once
// Owns: layouts as people write them in tables. Does not know: the form that parses back (Layout::text).

#include <string>
#include <string_view>

namespace tf::tensor {

// For the text of a layout, as in "0,1,2,3,1:8", the name that people use: "NCHW8c". An upper-case letter is
// an axis, a number with a lower-case letter a block of one. The axes of 3, 4 and 5 dimensions are NCW, NCHW
// and NCDHW, those of others A, B, C and so on. "^3:3:3" follows swizzled axes. A row-major layout, whose text is
// empty, is "-"; a text that is not a layout is returned as it is.
std::string layout_name(std::string_view text);

}  // namespace tf::tensor
