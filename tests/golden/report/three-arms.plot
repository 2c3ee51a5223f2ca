
probe.ops (count) *; 7.2: no-change, 7.3: better
  7.1  o  o  oo o  o
       [------|----]
  7.2    o o ooo  o
         [---|----]
  7.3                                                              o  o  oo o  o
                                                                   [------|----]
       +-----------------------------------+-----------------------------------+
       990                               1050                               1110

mthp.64kB.anon_fault_fallback_charge_with_a_very_long_name (count); 7.2:
    inconclusive, 7.3: inconclusive; a mark is up to 2 trials
       o
       o
  7.1  o
       |
                                           o
                                           o
  7.2                                      o
                                           |
                                                                               o
                                                                               o
  7.3                                                                          o
                                                                               |
       +-----------------------------------+-----------------------------------+
       7                                   8                                   9

o a trial; | the median, [] its 95% interval (none below 6 trials)
