
psi.probe.memory.some.total_us (us) *, demand=0.9; after: no-change; a mark is
    up to 2 trials
                                             o
                                             o
                                             o
  before                                     o
                                             |
                                             o
                                             o
                                             o
  after                                      o
                                             |
          -----------------------------------+----------------------------------
                                             0

vmstat.compact_stall (count), demand=0.9; after: no-change; a mark is up to 2
    trials
                                             o
                                             o
                                             o
  before                                     o
                                             |
                                             o
                                             o
                                             o
  after                                      o
                                             |
          -----------------------------------+----------------------------------
                                             0

psi.probe.memory.some.total_us (us) *, demand=0.95; after: better; a mark is up
    to 2 trials
  before  o                                               o o      o  o  o o   o
          [----------------------------------------------------------|---------]
          o
          o
          o
  after   oo
          |]
          +----------------------------------+---------------------------------+
          0                                35016                           70033

vmstat.compact_stall (count), demand=0.95; after: better; a mark is up to 2
    trials
  before                                                                oooooooo
                                                                        [--|---]
          o
          o
          o
  after   o
          |
          +----------------------------------+---------------------------------+
          0                                33.5                               67

psi.probe.memory.some.total_us (us) *, demand=1; after: inconclusive
  before  o                                o     o o        ooo                o
          [---------------------------------------------|----------------------]
  after                    o         o          o    o o  o  oo
                           [--------------------------|-------]
          +----------------------------------+---------------------------------+
          40100                            80300                          120500

vmstat.compact_stall (count), demand=1; after: better; a mark is up to 2 trials
  before                                                                oooooooo
                                                                        [--|---]
          o
          o
          o
  after   o
          |
          +----------------------------------+---------------------------------+
          0                                33.5                               67

o a trial; | the median, [] its 95% interval (none below 6 trials)
