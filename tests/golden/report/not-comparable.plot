
probe.ops (count) *; 7.3: not-comparable
  7.1                                                                  o oo oo o
                                                                       [---|---]
  7.3  o oo oo o
       [---|---]
       +-----------------------------------+-----------------------------------+
       60                                82.5                                105

o a trial; | the median, [] its 95% interval (none below 6 trials)
