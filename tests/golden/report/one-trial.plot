
probe.ops (count) *; 7.3: too-few
  7.1                                                                          o
                                                                               |
  7.3  o
       |
       +-----------------------------------+-----------------------------------+
       60                                 80                                 100

o a trial; | the median, [] its 95% interval (none below 6 trials)
