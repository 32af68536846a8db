#include "thread/hot_page.h"

namespace snug {

SNUG_USED constinit HotPage hot_page{};

}  // namespace snug
