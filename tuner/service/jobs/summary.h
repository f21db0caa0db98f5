#pragma once
// Owns: what came of a run in a few words, as its job keeps them. Does not know: states of jobs.

#include <string>

#include "tuner/session/session.h"

namespace tf::service {

// As in "412 trials, 3 failed; nothing new to try".
std::string summary(const session::Progress& progress);

// "a device was available for 0:12 of 1:54"; empty where one was there nearly all the time.
std::string absence_text(const session::Progress& progress);

}  // namespace tf::service
