
probe.ops (count) *
  7.3  o                       o           o                                   o
                                     |
       +-----------------------------------+-----------------------------------+
       98                                 101                                104

o a trial; | the median, [] its 95% interval (none below 6 trials)
