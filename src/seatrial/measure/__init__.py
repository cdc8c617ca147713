"""One trial's journal and verdicts, folded into one TrialRecord. Pure: no clock, disk or network."""
