
probe.ops (count) *; 7.3: too-few
  7.1                                                                 o  o     o
                                                                         |
  7.3  o  o    o
          |
       +-----------------------------------+-----------------------------------+
       58                                 81                                 104

vmstat.allocstall: no known value

o a trial; | the median, [] its 95% interval (none below 6 trials)
