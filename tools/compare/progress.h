// Progress of a comparison, on standard error: a line that rewrites itself on a terminal, a line per run elsewhere.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace snug::tool {

class Progress {
 public:
  // `names`: the allocators of one round.
  Progress(const std::vector<std::string>& names, int rounds);
  // Leaves no half line behind, whatever ended the comparison.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void begin(const std::string& name, int round);
  // `share`: how much of the run is done, 0 to 1; 0 if that is not known.
  void tick(double elapsed, double share = 0);
  // `result`: what to say of the run, as "3.21 s".
  void end(double elapsed, const std::string& result);

 private:
  // Runs yet to come times what such a run took; an allocator not seen yet counts as the mean of the others. The first
  // run of all is as long as its share says.
  double seconds_left(double elapsed, double share) const;
  std::string head() const;
  void erase_line() const;

  struct Past {
    int runs = 0;
    double seconds = 0;
    double mean() const { return runs == 0 ? 0 : seconds / runs; }
  };
  std::map<std::string, Past> past_;
  int rounds_;
  int total_;
  int number_ = 0;
  std::string name_;
  int round_ = 0;
  bool terminal_;
};

}  // namespace snug::tool
