"""What many trials together say, with its uncertainty. Pure: no clock, disk or network."""
