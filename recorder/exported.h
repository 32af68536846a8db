// What the program sees of this library: it is built with all else hidden.
#pragma once

#define RECORDER_EXPORT [[gnu::visibility("default")]]
